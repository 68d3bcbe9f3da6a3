import * as vscode from "vscode";
import { isOurs } from "../server/diagnostics";
import { register } from "./register";

const MOST_RESOLVED = 30;

/** Inserts the preferred fix of the finding at the cursor. */
export function registerFix(context: vscode.ExtensionContext): void {
  register(context, "raiselens.insertFix", async () => {
    const editor = vscode.window.activeTextEditor;
    const finding = editor === undefined ? undefined : findingAt(editor.document.uri, editor.selection.active);
    if (finding === undefined) {
      throw new Error("no finding is in this file");
    }
    await insertFix(finding);
  });
}

/** The finding of a line, else the file's first. */
function findingAt(uri: vscode.Uri, at: vscode.Position): vscode.Location | undefined {
  const found = vscode.languages.getDiagnostics(uri).filter(isOurs);
  const here = found.find(({ range }) => range.start.line <= at.line && at.line <= range.end.line) ?? found[0];
  return here === undefined ? undefined : new vscode.Location(uri, here.range);
}

export async function insertFix({ uri, range }: vscode.Location): Promise<void> {
  const offered = await vscode.commands.executeCommand<(vscode.CodeAction | vscode.Command)[]>(
    "vscode.executeCodeActionProvider",
    uri,
    range,
    vscode.CodeActionKind.QuickFix.value,
    MOST_RESOLVED,
  );
  const fixes = offered.filter(
    (action): action is vscode.CodeAction => "edit" in action && (action.diagnostics?.some(isOurs) ?? false),
  );
  const fix = fixes.find((action) => action.isPreferred === true);
  if (fix?.edit === undefined) {
    throw new Error("no safe fix is known here; the light bulb offers what there is");
  }
  await vscode.workspace.applyEdit(fix.edit);
}
