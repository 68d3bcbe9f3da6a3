import { describe, expect, it } from "vitest";
import { card, readVerified, verdict } from "../src/core/verified";

const REPORT = {
  schema: 1,
  ok: true,
  device: { kind: "cuda", name: "NVIDIA H200" },
  versions: { torch: "2.13.0", triton: "3.9.0" },
  before: { class: "TypeError", message: "pool_out must be int32, got torch.int64", as_predicted: true },
  after: { ok: true, cases: 24, mismatches: 0 },
  compiled: ["sm_90"],
  timing: { us: 61.2, copy_us: 52.5, share: 0.86, launch_us: 4.1 },
  target: ["raiselens_kernel.scatter.launch"],
  notes: [],
};

describe("the card", () => {
  it("of a GPU run tells device, before, after and time", () => {
    const text = card(readVerified(REPORT));
    expect(text).toContain("✓ Verified");
    expect(text).toContain("NVIDIA H200");
    expect(text).toContain("✓ Raised as predicted:\n\n```text\nTypeError: pool_out must be int32, got torch.int64");
    expect(text).toContain("✓ Equal to the reference in every element, 24 cases.");
    expect(text).toContain("| 61.2 µs | 52.5 µs | 86 % | 4.1 µs |");
    expect(text).not.toContain("not a GPU run");
  });

  it("of the interpreter never reads like a GPU run", () => {
    const given = { ...REPORT, device: { kind: "interpreter", name: "NVIDIA H200" }, timing: null };
    expect(card(readVerified(given))).toContain("**CPU interpreter, not a GPU run**");
    expect(card(readVerified(given))).not.toContain("H200");
    expect(verdict(readVerified(given))).toContain("CPU interpreter, not a GPU run");
  });

  it("claims no comparison where there was none", () => {
    const given = { ...REPORT, after: { ok: true, cases: 1, mismatches: 0, compared: false } };
    expect(card(readVerified(given))).toContain("✓ Ran; there is no reference to compare with.");
    expect(card(readVerified(given))).not.toContain("Equal to the reference");
    const failed = { ...given, after: { ok: false, cases: 1, mismatches: 1, compared: false, worst: "ValueError: no" } };
    expect(card(readVerified(failed))).toContain("✗ Did not run.\n\n```text\nValueError: no");
  });

  it("tells what failed", () => {
    const given = {
      ...REPORT,
      ok: false,
      before: { class: "", message: "", as_predicted: false },
      after: { ok: false, cases: 24, mismatches: 2, worst: "row 3: 7, expected 9" },
    };
    const text = card(readVerified(given));
    expect(text).toContain("✗ Not as predicted:\n\n```text\nnothing was raised");
    expect(text).toContain("✗ 2 of 24 cases differ from the reference.\n\n```text\nrow 3: 7, expected 9");
    expect(verdict(readVerified(given))).toBe("Verification failed on NVIDIA H200");
  });

  it("tells why nothing ran", () => {
    const refused = readVerified({ schema: 1, ok: false, error: { kind: "no-torch", reason: "torch is missing" } });
    expect(card(refused)).toBe("# Not verified\n\ntorch is missing\n");
    expect(verdict(refused)).toBe("Not verified");
    expect(readVerified(null).kind).toBe("not-run");
    expect(card(readVerified({ ...REPORT, before: null, after: null }))).toContain("no repaired call could be run");
  });
});
