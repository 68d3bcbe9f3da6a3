import { describe, expect, it } from "vitest";
import { LONGEST_LINE, lineParts, MOST_KEPT, TerminalBuffer } from "../src/core/terminal";

function buffered(...chunks: string[]): TerminalBuffer {
  const buffer = new TerminalBuffer();
  for (const chunk of chunks) {
    buffer.push(chunk);
  }
  return buffer;
}

describe("the buffer", () => {
  it("keeps the end of a long output", () => {
    const buffer = buffered(...Array.from({ length: 40 }, (_, at) => `${at} `.padEnd(16_384, ".")), "the end");
    const text = buffer.text();
    expect(text.length).toBeLessThanOrEqual(MOST_KEPT);
    expect(text.endsWith("the end")).toBe(true);
    expect(buffered("x".repeat(3 * MOST_KEPT)).text().length).toBe(MOST_KEPT);
  });

  it("is suspicious of errors, once for each look", () => {
    const buffer = buffered("loading\r\n");
    expect(buffer.suspicious).toBe(false);
    buffer.push("TypeError: no\r\n");
    expect(buffer.suspicious).toBe(true);
    expect(buffer.text()).toBe("loading\nTypeError: no\n");
    expect(buffer.suspicious).toBe(false);
    buffer.push("more\n");
    expect(buffer.suspicious).toBe(false);
    buffer.push("ValueError: again\n");
    expect(buffer.suspicious).toBe(true);
  });

  it("sees a word that comes in two pieces", () => {
    expect(buffered("Type", "Err", "or: x").suspicious).toBe(true);
    expect(buffered("Type", "d rows").suspicious).toBe(false);
  });

  it("leaves out what is drawn on the alternate screen", () => {
    const buffer = buffered("before\n\x1b[?1049h a TypeError in an editor", " and more", "\x1b[?1049lafter\n");
    expect(buffer.text()).toBe("before\nafter\n");
    expect(buffer.suspicious).toBe(false);
    expect(buffered("\x1b[?25hshown").text()).toBe("\x1b[?25hshown");
  });
});

describe("the parts of a line", () => {
  const shown = (line: string): string[] =>
    lineParts(line).map((part) => `${part.kind} ${line.slice(part.start, part.start + part.length)}`);

  it("are error lines, prefixed or not", () => {
    expect(shown("TypeError: pool must be int32")).toEqual(["error TypeError: pool must be int32"]);
    expect(shown("[rank0]: torch.OutOfMemoryError: CUDA out of memory.  ")).toEqual([
      "error torch.OutOfMemoryError: CUDA out of memory.",
    ]);
    expect(shown("(Worker pid=7) ERROR 08-01 12:00:00 [core.py:843] AssertionError:")).toEqual(["error AssertionError:"]);
    expect(shown("E   ValueError: a: b")).toEqual(["error ValueError: a: b"]);
  });

  it("are frames", () => {
    expect(lineParts('  File "/srv/a b.py", line 14, in main')).toEqual([
      { kind: "frame", start: 2, length: 27, file: "/srv/a b.py", line: 14 },
    ]);
  });

  it("are none in other lines", () => {
    for (const line of ["", "no error here", "12:30:01 all well", "Errors: 0", "x.Error:nothing", "http://a.b/c: d", "Error"]) {
      expect(shown(line)).toEqual([]);
    }
    expect(shown("raise TypeError(f'x: {x}')")).toEqual([]);
    expect(shown(`TypeError: ${"x".repeat(LONGEST_LINE)}`)).toEqual([]);
  });
});
