import assert from "node:assert/strict";
import { until } from "../editor.mjs";
import { FIX, MESSAGE, SCATTER } from "../programs.mjs";

/** The pool of the wrong dtype: underlined, explained, repaired from the light bulb. */
export async function int64(start) {
  const { window, outside } = await start({ files: { "main.py": SCATTER } });
  await window.open("main.py");
  await window.hideSideBar();
  await window.squiggles().first().waitFor({ timeout: 60_000 });

  // One finding, at the call; its related places lead to the allocation and to the guard.
  const problems = await window.problems();
  await problems.filter({ hasText: MESSAGE }).waitFor();
  const rows = await problems.allInnerTexts();
  assert.equal(rows.filter((row) => row.includes(MESSAGE)).length, 1);
  await problems.filter({ hasText: MESSAGE }).click({ position: { x: 90, y: 8 } }); // beside the link to the rule
  await window.keyboard.press("ArrowRight");
  const guard = problems.filter({ hasText: "pool_out.dtype != torch.int32" });
  await guard.filter({ hasText: "scatter_req_token_ids.py" }).waitFor();
  await window.shot("int64-problems");
  await problems.filter({ hasText: "gets int64 here" }).click();
  await window.page.locator(".statusbar-item", { hasText: "Ln 7, Col 47 (39 selected)" }).first().waitFor();
  await window.keyboard.press("Control+J");

  // The card.
  await window.click("flat_in = torch", "torch");
  await window.hover("pool_out=pool", "launch_scatter");
  const card = window.card("stores 32-bit words");
  await card.waitFor();
  const said = await card.innerText();
  assert.match(said, /scatter_req_token_ids pool_out must be int32, got torch\.int64/);
  assert.match(said, /Allocate pool as torch\.int32/);
  await window.shot("int64-hover");

  // The light bulb: the safe fix is first, and mends the allocation.
  await window.click("pool_out=pool", "launch_scatter");
  const bulb = await window.lightBulb(FIX);
  assert.equal(bulb.titles[0], FIX);
  assert.ok(bulb.titles.some((title) => title.includes("Verify on GPU")), bulb.titles.join(", "));
  await window.shot("int64-bulb");
  await bulb.choose();
  await until(async () => (await window.text()).includes("dtype=torch.int32"), "the allocation is int32");
  await until(async () => (await window.squiggles().count()) === 0, "the finding is gone");
  await window.shot("int64-fixed");

  // Undone, it is back.
  await window.keyboard.press("Control+Z");
  await window.squiggles().first().waitFor();
  assert.deepEqual([...outside], [], "nothing outside this machine is asked for anything");
}
