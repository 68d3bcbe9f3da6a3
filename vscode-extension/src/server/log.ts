import * as vscode from "vscode";

/** The two channels: what the extension and the server say, and the trace of their messages. */
export interface Channels {
  readonly log: vscode.LogOutputChannel;
  readonly trace: vscode.LogOutputChannel;
}

export function createChannels(context: vscode.ExtensionContext): Channels {
  const log = vscode.window.createOutputChannel("Raiselens", { log: true });
  const trace = vscode.window.createOutputChannel("Raiselens Trace", { log: true });
  context.subscriptions.push(log, trace);
  return { log, trace };
}

export function told(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
