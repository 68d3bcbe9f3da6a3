import * as vscode from "vscode";
import { serverSettings, type Inspection } from "../core/settings";
import { selectedInterpreter } from "./interpreters";

/** What the server is told at its start and after each change: trust, settings, and those of each folder. */
export interface Told {
  readonly trusted: boolean;
  readonly settings: Record<string, unknown>;
  readonly folders: Record<string, Record<string, unknown>>;
}

export async function settingsForServer(): Promise<Told> {
  const trusted = vscode.workspace.isTrusted;
  const of = async (folder?: vscode.Uri): Promise<Record<string, unknown>> => {
    const configuration = vscode.workspace.getConfiguration("raiselens", folder ?? null);
    const inspect = (key: string): Inspection | undefined => configuration.inspect(key);
    return serverSettings(inspect, trusted, trusted ? await selectedInterpreter(folder) : undefined);
  };
  const folders = vscode.workspace.workspaceFolders ?? [];
  const settings: Record<string, Record<string, unknown>> = {};
  for (const { uri } of folders) {
    settings[uri.toString()] = await of(uri);
  }
  return { trusted, settings: await of(), folders: settings };
}
