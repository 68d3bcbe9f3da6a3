import { describe, expect, it } from "vitest";
import { candidates, judge, noInterpreter, sameInterpreter, type Candidate, type Surroundings } from "../src/core/interpreter";

const around: Surroundings = {
  configured: [],
  trusted: true,
  selected: "/envs/chosen/bin/python",
  environments: ["/ws/.venv/bin/python"],
  windows: false,
};
const commands = (given: Partial<Surroundings>): string[] =>
  candidates({ ...around, ...given }).map(({ command, origin }) => `${origin}: ${command.join(" ")}`);
const onPath: Candidate = { command: ["python3"], origin: "PATH" };
const printed = (version: number[], rest: object = {}): string =>
  JSON.stringify({ name: "cpython", version, executable: "/usr/bin/python3", free_threaded: false, ...rest });

describe("the order of interpreters", () => {
  it("is setting, Python extension, .venv, PATH", () => {
    expect(commands({ configured: ["/opt/python", "-X", "utf8"] })).toEqual(["setting: /opt/python -X utf8"]);
    expect(commands({})).toEqual([
      "Python extension: /envs/chosen/bin/python",
      ".venv: /ws/.venv/bin/python",
      "PATH: python3",
      "PATH: python",
    ]);
  });

  it("has nothing of the workspace where that is not trusted", () => {
    expect(commands({ trusted: false })).toEqual(["PATH: python3", "PATH: python"]);
  });

  it("knows Windows' launcher", () => {
    expect(commands({ trusted: false, windows: true })).toEqual(["PATH: python", "PATH: py -3", "PATH: python3"]);
  });
});

describe("an interpreter's answer", () => {
  it("is taken from 3.10 to 3.14", () => {
    for (const minor of [10, 11, 12, 13, 14]) {
      expect(judge(onPath, printed([3, minor, 1]))).toMatchObject({ version: `3.${minor}.1`, origin: "PATH" });
    }
    expect(judge(onPath, printed([3, 9, 18]))).toBe("is Python 3.9.18");
    expect(judge(onPath, printed([3, 15, 0]))).toBe("is Python 3.15.0");
    expect(judge(onPath, printed([2, 7, 18]))).toBe("is Python 2.7.18");
  });

  it("is refused of builds that the bundled modules do not fit", () => {
    expect(judge(onPath, printed([3, 11, 1], { name: "pypy" }))).toBe("is pypy 3.11.1");
    expect(judge(onPath, printed([3, 13, 1], { free_threaded: true }))).toBe("is a free-threaded build 3.13.1");
  });

  it("may stand below other lines, and may be none", () => {
    expect(judge(onPath, `a banner\n${printed([3, 12, 0])}\n`)).toMatchObject({ version: "3.12.0" });
    for (const nothing of ["", "no answer: ENOENT", "{}", '{"version": 3}', "[1]"]) {
      expect(judge(onPath, nothing)).toBe("did not answer like a Python interpreter");
    }
  });
});

it("says in one line what was tried and names both ways out", () => {
  const said = noInterpreter([{ candidate: onPath, reason: "is Python 3.8.18" }]);
  expect(said).toBe(
    "Raiselens needs Python 3.10 to 3.14 to run its server: python3 (PATH) is Python 3.8.18. " +
      "Install one as python3 on PATH, or name one in the setting raiselens.interpreter.",
  );
});

it("compares choices by what they start", () => {
  const one = judge(onPath, printed([3, 12, 0]));
  const other = judge(onPath, printed([3, 13, 0]));
  expect(typeof one === "string" || typeof other === "string").toBe(false);
  if (typeof one !== "string" && typeof other !== "string") {
    expect(sameInterpreter(one, { ...one })).toBe(true);
    expect(sameInterpreter(one, other)).toBe(false);
    expect(sameInterpreter(one, undefined)).toBe(false);
  }
});
