/** The object that `raiselens.verify` answers, and the card that shows it. */

import { escapeMarkdown, fence, headline } from "./explained";
import { isObject, numberOf, objectOf, textOf, textsOf } from "./json";

export type Verified = Report | NotRun;

export interface NotRun {
  readonly kind: "not-run";
  readonly reason: string;
}

export interface Report {
  readonly kind: "report";
  readonly ok: boolean;
  /** Whether a GPU computed the values. */
  readonly gpu: boolean;
  readonly device: string;
  readonly versions: readonly (readonly [string, string])[];
  readonly before: { readonly className: string; readonly message: string; readonly asPredicted: boolean } | undefined;
  readonly after:
    | {
        readonly ok: boolean;
        readonly cases: number;
        readonly mismatches: number;
        readonly worst: string;
        /** Whether what was written was held against a reference; else that it ran is all that was seen. */
        readonly compared: boolean;
      }
    | undefined;
  readonly compiled: readonly string[];
  readonly timing: { readonly us: number; readonly copyUs: number; readonly share: number; readonly launchUs: number } | undefined;
  readonly target: readonly string[];
  readonly notes: readonly string[];
}

export function readVerified(answer: unknown): Verified {
  const given = objectOf(answer);
  if (isObject(given["error"])) {
    return { kind: "not-run", reason: textOf(given["error"]["reason"], "no reason was given") };
  }
  if (!isObject(given["device"])) {
    return { kind: "not-run", reason: "the server's answer holds no report" };
  }
  const { before, after, timing } = given;
  return {
    kind: "report",
    ok: given["ok"] === true,
    gpu: given["device"]["kind"] === "cuda",
    device: textOf(given["device"]["name"]),
    versions: Object.entries(objectOf(given["versions"])).map(([name, version]) => [name, textOf(version)]),
    before: isObject(before)
      ? {
          className: textOf(before["class"]),
          message: textOf(before["message"]),
          asPredicted: before["as_predicted"] === true,
        }
      : undefined,
    after: isObject(after)
      ? {
          ok: after["ok"] === true,
          cases: numberOf(after["cases"]),
          mismatches: numberOf(after["mismatches"]),
          worst: textOf(after["worst"]),
          compared: after["compared"] !== false,
        }
      : undefined,
    compiled: textsOf(given["compiled"]),
    timing: isObject(timing)
      ? {
          us: numberOf(timing["us"]),
          copyUs: numberOf(timing["copy_us"]),
          share: numberOf(timing["share"]),
          launchUs: numberOf(timing["launch_us"]),
        }
      : undefined,
    target: textsOf(given["target"]),
    notes: textsOf(given["notes"]),
  };
}

export const NO_GPU = "CPU interpreter, not a GPU run";

/** A few words for a tab. */
export function verdict(result: Verified): string {
  if (result.kind === "not-run") {
    return "Not verified";
  }
  return `${result.ok ? "Verified" : "Verification failed"}${result.gpu ? ` on ${result.device}` : `: ${NO_GPU}`}`;
}

/** The card, as Markdown. */
export function card(result: Verified): string {
  if (result.kind === "not-run") {
    return `# Not verified\n\n${escapeMarkdown(result.reason)}\n`;
  }
  const parts = [`# ${result.ok ? "✓ Verified" : "✗ Verification failed"}`];
  parts.push(`**${escapeMarkdown(result.gpu ? result.device : NO_GPU)}**`);
  parts.push("## Before", beforeText(result), "## After", afterText(result));
  if (result.timing !== undefined) {
    const { us, copyUs, share, launchUs } = result.timing;
    parts.push(
      "## Time",
      [
        `| device time | int64 → int32 copy of the same size | share of the copy | host time of a call |`,
        "| --- | --- | --- | --- |",
        `| ${micro(us)} | ${micro(copyUs)} | ${Math.round(share * 100)} % | ${micro(launchUs)} |`,
      ].join("\n"),
    );
  }
  if (result.compiled.length > 0) {
    parts.push(`Compiled for ${result.compiled.map((target) => `\`${target}\``).join(", ")}.`);
  }
  parts.push("## What ran", result.target.map((name) => `- \`${name}\``).join("\n"));
  if (result.notes.length > 0) {
    parts.push(result.notes.map((note) => `- ${escapeMarkdown(note)}`).join("\n"));
  }
  parts.push(result.versions.map(([name, version]) => `${name} ${escapeMarkdown(version)}`).join(" · "));
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

function beforeText({ before }: Report): string {
  if (before === undefined) {
    return "Not run: there was no prediction to hold it against.";
  }
  const said = before.className === "" ? "nothing was raised" : headline(before);
  return `${before.asPredicted ? "✓ Raised as predicted:" : "✗ Not as predicted:"}\n\n${fence(said)}`;
}

function afterText({ after }: Report): string {
  if (after === undefined) {
    return "Not run: no repaired call could be run.";
  }
  const worst = after.worst === "" ? "" : `\n\n${fence(after.worst)}`;
  if (!after.compared) {
    return after.ok ? "✓ Ran; there is no reference to compare with." : `✗ Did not run.${worst}`;
  }
  const cases = `${after.cases} ${after.cases === 1 ? "case" : "cases"}`;
  if (after.ok) {
    return `✓ Equal to the reference in every element, ${cases}.`;
  }
  return `✗ ${after.mismatches} of ${cases} differ from the reference.${worst}`;
}

function micro(value: number): string {
  return `${value.toFixed(1)} µs`;
}
