import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import { pageHtml, readPageMessage, type PageMessage } from "../core/page";
import { told } from "../server/log";

export interface Page {
  readonly title: string;
  readonly markdown: string;
  /** The finding that the page speaks of; with it the page offers to insert its fix. */
  readonly finding?: vscode.Location | undefined;
}

export interface PageActions {
  /** The page of a record; fails with one line for the user. */
  readonly load: (record: string) => Promise<Page>;
  readonly insertFix: (finding: vscode.Location) => Promise<void>;
}

/** One webview beside the editor for record pages, explained texts and verification cards. */
export class Pages implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  private readonly history: Page[] = [];

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly actions: PageActions,
  ) {}

  show(page: Page): void {
    this.history.length = 0;
    this.turnTo(page);
  }

  dispose(): void {
    this.panel?.dispose();
  }

  private turnTo(page: Page): void {
    this.history.push(page);
    const panel = (this.panel ??= this.open());
    const buttons = [
      ...(page.finding === undefined ? [] : [{ action: "fix", label: "Insert Fix" }]),
      { action: "copy", label: "Copy Page" },
      ...(this.history.length > 1 ? [{ action: "back", label: "Back" }] : []),
    ];
    panel.title = page.title;
    panel.webview.html = pageHtml({ ...page, buttons, nonce: randomBytes(16).toString("base64url") });
    panel.reveal(panel.viewColumn, true);
  }

  private open(): vscode.WebviewPanel {
    const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    const panel = vscode.window.createWebviewPanel("raiselens.page", "Raiselens", column, {
      enableScripts: true,
      enableFindWidget: true,
      localResourceRoots: [],
    });
    panel.iconPath = vscode.Uri.joinPath(this.context.extensionUri, "media", "icon.png");
    panel.webview.onDidReceiveMessage((message: unknown) => {
      const known = readPageMessage(message);
      if (known !== undefined) {
        this.answer(known).catch((error: unknown) => void vscode.window.showWarningMessage(told(error)));
      }
    });
    panel.onDidDispose(() => (this.panel = undefined));
    return panel;
  }

  private async answer(message: PageMessage): Promise<void> {
    const page = this.history.at(-1);
    switch (message.kind) {
      case "open":
        this.turnTo(await this.actions.load(message.record));
        return;
      case "copy":
        return vscode.env.clipboard.writeText(message.text);
      case "action":
        if (message.action === "copy" && page !== undefined) {
          await vscode.env.clipboard.writeText(page.markdown);
          vscode.window.setStatusBarMessage("Raiselens: page copied", 3000);
        } else if (message.action === "fix" && page?.finding !== undefined) {
          await this.actions.insertFix(page.finding);
        } else if (message.action === "back" && this.history.length > 1) {
          this.history.pop();
          const previous = this.history.pop();
          if (previous !== undefined) {
            this.turnTo(previous);
          }
        }
    }
  }
}
