import * as vscode from "vscode";
import { register } from "./register";

/** Opens the walkthrough's script as an unsaved file, so that it can be repaired and broken at will. */
export function registerDemo(context: vscode.ExtensionContext): void {
  register(context, "raiselens.openDemo", async () => {
    const source = vscode.Uri.joinPath(context.extensionUri, "media", "walkthrough", "demo.py.txt");
    const content = new TextDecoder().decode(await vscode.workspace.fs.readFile(source));
    const uri = vscode.Uri.from({ scheme: "untitled", path: "raiselens_demo.py" });
    const document = await vscode.workspace.openTextDocument(uri);
    const editor = await vscode.window.showTextDocument(document);
    // One that is open already is shown as the user left it.
    if (document.getText() === "") {
      await editor.edit((edit) => edit.insert(new vscode.Position(0, 0), content));
      editor.selection = new vscode.Selection(0, 0, 0, 0);
    }
  });
}
