import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import * as vscode from "vscode";
import { candidates, judge, noInterpreter, PROBE, type Interpreter, type Refused } from "../core/interpreter";
import { isObject, textOf, textsOf } from "../core/json";
import { told } from "./log";

const run = promisify(execFile);
const PROBE_MILLISECONDS = 15_000;

/** The interpreter that is to run the server; throws an error with one line for the user where none fits. */
export async function findInterpreter(log: vscode.LogOutputChannel): Promise<Interpreter> {
  const trusted = vscode.workspace.isTrusted;
  const refused: Refused[] = [];
  for (const candidate of candidates({
    configured: textsOf(vscode.workspace.getConfiguration("raiselens").get("interpreter")),
    trusted,
    selected: trusted ? await selectedInterpreter() : undefined,
    environments: trusted ? workspaceEnvironments() : [],
    windows: process.platform === "win32",
  })) {
    const judged = judge(candidate, await ask(candidate.command));
    if (typeof judged !== "string") {
      return judged;
    }
    log.info(`${candidate.command.join(" ")} (${candidate.origin}) ${judged}`);
    refused.push({ candidate, reason: judged });
  }
  throw new Error(noInterpreter(refused));
}

async function ask(command: readonly string[]): Promise<string> {
  const [program = "", ...rest] = command;
  try {
    // From no folder of the workspace, and isolated: nothing that lies there is imported.
    const options = { timeout: PROBE_MILLISECONDS, cwd: __dirname, windowsHide: true };
    return (await run(program, [...rest, "-I", "-c", PROBE], options)).stdout;
  } catch (error) {
    return `no answer: ${told(error)}`;
  }
}

/** `.venv` interpreters of the workspace's folders. */
function workspaceEnvironments(): string[] {
  const inside = process.platform === "win32" ? ["Scripts", "python.exe"] : ["bin", "python"];
  return (vscode.workspace.workspaceFolders ?? [])
    .filter((folder) => folder.uri.scheme === "file")
    .map((folder) => join(folder.uri.fsPath, ".venv", ...inside))
    .filter((path) => existsSync(path));
}

const PYTHON_EXTENSION = "ms-python.python";

/** The interpreter chosen in the Python extension for a folder, where that extension is in use. */
export async function selectedInterpreter(folder?: vscode.Uri): Promise<string | undefined> {
  const environments = await pythonEnvironments();
  if (environments === undefined || typeof environments["getActiveEnvironmentPath"] !== "function") {
    return undefined;
  }
  try {
    const active: unknown = environments["getActiveEnvironmentPath"].call(environments, folder);
    const path = isObject(active) ? textOf(active["path"]) : "";
    return path !== "" && existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

/** Calls `changed` when another interpreter is chosen there. */
export async function watchSelection(changed: () => void): Promise<vscode.Disposable | undefined> {
  const environments = await pythonEnvironments();
  const event = environments?.["onDidChangeActiveEnvironmentPath"];
  return typeof event === "function" ? (event.call(environments, changed) as vscode.Disposable) : undefined;
}

/** The `environments` part of the Python extension's API; only an extension that is installed is started. */
async function pythonEnvironments(): Promise<Record<string, unknown> | undefined> {
  const extension = vscode.extensions.getExtension<unknown>(PYTHON_EXTENSION);
  if (extension === undefined) {
    return undefined;
  }
  try {
    const api = await extension.activate();
    return isObject(api) && isObject(api["environments"]) ? api["environments"] : undefined;
  } catch {
    return undefined;
  }
}
