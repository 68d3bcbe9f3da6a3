import { expect, it } from "vitest";
import { gpuLine, gpuName } from "../src/core/gpu";
import { ownCommand } from "../src/core/lenses";
import { grouped, type Raised } from "../src/core/raised";

it("reads GPUs off the driver's listing", () => {
  expect(gpuName("Model: \t\t NVIDIA H200\nIRQ:   \t\t 53\n")).toBe("NVIDIA H200");
  expect(gpuName("IRQ: 53\n")).toBeUndefined();
  expect(gpuLine([])).toBe("no NVIDIA GPU here");
  expect(gpuLine(["NVIDIA H200", "NVIDIA H200", "L4"])).toBe("2 × NVIDIA H200, L4");
});

it("gives lenses ids of our own", () => {
  expect(ownCommand({ title: "verify", command: "raiselens.verify", arguments: [1] })).toEqual({
    title: "verify",
    command: "raiselens.verifyHere",
    arguments: [1],
  });
  const other = { title: "x", command: "other.command" };
  expect(ownCommand(other)).toBe(other);
});

it("groups raised errors by cause, the most frequent first", () => {
  const at = (cause: string, uri: string, line: number, severe = true): Raised => ({
    cause,
    headline: `Error: ${cause}`,
    uri,
    line,
    observed: false,
    severe,
  });
  const groups = grouped([at("b", "file:///b", 2), at("a", "file:///b", 9), at("a", "file:///a", 7), at("c", "file:///a", 1, false)]);
  expect(groups.map(({ cause, places }) => [cause, places.map(({ uri, line }) => `${uri}:${line}`)])).toEqual([
    ["a", ["file:///a:7", "file:///b:9"]],
    ["b", ["file:///b:2"]],
    ["c", ["file:///a:1"]],
  ]);
  expect(groups.map(({ severe }) => severe)).toEqual([true, true, false]);
});
