import assert from "node:assert/strict";
import { until } from "../editor.mjs";
import { SCATTER } from "../programs.mjs";

/** The record page beside the editor, its related errors and its fix; the search; the tree of raised errors. */
export async function records(start) {
  const { window } = await start({
    files: { "main.py": SCATTER },
    settings: { "files.autoSave": "afterDelay", "files.autoSaveDelay": 100 },
  });
  await window.open("main.py");
  await window.squiggles().first().waitFor({ timeout: 60_000 });
  await window.page.locator(".codelens-decoration a", { hasText: "explain" }).first().click();
  const page = window.webview();
  await page.locator("h1", { hasText: "pool_out must be int32" }).waitFor();
  await page.locator("h2", { hasText: "Solutions" }).waitFor();
  await window.shot("record-page");

  await page.locator("a", { hasText: "offsets must be int64" }).first().click();
  await page.locator("h1", { hasText: "offsets must be int64" }).waitFor();
  await page.locator("button", { hasText: "Back" }).click();
  await page.locator("h1", { hasText: "pool_out must be int32" }).waitFor();
  await page.locator("button", { hasText: "Insert Fix" }).click();
  await until(async () => (await window.text()).includes("dtype=torch.int32"), "the fix is inserted");
  await until(async () => (await window.squiggles().count()) === 0, "the finding is gone");
  await until(async () => (await window.page.locator(".codelens-decoration a").count()) === 0, "its lenses are gone");
  await until(async () => (await window.page.locator(".tab.dirty").count()) === 0, "the file is saved");
  await window.command("View: Close All Editors");

  await window.search("req_pool_indices int64");
  const hit = window.page.locator(".quick-input-list .monaco-list-row", { hasText: "req_pool_indices must be int64" });
  await hit.first().waitFor();
  await window.shot("search");
  await window.keyboard.press("Enter");
  await window.webview().locator("h1", { hasText: "req_pool_indices" }).waitFor();
  await window.command("View: Close All Editors");

  await window.command("Raiselens: Open the Demo File");
  await window.squiggles().first().waitFor();
  await window.page.locator(".pane-header", { hasText: "Raised Errors" }).click();
  const tree = window.page.locator(".pane", { hasText: "Raised Errors" }).locator(".monaco-list-row");
  await tree.filter({ hasText: "pool_out must be int32" }).waitFor();
  await tree.filter({ hasText: "foreseen" }).waitFor();
  await window.shot("tree");
  assert.equal(await tree.count(), 2);
}
