import * as vscode from "vscode";
import { explainedMarkdown, primaryError, type Explained } from "../core/explained";
import type { ServerApi } from "../server/api";
import type { Pages } from "../views/pages";
import { loadRecord } from "./records";
import { register } from "./register";

/** “Explain selection / clipboard / this log”. */
export function registerExplain(context: vscode.ExtensionContext, api: ServerApi, pages: Pages): void {
  register(context, "raiselens.explainSelection", async () => {
    const editor = vscode.window.activeTextEditor;
    const text = editor?.document.getText(editor.selection) ?? "";
    if (editor === undefined || text.trim() === "") {
      throw new Error("nothing is selected");
    }
    await explain(api, pages, text, editor.document.uri, "the selection");
  });
  register(context, "raiselens.explainClipboard", async () => {
    const text = await vscode.env.clipboard.readText();
    if (text.trim() === "") {
      throw new Error("the clipboard holds no text");
    }
    await explain(api, pages, text, undefined, "the clipboard");
  });
  register(context, "raiselens.explainLog", async () => {
    const document = vscode.window.activeTextEditor?.document;
    if (document === undefined) {
      throw new Error("no log is open in the editor");
    }
    await explain(api, pages, document.getText(), document.uri, "the log");
  });
}

async function explain(api: ServerApi, pages: Pages, text: string, uri: vscode.Uri | undefined, what: string): Promise<void> {
  const explained = await api.explainText(text, uri?.scheme === "file" ? uri : undefined);
  if (explained.errors.length === 0) {
    void vscode.window.showInformationMessage(`Raiselens: no error was found in ${what}.`);
    return;
  }
  pages.show({ title: "Explained", markdown: await withRecord(api, explained) });
}

/** What was found, and below it the page of the primary error's record. */
async function withRecord(api: ServerApi, explained: Explained): Promise<string> {
  const overview = explainedMarkdown(explained);
  const record = primaryError(explained)?.record;
  // What was mined from the raising file on the spot is in no catalog, and has no page.
  const page = record === undefined ? undefined : await loadRecord(api, record.id).catch(() => undefined);
  return page === undefined ? overview : `${overview}\n---\n\n${page.markdown}`;
}
