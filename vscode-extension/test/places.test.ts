import { describe, expect, it } from "vitest";
import { rangeOf, shifted, utf16Index, type Range } from "../src/core/places";

const range = (line: number, from: number, endLine: number, to: number): Range => ({
  start: { line, character: from },
  end: { line: endLine, character: to },
});

describe("columns", () => {
  it("count characters, and the editor's UTF-16 units", () => {
    expect(utf16Index("pool = 1", 6)).toBe(5);
    expect(utf16Index("😀é = 1", 2)).toBe(2);
    expect(utf16Index("😀é = 1", 3)).toBe(3);
    expect(utf16Index("ab", 9)).toBe(2);
  });

  it("make ranges by the text of their lines", () => {
    const lines = ["x = '😀', y"];
    const at = { line: 1, column: 9, endLine: 1, endColumn: 10 };
    expect(rangeOf(at, (line) => lines[line] ?? "")).toEqual(range(0, 9, 0, 10));
  });
});

describe("a range under edits", () => {
  const here = range(5, 4, 5, 10);
  const moved = (where: Range, text: string): Range | undefined => shifted(here, { range: where, text });

  it("stays under an edit behind it and moves under one before it", () => {
    expect(moved(range(5, 10, 6, 0), "x")).toEqual(here);
    expect(moved(range(2, 0, 2, 0), "a\nb\n")).toEqual(range(7, 4, 7, 10));
    expect(moved(range(1, 0, 3, 0), "")).toEqual(range(3, 4, 3, 10));
  });

  it("moves along its line", () => {
    expect(moved(range(5, 0, 5, 2), "abcd")).toEqual(range(5, 6, 5, 12));
    expect(moved(range(4, 1, 5, 4), "")).toEqual(range(4, 1, 4, 7));
    expect(moved(range(5, 2, 5, 2), "x\n")).toEqual(range(6, 2, 6, 8));
  });

  it("is gone where it was edited", () => {
    expect(moved(range(5, 6, 5, 7), "x")).toBeUndefined();
    expect(moved(range(4, 0, 6, 0), "x")).toBeUndefined();
  });
});
