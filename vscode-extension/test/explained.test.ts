import { describe, expect, it } from "vitest";
import { explainedMarkdown, fence, ownFile, primaryError, readExplained, tooltip, userFrame } from "../src/core/explained";

const ANSWER = {
  schema: 1,
  primary: 0,
  errors: [
    {
      class: "TypeError",
      message: "pool_out must be int32, got torch.int64",
      line: 15,
      column: 10,
      role: "root",
      frames: [
        { file: "/srv/app/main.py", line: 29, function: "<module>", local: "/ws/main.py" },
        { file: "/venv/lib/python3.11/site-packages/sglang/s.py", line: 81, function: "launch" },
      ],
      ranks: ["rank0", "rank1"],
      record: { id: "77c2", slug: "pool-out-must-be-int32", how: "exact", captures: {} },
      repairs: [
        {
          title: "Allocate `pool` as torch.int32",
          kind: "change-dtype-at-allocation",
          safe: true,
          preferred: true,
          edits: [{ file: "/ws/main.py", line: 9, column: 50, end_line: 9, end_column: 61, text: "torch.int32" }],
        },
      ],
    },
  ],
};
const PAGE = "# x\n\n## What it means\n\nThe pool keeps `int32`.\n\nMore.\n\n## Solutions\n\n1. Allocate it as `int32`\n2. Copy\n";

describe("the explain object", () => {
  const explained = readExplained(ANSWER);

  it("is read with the files as they are here", () => {
    const error = primaryError(explained);
    expect(error?.frames[0]).toEqual({ file: "/ws/main.py", line: 29, function: "<module>" });
    expect(error?.repairs[0]?.edits[0]).toEqual({
      file: "/ws/main.py",
      line: 9,
      column: 50,
      endLine: 9,
      endColumn: 61,
      text: "torch.int32",
    });
  });

  it("may be anything", () => {
    for (const answer of [undefined, null, 3, "x", [], {}, { errors: 3 }, { errors: [3, null] }, { primary: "0" }]) {
      expect(readExplained(answer)).toEqual({ primary: undefined, errors: [] });
    }
    expect(readExplained({ errors: [{}] }).errors[0]).toMatchObject({ className: "", line: 1, repairs: [], record: undefined });
  });

  it("leads to the deepest frame of the user's own", () => {
    const error = primaryError(explained);
    expect(error && userFrame(error, (file) => ownFile(file, ["/ws"]))?.line).toBe(29);
    expect(error && userFrame(error, () => false)).toBeUndefined();
  });

  it("gives a tooltip of class, cause and solution", () => {
    const error = primaryError(explained);
    if (error === undefined) {
      throw new Error("no primary error");
    }
    expect(tooltip(error, PAGE)).toBe(
      "TypeError: pool_out must be int32, got torch.int64 — The pool keeps int32. — Fix: Allocate pool as torch.int32",
    );
    expect(tooltip({ ...error, message: "a\n  b" }, undefined)).not.toContain("\n");
    expect(tooltip({ ...error, repairs: [] }, PAGE)).toContain("Fix: Allocate it as int32");
    expect(tooltip({ ...error, repairs: [] }, undefined)).toBe("TypeError: pool_out must be int32, got torch.int64");
  });

  it("makes a page that links the record", () => {
    const page = explainedMarkdown(explained);
    expect(page).toContain("in rank0, rank1");
    expect(page).toContain("Explained by [pool-out-must-be-int32](raiselens:77c2)");
    expect(page).toContain("/ws/main.py:29 in <module>");
    expect(explainedMarkdown({ primary: undefined, errors: [] })).toContain("No error found");
  });
});

it("tells the user's files from libraries", () => {
  expect(ownFile("/ws/a/main.py", ["/ws"])).toBe(true);
  expect(ownFile("/ws2/main.py", ["/ws"])).toBe(false);
  expect(ownFile("/ws/.venv/lib/python3.11/site-packages/x.py", ["/ws"])).toBe(false);
  expect(ownFile("/home/me/lib/python3.11/site-packages/mine/x.py", ["/home/me/lib/python3.11/site-packages/mine"])).toBe(true);
  expect(ownFile("C:\\ws\\main.py", ["C:\\ws"])).toBe(true);
  expect(ownFile("<stdin>", ["/ws"])).toBe(false);
});

it("fences any text", () => {
  expect(fence("a ``` b")).toBe("````text\na ``` b\n````");
});
