import { expect, it } from "vitest";
import { builtMessage, targetsOf } from "../src/core/built";

it("reads names of libraries as a shell would", () => {
  expect(targetsOf(" sglang, torch \"/a b/c.whl\" './d e' ")).toEqual(["sglang", "torch", "/a b/c.whl", "./d e"]);
  expect(targetsOf("  ")).toEqual([]);
  expect(targetsOf("sglang ./lib deep/lib /abs", "/ws")).toEqual(["sglang", "/ws/lib", "/ws/deep/lib", "/abs"]);
  expect(targetsOf("~/lib", "/ws")[0]).toMatch(/^\/.*\/lib$/);
});

it("says what a build came to", () => {
  expect(builtMessage({ records: 26010, files: 1 }, ["sglang"])).toBe("26,010 records from 1 file of sglang.");
  expect(builtMessage(undefined, ["a", "b"])).toBe("0 records from 0 files of a, b.");
});
