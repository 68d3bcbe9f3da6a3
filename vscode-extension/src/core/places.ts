/** Places in texts. `Span` is the server's: lines and columns from 1, columns count characters. */

export interface Span {
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly endColumn: number;
}

/** Lines and UTF-16 columns from 0, as the editor counts. */
export interface Position {
  readonly line: number;
  readonly character: number;
}

export interface Range {
  readonly start: Position;
  readonly end: Position;
}

/** The UTF-16 index in `line` of its `column`th character. */
export function utf16Index(line: string, column: number): number {
  let index = 0;
  for (let seen = 1; seen < column && index < line.length; seen++) {
    index += (line.codePointAt(index) ?? 0) > 0xffff ? 2 : 1;
  }
  return index;
}

/** The editor's range of a span; `lineText` gives a line by its number from 0, empty where there is none. */
export function rangeOf(span: Span, lineText: (line: number) => string): Range {
  const position = (line: number, column: number): Position => ({
    line: Math.max(line - 1, 0),
    character: utf16Index(lineText(Math.max(line - 1, 0)), column),
  });
  return { start: position(span.line, span.column), end: position(span.endLine, span.endColumn) };
}

export interface TextChange {
  readonly range: Range;
  readonly text: string;
}

/** Where a range lies after a change, and `undefined` where the change touched it. */
export function shifted(range: Range, change: TextChange): Range | undefined {
  if (before(range.end, change.range.start)) {
    return range;
  }
  if (!before(change.range.end, range.start)) {
    return undefined;
  }
  const added = change.text.split("\n");
  const lines = added.length - 1 - (change.range.end.line - change.range.start.line);
  const move = (at: Position): Position => {
    if (at.line !== change.range.end.line) {
      return { line: at.line + lines, character: at.character };
    }
    const head = added.length === 1 ? change.range.start.character : 0;
    const last = added[added.length - 1] ?? "";
    return { line: at.line + lines, character: at.character - change.range.end.character + head + last.length };
  };
  return { start: move(range.start), end: move(range.end) };
}

function before(left: Position, right: Position): boolean {
  return left.line < right.line || (left.line === right.line && left.character <= right.character);
}
