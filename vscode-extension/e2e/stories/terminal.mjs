import assert from "node:assert/strict";
import { until } from "../editor.mjs";
import { MESSAGE, TRAIN, TRAIN_MESSAGE } from "../programs.mjs";

/** A script that fails in the terminal: link, tooltip, a diagnostic in the source, its fix; success clears it. */
export async function terminal(start) {
  // The rule is not shown while typing, so that all that is seen here comes from the terminal.
  const { window } = await start({ files: TRAIN, settings: { "raiselens.ignore": ["pool-must-be-int32"] } });
  await window.open("train.py");
  await window.openTerminal();
  await window.type("sleep 0.3; python train.py fail");
  await window.inTerminal(TRAIN_MESSAGE);

  await window.squiggles().first().waitFor({ timeout: 30_000 });
  assert.equal(await window.squiggles().count(), 1);

  await window.prompt();
  const tooltip = window.card("Fix: Allocate pool as torch.int32");
  await window.pointAt(TRAIN_MESSAGE, tooltip);
  assert.match((await tooltip.innerText()).replaceAll("\u00a0", " "), /^TypeError: pool must be int32, got torch\.int64/);
  await window.shot("terminal-tooltip");

  await window.followTerminalLink('train.py", line 10');
  await window.page.locator(".statusbar-item", { hasText: "Ln 10" }).first().waitFor();

  await window.followTerminalLink(TRAIN_MESSAGE);
  await window.webview().locator("main", { hasText: "Allocate `pool` as torch.int32" }).waitFor();
  await window.command("View: Close All Editors");

  await window.open("train.py");
  await window.click("store(pool)", "pool");
  const bulb = await window.lightBulb("Allocate `pool` as torch.int32");
  await window.shot("terminal-bulb");
  await bulb.choose();
  await until(async () => (await window.text()).includes("dtype=torch.int32"), "the allocation is int32");
  await until(async () => (await window.squiggles().count()) === 0, "the diagnostic goes with the repair");

  // Undone and not saved, it fails no more once the repair is on disk.
  await window.keyboard.press("Control+Z");
  await window.type("sleep 0.3; python train.py fail");
  await window.squiggles().first().waitFor({ timeout: 30_000 });
  await window.type("sed -i s/int64/int32/ train.py");
  await window.type("sleep 0.3; python train.py fail");
  await until(async () => (await window.squiggles().count()) === 0, "success clears the diagnostic", 30_000);

  // A line alone, from wherever it came, leads to its record.
  await window.type(`echo "${MESSAGE}"`);
  await window.followTerminalLink(MESSAGE);
  await window.webview().locator("h1", { hasText: "pool_out must be int32" }).waitFor();
  await window.shot("terminal-record");
}
