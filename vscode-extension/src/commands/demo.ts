import * as vscode from "vscode";
import { register } from "./register";

/** Opens the walkthrough's script as a new document, so that it can be repaired and broken at will. */
export function registerDemo(context: vscode.ExtensionContext): void {
  register(context, "raiselens.openDemo", async () => {
    const file = vscode.Uri.joinPath(context.extensionUri, "media", "walkthrough", "demo.py.txt");
    const content = new TextDecoder().decode(await vscode.workspace.fs.readFile(file));
    const document = await vscode.workspace.openTextDocument({ language: "python", content });
    await vscode.window.showTextDocument(document);
  });
}
