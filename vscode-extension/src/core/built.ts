/** Building a catalog: what was typed, and what came of it. */

import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { numberOf, objectOf } from "./json";

/**
 * The targets in what was typed: words, or parts in quotes for paths with spaces.
 *
 * What has a slash is a path, of the workspace's `folder` where it is relative; all else is the name of a library.
 */
export function targetsOf(typed: string, folder?: string): string[] {
  const words = typed.matchAll(/"([^"]+)"|'([^']+)'|([^\s,"']+)/g);
  return [...words].map(([, double, single, plain]) => {
    const word = double ?? single ?? plain ?? "";
    if (word.startsWith("~/")) {
      return join(homedir(), word.slice(2));
    }
    return folder !== undefined && /[\\/]/.test(word) && !isAbsolute(word) ? join(folder, word) : word;
  });
}

/** One line for a notification, from what `raiselens.buildCatalog` answers. */
export function builtMessage(answer: unknown, targets: readonly string[]): string {
  const built = objectOf(answer);
  const records = numberOf(built["records"]);
  const files = numberOf(built["files"]);
  const counted = (count: number, what: string): string => `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;
  return `${counted(records, "record")} from ${counted(files, "file")} of ${targets.join(", ")}.`;
}
