import assert from "node:assert/strict";
import { LOG, MESSAGE, SCATTER } from "../programs.mjs";

/** A log of two ranks: one folded diagnostic with its page, and frames that lead to the lines they name. */
export async function log(start) {
  const { window } = await start({ files: { "main.py": SCATTER, "serve.log": LOG } });
  await window.open("serve.log");
  await window.squiggles().first().waitFor({ timeout: 60_000 });
  const problems = await window.problems();
  const rows = (await problems.allInnerTexts()).filter((row) => row.includes(MESSAGE));
  assert.equal(rows.length, 1, "two ranks are one diagnostic");
  assert.match(rows[0], /rank0, rank1/);
  await window.keyboard.press("Control+J");

  await window.hover("rank0]: TypeError", "TypeError");
  await window.card("stores 32-bit words").waitFor();
  await window.shot("log-hover");

  await window.keyboard.press("Escape");
  const frame = window.page.locator(".monaco-editor .detected-link", { hasText: "main.py" }).first();
  await frame.waitFor();
  await window.followLink(frame);
  await window.line("pool = torch.zeros").waitFor();
  await window.page.locator(".editor-statusbar-item, .statusbar-item", { hasText: "Ln 8" }).first().waitFor();
  await window.shot("log-followed");
}
