import { readdir, readFile } from "node:fs/promises";
import * as vscode from "vscode";
import { gpuLine, gpuName } from "../core/gpu";
import { numberOf, textOf } from "../core/json";
import type { ServerApi } from "./api";
import type { ServerManager } from "./manager";
import type { ServerState } from "./state";

/** The language status item: state, interpreter, catalog and GPU; pressing it opens the log. */
export function registerStatus(context: vscode.ExtensionContext, manager: ServerManager, api: ServerApi): void {
  const item = vscode.languages.createLanguageStatusItem("raiselens.status", ["python", "log", "plaintext"]);
  item.name = "Raiselens";
  item.command = { command: "raiselens.showLogs", title: "Show Logs" };
  const show = (state: ServerState): void => {
    item.busy = state.kind === "starting";
    item.severity =
      state.kind === "failed" ? vscode.LanguageStatusSeverity.Error : vscode.LanguageStatusSeverity.Information;
    item.text = LABELS[state.kind];
    item.detail = state.kind === "failed" ? state.reason : "";
    if (state.kind === "running") {
      item.detail = `Python ${state.interpreter.version} (${state.interpreter.origin})`;
      void detail(api, state.interpreter.version).then((text) => {
        if (manager.state === state) {
          item.detail = text;
        }
      });
    }
  };
  show(manager.state);
  context.subscriptions.push(item, manager.onDidChange(show));
}

const LABELS: Readonly<Record<ServerState["kind"], string>> = {
  stopped: "Raiselens: not started",
  starting: "Raiselens: starting",
  running: "Raiselens",
  failed: "Raiselens: not running",
};

async function detail(api: ServerApi, version: string): Promise<string> {
  try {
    const uri = vscode.window.activeTextEditor?.document.uri;
    const facts = await api.debugInformation(uri?.scheme === "file" ? uri : undefined);
    const inspected = textOf(facts["python"], "none");
    const records = `${numberOf(facts["records"])} records`;
    return `runs on Python ${version} · libraries of ${inspected} · ${records} · ${gpuLine(await gpus())}`;
  } catch {
    return `runs on Python ${version}`;
  }
}

/** GPUs by the driver's own listing: nothing is started to ask. */
export async function gpus(): Promise<string[]> {
  const root = "/proc/driver/nvidia/gpus";
  const ids = await readdir(root).catch((): string[] => []);
  const told = await Promise.all(ids.map((id) => readFile(`${root}/${id}/information`, "utf8").catch(() => "")));
  return told.map(gpuName).filter((name) => name !== undefined);
}
