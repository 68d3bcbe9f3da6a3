import assert from "node:assert/strict";

/** The walkthrough in a high-contrast theme: from it the demo file, its fix, its page and the tree, by keyboard. */
export async function walkthrough(start) {
  const { window } = await start({
    files: { "main.py": "x = 1\n" },
    settings: { "workbench.colorTheme": "Default High Contrast" },
  });
  await window.command("Welcome: Open Walkthrough");
  await window.page.locator(".quick-input-list .monaco-list-row", { hasText: "See the raise before it happens" }).click();
  const steps = window.page.locator(".gettingStartedContainer .getting-started-step");
  await steps.first().waitFor();
  assert.equal(await steps.count(), 4);
  const demo = window.page.locator(".gettingStartedContainer").getByText("Open the demo file", { exact: true });
  await demo.waitFor();
  await window.shot("walkthrough");
  await demo.click();
  await window.squiggles().first().waitFor({ timeout: 60_000 });
  await window.page.locator(".tab.active", { hasText: "raiselens_demo.py" }).waitFor();

  await window.keyboard.press("F8");
  await window.shot("contrast-problem");
  await window.keyboard.press("Escape");
  await window.page.locator(".codelens-decoration a", { hasText: "explain" }).first().click();
  await window.webview().locator("h1", { hasText: "pool_out must be int32" }).waitFor();
  await window.command("Explorer: Focus on Raised Errors View");
  const tree = window.page.locator(".pane", { hasText: "Raised Errors" }).locator(".monaco-list-row");
  await tree.filter({ hasText: "raiselens_demo.py" }).waitFor();
  await window.shot("contrast-page");
  await window.command("Raiselens: Insert the Fix");
  await window.squiggles().first().waitFor({ state: "detached" });
}
