import { existsSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import * as vscode from "vscode";
import { enabled } from "../configuration";
import { explainedMarkdown, headline, primaryError, tooltip, type ExplainedError } from "../core/explained";
import { lineParts, type ErrorPart, type FramePart } from "../core/terminal";
import type { ServerApi } from "../server/api";
import { told } from "../server/log";
import type { Latest } from "./stream";

const MOST_REMEMBERED = 200;

class ErrorLink extends vscode.TerminalLink {
  constructor(
    part: ErrorPart,
    tooltip: string,
    readonly error: ExplainedError,
  ) {
    super(part.start, part.length, tooltip);
  }
}

class FrameLink extends vscode.TerminalLink {
  constructor(
    part: FramePart,
    readonly path: string,
    readonly line: number,
  ) {
    super(part.start, part.length, `Open line ${part.line}`);
  }
}

export interface LinkActions {
  /** Whether the record has a page; it is opened. */
  readonly openRecord: (id: string) => Promise<boolean>;
  readonly showPage: (title: string, markdown: string) => void;
}

/** Error lines and frames in terminals as links; only lines under the pointer are looked at. */
export function registerLinks(
  context: vscode.ExtensionContext,
  api: ServerApi,
  latest: Latest,
  actions: LinkActions,
): void {
  const known = new Map<string, Promise<{ error: ExplainedError; tooltip: string } | undefined>>();

  const explain = (part: ErrorPart, terminal: vscode.Terminal): ReturnType<typeof lookUp> => {
    const printed = latest.get(terminal)?.errors.find((error) => firstLine(headline(error)) === part.text);
    const key = `${part.text}\n${printed?.record?.id ?? ""}\n${printed?.repairs[0]?.title ?? ""}`;
    let answer = known.get(key);
    if (answer === undefined) {
      answer = lookUp(api, part.text, printed);
      known.set(key, answer);
      answer.catch(() => known.delete(key));
      for (const oldest of [...known.keys()].slice(0, -MOST_REMEMBERED)) {
        known.delete(oldest);
      }
    }
    return answer;
  };

  context.subscriptions.push(
    vscode.window.registerTerminalLinkProvider({
      provideTerminalLinks: async ({ line, terminal }) => {
        if (!enabled("terminal.links")) {
          return [];
        }
        const links = await Promise.all(
          lineParts(line).map(async (part) =>
            part.kind === "frame" ? frameLink(part, terminal) : errorLink(part, explain(part, terminal)),
          ),
        );
        return links.filter((link) => link !== undefined);
      },
      handleTerminalLink: (link: vscode.TerminalLink) => {
        follow(link, actions).catch((error: unknown) => void vscode.window.showWarningMessage(told(error)));
      },
    }),
  );
}

async function lookUp(
  api: ServerApi,
  text: string,
  printed: ExplainedError | undefined,
): Promise<{ error: ExplainedError; tooltip: string } | undefined> {
  const error = printed ?? primaryError(await api.explainText(text));
  if (error === undefined) {
    return undefined;
  }
  // What was mined from the raising file on the spot is in no catalog, and has no page.
  const page = error.record === undefined ? undefined : await api.showRecord(error.record.id).catch(() => undefined);
  return { error, tooltip: tooltip(error, page) };
}

async function errorLink(part: ErrorPart, explained: ReturnType<typeof lookUp>): Promise<ErrorLink | undefined> {
  const found = await explained.catch(() => undefined);
  return found === undefined ? undefined : new ErrorLink(part, found.tooltip, found.error);
}

function frameLink(part: FramePart, terminal: vscode.Terminal): FrameLink | undefined {
  const path = localPath(part.file, terminal);
  return path === undefined ? undefined : new FrameLink(part, path, part.line);
}

/** The file on this machine: as it is, below the terminal's folder, or where `raiselens.pathMap` says. */
function localPath(file: string, terminal: vscode.Terminal): string | undefined {
  const map = vscode.workspace.getConfiguration("raiselens").get<Record<string, string>>("pathMap", {});
  const mapped = Object.entries(map)
    .filter(([there]) => file.startsWith(`${there.replace(/\/$/, "")}/`))
    .map(([there, here]) => join(here, file.slice(there.replace(/\/$/, "").length)));
  const cwd = terminal.shellIntegration?.cwd?.fsPath;
  const plain = isAbsolute(file) ? [file] : cwd === undefined ? [] : [join(cwd, file)];
  return [...mapped, ...plain].find((path) => existsSync(path));
}

async function follow(link: vscode.TerminalLink, actions: LinkActions): Promise<void> {
  if (link instanceof FrameLink) {
    const at = new vscode.Position(Math.max(link.line - 1, 0), 0);
    await vscode.window.showTextDocument(vscode.Uri.file(link.path), { selection: new vscode.Range(at, at) });
  } else if (link instanceof ErrorLink) {
    const { error } = link;
    const opened = error.record !== undefined && (await actions.openRecord(error.record.id));
    if (!opened) {
      actions.showPage(error.className, explainedMarkdown({ primary: 0, errors: [error] }));
    }
  }
}

function firstLine(text: string): string {
  return (text.split("\n")[0] ?? "").trimEnd();
}
