import * as vscode from "vscode";
import type { Hit, ServerApi } from "../server/api";
import { told } from "../server/log";
import type { Pages } from "../views/pages";
import { loadRecord } from "./records";
import { register } from "./register";

const QUIET_MILLISECONDS = 120;

interface HitItem extends vscode.QuickPickItem {
  readonly id: string;
}

/** A quick pick over the records of all layers; what is typed is searched by the server. */
export function registerSearch(context: vscode.ExtensionContext, api: ServerApi, pages: Pages): void {
  register(context, "raiselens.search", async (query) => {
    const id = await pick(api, typeof query === "string" ? query : "");
    if (id !== undefined) {
      pages.show(await loadRecord(api, id));
    }
  });
}

function pick(api: ServerApi, query: string): Promise<string | undefined> {
  const box = vscode.window.createQuickPick<HitItem>();
  box.placeholder = "Words of an error, a rule or a function";
  box.value = query;
  let pending: NodeJS.Timeout | undefined;
  let asked = new vscode.CancellationTokenSource();
  const search = async (): Promise<void> => {
    asked.cancel();
    asked.dispose();
    asked = new vscode.CancellationTokenSource();
    const { token } = asked;
    if (box.value.trim() === "") {
      box.items = [];
      return;
    }
    box.busy = true;
    try {
      const hits = await api.searchCatalog(box.value, token);
      if (!token.isCancellationRequested) {
        box.items = hits.map(item);
        box.busy = false;
      }
    } catch (error) {
      if (!token.isCancellationRequested) {
        box.items = [];
        box.busy = false;
        box.placeholder = told(error);
      }
    }
  };
  return new Promise((resolve) => {
    box.onDidChangeValue(() => {
      clearTimeout(pending);
      pending = setTimeout(() => void search(), QUIET_MILLISECONDS);
    });
    box.onDidAccept(() => {
      resolve(box.selectedItems[0]?.id);
      box.hide();
    });
    box.onDidHide(() => {
      clearTimeout(pending);
      asked.cancel();
      resolve(undefined);
      box.dispose();
    });
    box.show();
    void search();
  });
}

function item(hit: Hit): HitItem {
  // The server has chosen: the quick pick's own filter must not choose again.
  return { id: hit.id, label: hit.message || hit.slug, description: hit.className, detail: `${hit.repo} · ${hit.slug}`, alwaysShow: true };
}
