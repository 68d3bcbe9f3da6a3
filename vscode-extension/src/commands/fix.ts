import * as vscode from "vscode";
import type { ServerApi } from "../server/api";
import { isOurs, isTerminals } from "../server/diagnostics";
import { register } from "./register";

/** Inserts the preferred fix of the finding at the cursor. */
export function registerFix(context: vscode.ExtensionContext, api: ServerApi): void {
  register(context, "raiselens.insertFix", async () => {
    const editor = vscode.window.activeTextEditor;
    const finding = editor === undefined ? undefined : findingAt(editor.document.uri, editor.selection.active);
    if (finding === undefined) {
      throw new Error("no finding is in this file");
    }
    await insertFix(api, finding);
  });
}

/** The finding of a line, else the file's first. */
function findingAt(uri: vscode.Uri, at: vscode.Position): vscode.Location | undefined {
  const found = vscode.languages.getDiagnostics(uri).filter((diagnostic) => isOurs(diagnostic) && !isTerminals(diagnostic));
  const here = found.find(({ range }) => range.start.line <= at.line && at.line <= range.end.line) ?? found[0];
  return here === undefined ? undefined : new vscode.Location(uri, here.range);
}

export async function insertFix(api: ServerApi, finding: vscode.Location): Promise<void> {
  const edit = await api.preferredFix(finding);
  if (edit === undefined) {
    throw new Error("no safe fix is known here; the light bulb offers what there is");
  }
  await vscode.workspace.applyEdit(edit);
}
