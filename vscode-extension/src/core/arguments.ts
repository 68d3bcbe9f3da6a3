/** Arguments of commands. Key bindings, other extensions and links may pass anything: each is narrowed before use. */

import { isObject } from "./json";

export interface VerifyTarget {
  readonly uri: string;
  readonly position: { readonly line: number; readonly character: number };
}

/** `{uri, position}` as lenses pass it. */
export function verifyTarget(argument: unknown): VerifyTarget | undefined {
  if (!isObject(argument) || typeof argument["uri"] !== "string" || !isObject(argument["position"])) {
    return undefined;
  }
  const { line, character } = argument["position"];
  if (!isIndex(line) || !isIndex(character)) {
    return undefined;
  }
  return { uri: argument["uri"], position: { line, character } };
}

const RECORD_KEY = /^[\w.-]{1,300}$/;

/** A record's id or slug, alone or as `{id}`. */
export function recordKey(argument: unknown): string | undefined {
  const key = isObject(argument) ? argument["id"] : argument;
  return typeof key === "string" && RECORD_KEY.test(key) ? key : undefined;
}

/** `auto`, `cpu`, `cuda`, `cuda:1`, or several with commas between. */
export function deviceName(text: string): string | undefined {
  const names = text.split(",").map((name) => name.trim());
  return names.every((name) => /^(?:auto|cpu|cuda(?::\d{1,3})?)$/.test(name)) ? names.join(",") : undefined;
}

function isIndex(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0;
}
