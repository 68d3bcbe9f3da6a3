import * as vscode from "vscode";
import { told } from "../server/log";

/** Registers a command whose failure is one message to the user. Its arguments come from anywhere. */
export function register(
  context: vscode.ExtensionContext,
  id: string,
  run: (...args: readonly unknown[]) => Promise<void> | void,
): void {
  context.subscriptions.push(
    vscode.commands.registerCommand(id, async (...args: unknown[]) => {
      try {
        await run(...args);
      } catch (error) {
        void vscode.window.showErrorMessage(`Raiselens: ${told(error)}`);
      }
    }),
  );
}
