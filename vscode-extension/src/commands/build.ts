import * as vscode from "vscode";
import { builtMessage, targetsOf } from "../core/built";
import type { ServerApi } from "../server/api";
import { register } from "./register";

/** “Build a Catalog of Libraries”: the errors of installed libraries become records, for search and for what is explained. */
export function registerBuild(context: vscode.ExtensionContext, api: ServerApi): void {
  register(context, "raiselens.build", async () => {
    const prompt = "Installed libraries, wheels or folders, with spaces between; their sources are read, not run";
    const typed = await vscode.window.showInputBox({ prompt, placeHolder: "sglang torch" });
    const targets = targetsOf(typed ?? "", vscode.workspace.workspaceFolders?.[0]?.uri.fsPath);
    if (targets.length === 0) {
      return;
    }
    const progress = {
      location: vscode.ProgressLocation.Notification,
      title: `Raiselens: building a catalog of ${targets.join(", ")}`,
      cancellable: true,
    };
    await vscode.window.withProgress(progress, async (bar, token) => {
      try {
        const built = await api.buildCatalog(targets, token, (message) => bar.report({ message }));
        void vscode.window.showInformationMessage(`Raiselens: ${builtMessage(built, targets)}`);
      } catch (error) {
        if (!token.isCancellationRequested) {
          throw error;
        }
        vscode.window.setStatusBarMessage("Raiselens: the catalog was not built", 5000);
      }
    });
  });
}
