/** The object that `raiselens.explainText` answers, and what is shown of it. */

import { isObject, listOf, numberOf, objectOf, textOf, textsOf } from "./json";
import type { Span } from "./places";

export interface Frame {
  readonly file: string;
  readonly line: number;
  readonly function: string;
}

export interface Edit extends Span {
  readonly file: string;
  readonly text: string;
}

export interface Repair {
  readonly title: string;
  readonly safe: boolean;
  readonly preferred: boolean;
  readonly edits: readonly Edit[];
}

export interface ExplainedError {
  readonly className: string;
  readonly message: string;
  /** Where it stands in the text, from 1. */
  readonly line: number;
  readonly role: string;
  /** Outermost first; files as they are on this machine. */
  readonly frames: readonly Frame[];
  readonly ranks: readonly string[];
  readonly record: { readonly id: string; readonly slug: string; readonly how: string } | undefined;
  readonly repairs: readonly Repair[];
}

export interface Explained {
  readonly primary: number | undefined;
  readonly errors: readonly ExplainedError[];
}

export function readExplained(answer: unknown): Explained {
  const given = objectOf(answer);
  return {
    primary: typeof given["primary"] === "number" ? given["primary"] : undefined,
    errors: listOf(given["errors"], (error) => ({
      className: textOf(error["class"]),
      message: textOf(error["message"]),
      line: numberOf(error["line"], 1),
      role: textOf(error["role"], "root"),
      frames: listOf(error["frames"], (frame) => ({
        file: textOf(frame["local"], textOf(frame["file"])),
        line: numberOf(frame["line"], 1),
        function: textOf(frame["function"]),
      })),
      ranks: textsOf(error["ranks"]),
      record: isObject(error["record"])
        ? {
            id: textOf(error["record"]["id"]),
            slug: textOf(error["record"]["slug"]),
            how: textOf(error["record"]["how"]),
          }
        : undefined,
      repairs: listOf(error["repairs"], readRepair),
    })),
  };
}

function readRepair(repair: Readonly<Record<string, unknown>>): Repair {
  return {
    title: textOf(repair["title"]),
    safe: repair["safe"] === true,
    preferred: repair["preferred"] === true,
    edits: listOf(repair["edits"], (edit) => ({
      file: textOf(edit["file"]),
      line: numberOf(edit["line"], 1),
      column: numberOf(edit["column"], 1),
      endLine: numberOf(edit["end_line"], 1),
      endColumn: numberOf(edit["end_column"], 1),
      text: textOf(edit["text"]),
    })),
  };
}

/** The line that Python prints for an error. */
export function headline(error: Pick<ExplainedError, "className" | "message">): string {
  const message = error.message.trimEnd();
  return error.className === "" ? message : message === "" ? error.className : `${error.className}: ${message}`;
}

/** The error to look at first. */
export function primaryError(explained: Explained): ExplainedError | undefined {
  return explained.primary === undefined ? undefined : explained.errors[explained.primary];
}

/** The deepest frame in the user's own code; the deepest that exists where none of it is. */
export function userFrame(error: ExplainedError, isOwn: (file: string) => boolean): Frame | undefined {
  return error.frames.findLast((frame) => isOwn(frame.file));
}

const LIBRARY = /[\\/](?:site-packages|dist-packages)[\\/]|[\\/]lib[\\/]python3\.\d+[\\/]|^</;

/** Whether a file is the user's: below one of the folders and in no library there. */
export function ownFile(file: string, folders: readonly string[]): boolean {
  const slashed = file.replaceAll("\\", "/");
  const below = folders.find((folder) => slashed.startsWith(`${folder.replaceAll("\\", "/").replace(/\/$/, "")}/`));
  return below !== undefined && !LIBRARY.test(slashed.slice(below.length));
}

/**
 * Plain text for a tooltip: class and message, cause, first solution. `page` is the record's Markdown.
 *
 * One line: the editor makes it the label of a Markdown link, which a line end would break.
 */
export function tooltip(error: ExplainedError, page: string | undefined): string {
  const lines = [headline(error)];
  const meaning = page === undefined ? undefined : firstParagraph(page, "What it means");
  if (meaning !== undefined) {
    lines.push(meaning);
  }
  const solution = error.repairs[0]?.title ?? (page === undefined ? undefined : firstItem(page, "Solutions"));
  if (solution !== undefined) {
    lines.push(`Fix: ${plain(solution)}`);
  }
  if (error.record?.how === "fuzzy") {
    lines.push("(resembles a known error)");
  }
  return lines.map((line) => line.replace(/\s+/g, " ")).join(" — ");
}

function section(page: string, heading: string): string[] {
  const lines = page.split("\n");
  const start = lines.indexOf(`## ${heading}`);
  if (start < 0) {
    return [];
  }
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => line.startsWith("## "));
  return end < 0 ? rest : rest.slice(0, end);
}

function firstParagraph(page: string, heading: string): string | undefined {
  const line = section(page, heading).find((text) => text.trim() !== "");
  return line === undefined ? undefined : plain(line);
}

function firstItem(page: string, heading: string): string | undefined {
  const line = section(page, heading).find((text) => /^(?:\d+\.|-) /.test(text));
  return line === undefined ? undefined : plain(line.replace(/^(?:\d+\.|-) /, ""));
}

function plain(markdown: string): string {
  return markdown.replaceAll("`", "").trim();
}

/** A page for what was found in a text: the errors in the order of their importance. */
export function explainedMarkdown(explained: Explained): string {
  if (explained.errors.length === 0) {
    return "# No error found\n\nThe text holds no traceback and no line that reads like an error.\n";
  }
  const first = primaryError(explained);
  const ordered = [...explained.errors].sort((left, right) => Number(right === first) - Number(left === first));
  return ordered.map(errorMarkdown).join("\n---\n\n");
}

/** What an error was in its text; the one that ended its process needs no word for it. */
const ROLES: Readonly<Record<string, string>> = {
  cause: "the cause of another error",
  context: "another error came while this one was handled",
  "group-member": "one of a group",
  summary: "reports errors of other processes",
  warning: "a warning",
};

function errorMarkdown(error: ExplainedError): string {
  const parts = [`# ${error.className === "" ? "Error" : escapeMarkdown(error.className)}`, fence(headline(error))];
  const told = [`line ${error.line} of the text`];
  const role = ROLES[error.role];
  if (role !== undefined) {
    told.push(role);
  }
  if (error.ranks.length > 0) {
    told.push(`in ${error.ranks.join(", ")}`);
  }
  parts.push(escapeMarkdown(told.join(" · ")));
  if (error.record !== undefined) {
    const how = error.record.how === "fuzzy" ? "Resembles" : "Explained by";
    parts.push(`${how} [${escapeMarkdown(error.record.slug)}](raiselens:${error.record.id})`);
  } else {
    parts.push("No record of the catalog matches this error.");
  }
  if (error.repairs.length > 0) {
    parts.push("## Repairs", error.repairs.map((repair) => `- ${escapeMarkdown(repair.title)}`).join("\n"));
  }
  if (error.frames.length > 0) {
    const frames = error.frames.map((frame) => `${frame.file}:${frame.line} in ${frame.function}`);
    parts.push("## Frames", fence(frames.join("\n")));
  }
  return `${parts.join("\n\n")}\n`;
}

/** A fenced block that holds any text. */
export function fence(text: string, language = "text"): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map((run) => run[0].length));
  const ticks = "`".repeat(longest + 1);
  return `${ticks}${language}\n${text}\n${ticks}`;
}

export function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_[\]<>#|]/g, "\\$&");
}
