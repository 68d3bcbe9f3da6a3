import * as vscode from "vscode";
import { fence } from "../core/explained";
import { gpuLine } from "../core/gpu";
import type { ServerApi } from "../server/api";
import { told, type Channels } from "../server/log";
import type { ServerManager } from "../server/manager";
import { gpus } from "../server/status";
import { register } from "./register";

/** Restart, logs, trace and debug information. */
export function registerServerCommands(
  context: vscode.ExtensionContext,
  manager: ServerManager,
  api: ServerApi,
  { log, trace }: Channels,
): void {
  register(context, "raiselens.restart", () => manager.restart());
  register(context, "raiselens.showLogs", () => log.show());
  register(context, "raiselens.showTrace", () => trace.show());
  register(context, "raiselens.showDebugInformation", async () => {
    const content = await debugInformation(context, manager, api);
    const document = await vscode.workspace.openTextDocument({ language: "markdown", content });
    await vscode.window.showTextDocument(document);
  });
}

async function debugInformation(
  context: vscode.ExtensionContext,
  manager: ServerManager,
  api: ServerApi,
): Promise<string> {
  const { packageJSON } = context.extension as { packageJSON: { version?: unknown } };
  const active = vscode.window.activeTextEditor?.document.uri;
  const facts = {
    extension: packageJSON.version,
    editor: `${vscode.env.appName} ${vscode.version}`,
    platform: `${process.platform}-${process.arch}`,
    remote: vscode.env.remoteName ?? "none",
    trusted: vscode.workspace.isTrusted,
    gpus: gpuLine(await gpus()),
    state: manager.state,
    server: await api.debugInformation(active?.scheme === "file" ? active : undefined).catch(told),
  };
  return `# Raiselens: debug information\n\n${fence(JSON.stringify(facts, undefined, 2), "json")}\n`;
}
