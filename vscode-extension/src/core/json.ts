/** Readers of values that came from outside: each gives a typed value, or a default where the value is another. */

export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

export function textOf(value: unknown, otherwise = ""): string {
  return typeof value === "string" ? value : otherwise;
}

export function numberOf(value: unknown, otherwise = 0): number {
  return typeof value === "number" && Number.isFinite(value) ? value : otherwise;
}

export function listOf<T>(value: unknown, read: (item: JsonObject) => T): T[] {
  return Array.isArray(value) ? value.filter(isObject).map(read) : [];
}

export function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}
