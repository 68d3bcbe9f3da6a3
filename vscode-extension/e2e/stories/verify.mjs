import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { processes, until } from "../editor.mjs";
import { MESSAGE, SCATTER } from "../programs.mjs";

// Stands for a launcher that takes its time, such as a queue.
const SLOW = `#!/bin/sh
echo $$ > {ws}/launched
exec sleep 600
`;

/** From the lens: progress, then the card; then one that is cancelled, and whose process is gone. */
export async function verify(start, { python }) {
  const { window, workspace } = await start({
    files: { "main.py": SCATTER, "slow.sh": SLOW },
    settings: { "raiselens.python": python, "raiselens.verify.device": "cpu" },
  });
  await window.open("main.py");
  await window.hideSideBar();
  await window.squiggles().first().waitFor({ timeout: 60_000 });
  const lens = window.page.locator(".codelens-decoration a", { hasText: "verify on GPU" }).first();
  await lens.click();
  await window.toast("verifying").waitFor();
  await window.shot("verify-progress");
  const page = window.webview();
  await page.locator("h1", { hasText: "Verified" }).waitFor({ timeout: 400_000 });
  const said = await page.locator("main").innerText();
  assert.match(said, /CPU interpreter, not a GPU run/);
  assert.match(said, /Raised as predicted/);
  assert.ok(said.includes(MESSAGE));
  assert.match(said, /\bsglang\.\S+ was not run: .*No module named 'sglang'/i);
  assert.match(said, /Equal to the reference in every element, [1-9]\d+ cases/);
  assert.match(said, /sm_90/);
  await window.shot("verify-card");
  await window.command("View: Close All Editors in Group");

  // The choice of a launcher is remembered; its run is cancelled.
  await window.command("Raiselens: Choose Where to Verify");
  await window.page.locator(".quick-input-list .monaco-list-row", { hasText: "Launcher" }).first().click();
  await window.page.locator(".quick-input-widget", { hasText: "A command put before" }).waitFor();
  await window.page.locator(".quick-input-widget input[type=text]").fill(join(workspace, "slow.sh"));
  await window.keyboard.press("Enter");
  await window.page.locator(".quick-input-widget").waitFor({ state: "hidden" });
  await window.command("Raiselens: Verify the Bundled Scatter on GPU");
  const launched = join(workspace, "launched");
  await until(() => existsSync(launched) && readFileSync(launched, "utf8").trim() !== "", "the launcher runs", 30_000);
  const pid = Number(readFileSync(launched, "utf8"));
  assert.ok(processes("sleep 600").includes(pid));
  const toast = window.toast("verifying");
  await toast.waitFor();
  await toast.hover();
  await toast.locator("a", { hasText: "Cancel" }).click();
  await until(() => !processes("sleep 600").includes(pid), "the process is gone");
  await toast.waitFor({ state: "detached" });
}
