import { expect, it } from "vitest";
import { withoutHeadline } from "../src/core/hover";

it("does not say again what the editor says above the card", () => {
  const card = "`TypeError: must be int32`  \nraised by `f`\n\n- Fix: it";
  expect(withoutHeadline(card, ["TypeError: must be int32"])).toBe("raised by `f`\n\n- Fix: it");
  expect(withoutHeadline(card, ["TypeError: must be int32 (rank0, rank1)"])).toBe("raised by `f`\n\n- Fix: it");
  expect(withoutHeadline("`` E: a`b ``  \nrest", ["E: a`b"])).toBe("rest");
});

it("leaves a card alone that says something else, or nothing more", () => {
  const card = "`TypeError: must be int32`  \nraised by `f`";
  expect(withoutHeadline(card, ["ValueError: other"])).toBe(card);
  expect(withoutHeadline(card, [])).toBe(card);
  expect(withoutHeadline("`E: x`", ["E: x"])).toBe("`E: x`");
  expect(withoutHeadline("plain text", ["plain text"])).toBe("plain text");
});
