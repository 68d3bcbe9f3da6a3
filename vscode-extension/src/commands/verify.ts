import * as vscode from "vscode";
import { verifyTarget, type VerifyTarget } from "../core/arguments";
import { card, verdict } from "../core/verified";
import type { ServerApi } from "../server/api";
import { isOurs, isTerminals } from "../server/diagnostics";
import type { Pages } from "../views/pages";
import { means, registerMeans } from "./means";
import { register } from "./register";

type Target = VerifyTarget | { readonly scatter: true };

/** “Run on GPU”, from the lens, the light bulb and the palette. */
export function registerVerify(context: vscode.ExtensionContext, api: ServerApi, pages: Pages): void {
  registerMeans(context);
  const verify = async (target: Target): Promise<void> => {
    if (!vscode.workspace.isTrusted) {
      await refuse();
      return;
    }
    const options = means(context, "uri" in target ? vscode.Uri.parse(target.uri) : undefined);
    const progress = { location: vscode.ProgressLocation.Notification, title: "Raiselens: verifying", cancellable: true };
    await vscode.window.withProgress(progress, async (bar, token) => {
      try {
        const result = await api.verify(target, options, token, (message) => bar.report({ message }));
        pages.show({ title: verdict(result), markdown: card(result) });
      } catch (error) {
        if (!token.isCancellationRequested) {
          throw error;
        }
        vscode.window.setStatusBarMessage("Raiselens: verification cancelled", 5000);
      }
    });
  };
  register(context, "raiselens.verifyHere", (argument) => verify(verifyTarget(argument) ?? atCursor()));
  register(context, "raiselens.verifyScatter", () => verify({ scatter: true }));
  context.subscriptions.push(
    vscode.languages.registerCodeActionsProvider({ language: "python" }, { provideCodeActions: bulb }),
  );
}

function atCursor(): VerifyTarget {
  const editor = vscode.window.activeTextEditor;
  if (editor?.document.languageId !== "python") {
    throw new Error("put the cursor on a finding in a Python file");
  }
  const { line, character } = editor.selection.active;
  return { uri: editor.document.uri.toString(), position: { line, character } };
}

/** Verification in the light bulb of a finding, and of the places in its file that it speaks of. */
function bulb(
  document: vscode.TextDocument,
  range: vscode.Range,
  { diagnostics }: vscode.CodeActionContext,
): vscode.CodeAction[] {
  const finding = vscode.languages.getDiagnostics(document.uri).find(
    (diagnostic) =>
      isOurs(diagnostic) &&
      !isTerminals(diagnostic) &&
      placesOf(diagnostic, document.uri).some((place) => place.intersection(range) !== undefined),
  );
  if (finding === undefined || !vscode.workspace.isTrusted) {
    return [];
  }
  const { line, character } = finding.range.start;
  const title = "Verify on GPU";
  const action = new vscode.CodeAction(title, vscode.CodeActionKind.QuickFix);
  // Actions with diagnostics are listed first; at another place the fixes have none.
  action.diagnostics = diagnostics.filter(isOurs);
  const target: VerifyTarget = { uri: document.uri.toString(), position: { line, character } };
  action.command = { command: "raiselens.verifyHere", title, arguments: [target] };
  return [action];
}

function placesOf({ range, relatedInformation = [] }: vscode.Diagnostic, uri: vscode.Uri): vscode.Range[] {
  const here = relatedInformation.filter(({ location }) => location.uri.toString() === uri.toString());
  return [range, ...here.map(({ location }) => location.range)];
}

async function refuse(): Promise<void> {
  const manage = "Manage Workspace Trust";
  const answer = await vscode.window.showWarningMessage(
    "Raiselens runs nothing in a workspace that is not trusted.",
    manage,
  );
  if (answer === manage) {
    await vscode.commands.executeCommand("workbench.trust.manage");
  }
}
