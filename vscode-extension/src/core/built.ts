/** Building a catalog: what was typed, and what came of it. */

import { numberOf, objectOf } from "./json";

/** The names in what was typed: words, or parts in quotes for paths with spaces. */
export function targetsOf(typed: string): string[] {
  const words = typed.matchAll(/"([^"]+)"|'([^']+)'|([^\s,"']+)/g);
  return [...words].map(([, double, single, plain]) => double ?? single ?? plain ?? "");
}

/** One line for a notification, from what `raiselens.buildCatalog` answers. */
export function builtMessage(answer: unknown, targets: readonly string[]): string {
  const built = objectOf(answer);
  const records = numberOf(built["records"]);
  const files = numberOf(built["files"]);
  const counted = (count: number, what: string): string => `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;
  return `${counted(records, "record")} from ${counted(files, "file")} of ${targets.join(", ")}.`;
}
