/** Which interpreter runs the server: an order of candidates, and what makes one of them fit. */

import { isObject, numberOf, textOf } from "./json";

export const OLDEST_MINOR = 10;
/** The newest Python that the bundled native modules were built for. */
export const NEWEST_MINOR = 14;

export type Origin = "setting" | "Python extension" | ".venv" | "PATH";

export interface Candidate {
  readonly command: readonly string[];
  readonly origin: Origin;
}

export interface Surroundings {
  /** `raiselens.interpreter`. */
  readonly configured: readonly string[];
  readonly trusted: boolean;
  /** The Python extension's choice. */
  readonly selected: string | undefined;
  /** Interpreters of `.venv` folders that exist in the workspace. */
  readonly environments: readonly string[];
  readonly windows: boolean;
}

/** The commands to try, in order. Programs of the workspace are among them only where it is trusted. */
export function candidates(around: Surroundings): Candidate[] {
  if (around.configured.length > 0) {
    return [{ command: around.configured, origin: "setting" }];
  }
  const found: Candidate[] = [];
  if (around.trusted) {
    if (around.selected !== undefined) {
      found.push({ command: [around.selected], origin: "Python extension" });
    }
    found.push(...around.environments.map((path): Candidate => ({ command: [path], origin: ".venv" })));
  }
  const onPath = around.windows ? [["python"], ["py", "-3"], ["python3"]] : [["python3"], ["python"]];
  found.push(...onPath.map((command): Candidate => ({ command, origin: "PATH" })));
  return found;
}

/** Printed by a candidate that is asked what it is. */
export const PROBE =
  "import json, sys, sysconfig; print(json.dumps({'name': sys.implementation.name, 'version': list(sys.version_info[:3]), " +
  "'executable': sys.executable, 'free_threaded': bool(sysconfig.get_config_var('Py_GIL_DISABLED'))}))";

export interface Interpreter {
  readonly command: readonly string[];
  readonly origin: Origin;
  readonly executable: string;
  readonly version: string;
}

/** What a candidate is, from what it printed; or one clause that says why it cannot run the server. */
export function judge(candidate: Candidate, printed: string): Interpreter | string {
  const answer = parsed(printed);
  if (answer === undefined) {
    return "did not answer like a Python interpreter";
  }
  const [major, minor, micro] = answer.version;
  const version = `${major}.${minor}.${micro}`;
  if (answer.name !== "cpython" || answer.freeThreaded) {
    return `is ${answer.freeThreaded ? "a free-threaded build" : answer.name} ${version}`;
  }
  if (major !== 3 || minor < OLDEST_MINOR || minor > NEWEST_MINOR) {
    return `is Python ${version}`;
  }
  return { command: candidate.command, origin: candidate.origin, executable: answer.executable, version };
}

function parsed(
  printed: string,
): { name: string; version: [number, number, number]; executable: string; freeThreaded: boolean } | undefined {
  const last = printed.trim().split("\n").at(-1) ?? "";
  let answer: unknown;
  try {
    answer = JSON.parse(last);
  } catch {
    return undefined;
  }
  if (!isObject(answer) || !Array.isArray(answer["version"])) {
    return undefined;
  }
  const [major, minor, micro] = answer["version"].map((part) => numberOf(part, -1));
  return {
    name: textOf(answer["name"]),
    version: [major ?? -1, minor ?? -1, micro ?? -1],
    executable: textOf(answer["executable"]),
    freeThreaded: answer["free_threaded"] === true,
  };
}

export interface Refused {
  readonly candidate: Candidate;
  readonly reason: string;
}

/** The one message where no candidate fits. */
export function noInterpreter(refused: readonly Refused[]): string {
  const said = refused.map(({ candidate, reason }) => `${candidate.command.join(" ")} (${candidate.origin}) ${reason}`);
  const needs = `Raiselens needs Python 3.${OLDEST_MINOR} to 3.${NEWEST_MINOR} to run its server`;
  const tried = said.length > 0 ? `${needs}: ${said.join("; ")}.` : `${needs}.`;
  return `${tried} Install one as python3 on PATH, or name one in the setting raiselens.interpreter.`;
}

/** Whether two choices start the same server. */
export function sameInterpreter(left: Interpreter | undefined, right: Interpreter | undefined): boolean {
  return (
    left?.executable === right?.executable &&
    left?.version === right?.version &&
    left?.command.join("\0") === right?.command.join("\0")
  );
}
