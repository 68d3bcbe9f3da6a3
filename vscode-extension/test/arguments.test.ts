import { expect, it } from "vitest";
import { deviceName, recordKey, verifyTarget } from "../src/core/arguments";

it("takes a target only whole", () => {
  const target = { uri: "file:///a.py", position: { line: 3, character: 0 } };
  expect(verifyTarget({ ...target, more: 1 })).toEqual(target);
  for (const other of [
    undefined,
    null,
    "x",
    {},
    { uri: 3, position: target.position },
    { uri: target.uri },
    { uri: target.uri, position: { line: -1, character: 0 } },
    { uri: target.uri, position: { line: 1.5, character: 0 } },
    { uri: target.uri, position: { line: "1", character: 0 } },
  ]) {
    expect(verifyTarget(other)).toBeUndefined();
  }
});

it("takes a record's key alone or in an object", () => {
  expect(recordKey("77c238349aca21f2")).toBe("77c238349aca21f2");
  expect(recordKey({ id: "pool-out-must-be-int32" })).toBe("pool-out-must-be-int32");
  for (const other of [undefined, 3, "", "a b", "../x/y", { id: 3 }, "x".repeat(301)]) {
    expect(recordKey(other)).toBeUndefined();
  }
});

it("takes devices by name", () => {
  expect(deviceName("auto")).toBe("auto");
  expect(deviceName("cuda:0, cuda:1")).toBe("cuda:0,cuda:1");
  for (const other of ["", "gpu", "cuda:", "cuda:x", "cpu;ls"]) {
    expect(deviceName(other)).toBeUndefined();
  }
});
