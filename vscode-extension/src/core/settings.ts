/** The settings that the server takes, as the user set them: what nobody set is left to the files of the workspace. */

/** Keys of `raiselens.*` that are the server's. */
export const SERVER_SETTINGS = [
  "python",
  "extraPath",
  "catalogs",
  "select",
  "ignore",
  "exclude",
  "perFileIgnores",
  "pathMap",
  "launcher",
  "site",
  "unsafeFixes",
  "diagnosticMode",
  "inlayHints",
] as const;

/** Settings that name programs to run: in an untrusted workspace only the user's own count. */
export const PROGRAM_SETTINGS: ReadonlySet<string> = new Set(["interpreter", "python", "launcher"]);

/** What the editor tells of one setting. */
export interface Inspection {
  readonly globalValue?: unknown;
  readonly workspaceValue?: unknown;
  readonly workspaceFolderValue?: unknown;
}

export function chosen(key: string, told: Inspection | undefined, trusted: boolean): unknown {
  if (told === undefined) {
    return undefined;
  }
  if (!trusted && PROGRAM_SETTINGS.has(key)) {
    return told.globalValue;
  }
  return told.workspaceFolderValue ?? told.workspaceValue ?? told.globalValue;
}

/** The object sent to the server. `selected` is the Python extension's interpreter, used where `python` is not set. */
export function serverSettings(
  inspect: (key: string) => Inspection | undefined,
  trusted: boolean,
  selected: string | undefined,
): Record<string, unknown> {
  const settings: Record<string, unknown> = {};
  for (const key of SERVER_SETTINGS) {
    const value = chosen(key, inspect(key), trusted);
    if (value !== undefined && value !== "") {
      settings[key] = value;
    }
  }
  if (trusted && selected !== undefined && settings["python"] === undefined) {
    settings["python"] = selected;
  }
  return settings;
}
