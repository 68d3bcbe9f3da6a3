import type * as vscode from "vscode";

/** Source of what the server finds. */
export const FORESEEN = "raiselens";
/** Source of what the terminal printed. */
export const PRINTED = "raiselens (terminal)";

export function isOurs(diagnostic: vscode.Diagnostic): boolean {
  return diagnostic.source === FORESEEN || diagnostic.source === PRINTED;
}

export function isTerminals(diagnostic: vscode.Diagnostic): boolean {
  return diagnostic.source === PRINTED;
}

/** The rule's id; the message where it has none. */
export function codeOf(diagnostic: vscode.Diagnostic): string {
  const { code } = diagnostic;
  const value = typeof code === "object" ? code.value : code;
  return value === undefined ? diagnostic.message : String(value);
}
