import * as vscode from "vscode";
import { grouped, type Group, type Raised } from "../core/raised";
import { codeOf, isOurs, isTerminals } from "../server/diagnostics";

type Node = { readonly kind: "group"; readonly group: Group } | { readonly kind: "place"; readonly raised: Raised };

/** The tree “Raised errors”. */
export function registerRaisedView(context: vscode.ExtensionContext): void {
  const changed = new vscode.EventEmitter<undefined>();
  const tree: vscode.TreeDataProvider<Node> = {
    onDidChangeTreeData: changed.event,
    getChildren: (node) => children(node),
    getTreeItem: (node) => (node.kind === "group" ? groupItem(node.group) : placeItem(node.raised)),
  };
  const view = vscode.window.createTreeView("raiselens.raisedErrors", { treeDataProvider: tree, showCollapseAll: true });
  let pending: NodeJS.Timeout | undefined;
  const refresh = (): void => {
    clearTimeout(pending);
    pending = setTimeout(() => {
      const count = raised().length;
      view.description = count === 0 ? "" : String(count);
      changed.fire(undefined);
    }, 200);
  };
  context.subscriptions.push(view, changed, vscode.languages.onDidChangeDiagnostics(refresh));
  refresh();
}

function children(node: Node | undefined): Node[] {
  if (node === undefined) {
    return grouped(raised()).map((group) => ({ kind: "group", group }));
  }
  return node.kind === "group" ? node.group.places.map((place) => ({ kind: "place", raised: place })) : [];
}

function raised(): Raised[] {
  return vscode.languages.getDiagnostics().flatMap(([uri, diagnostics]) =>
    diagnostics.filter(isOurs).map((diagnostic) => ({
      cause: codeOf(diagnostic),
      headline: diagnostic.message.split("\n")[0] ?? "",
      uri: uri.toString(),
      line: diagnostic.range.start.line,
      observed: isTerminals(diagnostic),
      severe: diagnostic.severity === vscode.DiagnosticSeverity.Error,
    })),
  );
}

function groupItem(group: Group): vscode.TreeItem {
  const item = new vscode.TreeItem(group.headline, vscode.TreeItemCollapsibleState.Expanded);
  item.id = group.cause;
  item.description = group.places.length === 1 ? "" : String(group.places.length);
  item.tooltip = `${group.headline}\n${group.cause}`;
  item.iconPath = new vscode.ThemeIcon(
    group.severe ? "error" : "warning",
    new vscode.ThemeColor(group.severe ? "list.errorForeground" : "list.warningForeground"),
  );
  return item;
}

function placeItem(place: Raised): vscode.TreeItem {
  const uri = vscode.Uri.parse(place.uri);
  const item = new vscode.TreeItem(`${vscode.workspace.asRelativePath(uri)}:${place.line + 1}`);
  item.description = place.observed ? "printed in the terminal" : "foreseen";
  item.iconPath = new vscode.ThemeIcon(place.observed ? "terminal" : "eye");
  const selection = new vscode.Range(place.line, 0, place.line, 0);
  item.command = { command: "vscode.open", title: "Open", arguments: [uri, { selection }] };
  return item;
}
