/** What a command prints in a terminal: kept within bounds, and looked at only where it may hold an error. */

/** Characters of one command that are kept; what came first goes first. */
export const MOST_KEPT = 1 << 18;

const CARRIED = 32;
// eslint-disable-next-line no-control-regex -- terminals speak in control characters
const ALTERNATE = /\x1b\[\?(?:1049|1047|47)([hl])/g;
const SIGNS = ["Error", "Exception", "Traceback", "error:", "Interrupt", "Assertion"];

/** The end of one command's output. Programs that draw on the alternate screen, such as editors, leave nothing. */
export class TerminalBuffer {
  private chunks: string[] = [];
  private length = 0;
  private tail = "";
  private alternate = false;
  private signs = 0;
  private seen = 0;

  push(data: string): void {
    const fresh = this.onMainScreen(data);
    if (fresh === "") {
      return;
    }
    const joint = this.tail + fresh;
    if (SIGNS.some((sign) => endsBehind(joint, sign, this.tail.length))) {
      this.signs++;
    }
    this.tail = fresh.length >= CARRIED ? fresh.slice(-CARRIED) : joint.slice(-CARRIED);
    this.chunks.push(fresh);
    this.length += fresh.length;
    while (this.length > MOST_KEPT && this.chunks.length > 1) {
      this.length -= this.chunks.shift()?.length ?? 0;
    }
    if (this.length > MOST_KEPT) {
      this.chunks = [fresh.slice(-MOST_KEPT)];
      this.length = MOST_KEPT;
    }
  }

  /** Whether something that may be an error has come since `text` was last asked for. */
  get suspicious(): boolean {
    return this.signs > this.seen;
  }

  text(): string {
    this.seen = this.signs;
    const whole = this.chunks.join("");
    this.chunks = [whole];
    return whole.replaceAll("\r\n", "\n");
  }

  /** The part of `data` that was not drawn on the alternate screen. A switch is found where it is not torn apart. */
  private onMainScreen(data: string): string {
    if (!data.includes("\x1b[?")) {
      return this.alternate ? "" : data;
    }
    let kept = "";
    let from = 0;
    for (const match of data.matchAll(ALTERNATE)) {
      if (!this.alternate) {
        kept += data.slice(from, match.index);
      }
      this.alternate = match[1] === "h";
      from = match.index + match[0].length;
    }
    return this.alternate ? kept : kept + data.slice(from);
  }
}

/** Whether `sign` occurs in `text` with its end behind `seen` characters: what was seen before counts once. */
function endsBehind(text: string, sign: string, seen: number): boolean {
  const last = text.lastIndexOf(sign);
  return last >= 0 && last + sign.length > seen;
}

export const LONGEST_LINE = 4000;

export interface LinePart {
  readonly start: number;
  readonly length: number;
}

export interface ErrorPart extends LinePart {
  readonly kind: "error";
  /** `Class: message`. */
  readonly text: string;
}

export interface FramePart extends LinePart {
  readonly kind: "frame";
  readonly file: string;
  readonly line: number;
}

const ENDINGS = /(?:Error|Exception|Interrupt|ExceptionGroup|Failure|Warning|Exit)$/;
const NAME_BEFORE = /[A-Za-z_][\w.]*$/;
const LONGEST_NAME = 120;
const FRAME = /File "([^"\n]{1,1000})", line (\d{1,9})/g;

/** The parts of a terminal line that are worth a link. */
export function lineParts(line: string): (ErrorPart | FramePart)[] {
  if (line.length > LONGEST_LINE) {
    return [];
  }
  const parts: (ErrorPart | FramePart)[] = [...line.matchAll(FRAME)].map((match) => ({
    kind: "frame",
    start: match.index,
    length: match[0].length,
    file: match[1] ?? "",
    line: Number(match[2]),
  }));
  const error = errorPart(line);
  return error === undefined ? parts : [...parts, error];
}

/** The first `Class: message` of a line, up to the line's end. */
function errorPart(line: string): ErrorPart | undefined {
  for (let colon = line.indexOf(":"); colon >= 0; colon = line.indexOf(":", colon + 1)) {
    const next = line[colon + 1];
    if (next !== undefined && next !== " ") {
      continue;
    }
    const name = NAME_BEFORE.exec(line.slice(Math.max(0, colon - LONGEST_NAME), colon))?.[0];
    if (name !== undefined && ENDINGS.test(name)) {
      const start = colon - name.length;
      const text = line.slice(start).trimEnd();
      return { kind: "error", start, length: text.length, text };
    }
  }
  return undefined;
}
