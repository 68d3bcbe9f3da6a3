import * as vscode from "vscode";

/** Whether a feature that can be switched off is on. */
export function enabled(feature: "codeLens" | "terminal.diagnostics" | "terminal.links"): boolean {
  return vscode.workspace.getConfiguration("raiselens").get<boolean>(feature) ?? true;
}
