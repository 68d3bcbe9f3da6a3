import { join } from "node:path";
import * as vscode from "vscode";
import {
  LanguageClient,
  RevealOutputChannelOn,
  TransportKind,
  type LanguageClientOptions,
  type Middleware,
  type ServerOptions,
} from "vscode-languageclient/node";
import { enabled } from "../configuration";
import type { Interpreter } from "../core/interpreter";
import { withoutHeadline } from "../core/hover";
import { ownCommand } from "../core/lenses";
import { isOurs } from "./diagnostics";
import type { Channels } from "./log";
import type { Told } from "./settings";

export const SOURCE = "raiselens";

/** Documents that the server is told of: Python, its notebooks, and texts that may be logs. */
const SELECTOR = [
  { scheme: "file", language: "python" },
  { scheme: "untitled", language: "python" },
  { scheme: "vscode-notebook-cell", language: "python" },
  ...["log", "plaintext"].flatMap((language) => ["file", "untitled"].map((scheme) => ({ scheme, language }))),
];

export function createClient(
  context: vscode.ExtensionContext,
  { log, trace }: Channels,
  interpreter: Interpreter,
  initializationOptions: Told,
): LanguageClient {
  return new LanguageClient("raiselens", "Raiselens", serverOptions(context, interpreter), {
    documentSelector: SELECTOR,
    initializationOptions,
    outputChannel: log,
    traceOutputChannel: trace,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    progressOnInitialization: false,
    diagnosticPullOptions: { onChange: true, onFocus: false },
    middleware: { provideCodeLenses: lenses, provideHover: hover },
  } satisfies LanguageClientOptions);
}

/** The bundled launcher puts the bundled packages first, whatever is installed where the interpreter is. */
function serverOptions(context: vscode.ExtensionContext, { command }: Interpreter): ServerOptions {
  const [program = "python3", ...rest] = command;
  const level = vscode.workspace.getConfiguration("raiselens").get("logLevel", "warning");
  const script = join(context.extensionPath, "bundled", "launch.py");
  return {
    command: program,
    args: [...rest, "-I", script, "server", "--log-level", level],
    transport: TransportKind.stdio,
    // Not the workspace: a relative path of the server's must lead to nothing in there.
    options: { cwd: context.extensionPath },
  };
}

const lenses: NonNullable<Middleware["provideCodeLenses"]> = async (document, token, next) => {
  if (!enabled("codeLens")) {
    return [];
  }
  const found = (await next(document, token)) ?? [];
  for (const lens of found) {
    if (lens.command !== undefined) {
      lens.command = ownCommand(lens.command);
    }
  }
  return found;
};

const hover: NonNullable<Middleware["provideHover"]> = async (document, position, token, next) => {
  const card = await next(document, position, token);
  const here = vscode.languages.getDiagnostics(document.uri).filter((item) => isOurs(item) && item.range.contains(position));
  const messages = here.map(({ message }) => message);
  for (const part of card?.contents ?? []) {
    if (part instanceof vscode.MarkdownString) {
      part.value = withoutHeadline(part.value, messages);
    }
  }
  return card;
};
