import * as vscode from "vscode";
import { recordKey } from "../core/arguments";
import type { ServerApi } from "../server/api";
import { codeOf, isOurs } from "../server/diagnostics";
import type { Page, Pages } from "../views/pages";
import { register } from "./register";

export const OPEN_RECORD = "raiselens.openRecord";

export function registerRecords(context: vscode.ExtensionContext, api: ServerApi, pages: Pages): void {
  register(context, OPEN_RECORD, async (argument) => {
    const key = recordKey(argument) ?? (await vscode.window.showInputBox({ prompt: "Id or rule of a record" }));
    if (key !== undefined && key !== "") {
      pages.show(await loadRecord(api, key));
    }
  });
}

/** A record's page, with the finding of the active editor that it explains. */
export async function loadRecord(api: ServerApi, key: string): Promise<Page> {
  const markdown = await api.showRecord(key);
  const title = /^# (.*)$/m.exec(markdown)?.[1] ?? key;
  return { title: title.length > 40 ? `${title.slice(0, 39)}…` : title, markdown, finding: findingOf(markdown) };
}

function findingOf(markdown: string): vscode.Location | undefined {
  for (const { document } of vscode.window.visibleTextEditors) {
    const found = vscode.languages
      .getDiagnostics(document.uri)
      .find((diagnostic) => isOurs(diagnostic) && markdown.includes(`rule \`${codeOf(diagnostic)}\``));
    if (found !== undefined && document.languageId === "python") {
      return new vscode.Location(document.uri, found.range);
    }
  }
  return undefined;
}
