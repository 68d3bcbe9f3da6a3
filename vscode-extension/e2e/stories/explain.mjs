import { LOG, MESSAGE } from "../programs.mjs";

/** What was printed elsewhere: a log, a selection in it, the clipboard. */
export async function explain(start) {
  const { window } = await start({ files: { "serve.log": LOG.replaceAll("{ws}", "/srv/app") } });
  await window.open("serve.log");
  await window.squiggles().first().waitFor({ timeout: 60_000 });
  const page = window.webview();

  await window.command("Raiselens: Explain This Log");
  await page.locator("main", { hasText: "in rank0, rank1" }).waitFor();
  await page.locator("h2", { hasText: "Solutions" }).waitFor();
  await window.shot("explain");

  await window.click("rank0]: TypeError", "TypeError");
  await window.keyboard.press("Home");
  await window.keyboard.press("Shift+End");
  await window.command("Raiselens: Explain Selection");
  await page.locator("main", { hasText: "line 1 of the text" }).waitFor();

  await window.page.evaluate((text) => globalThis.navigator.clipboard.writeText(text), `after ten minutes:\n\n${MESSAGE}\n`);
  await window.command("Raiselens: Explain Clipboard");
  await page.locator("main", { hasText: "line 3 of the text" }).waitFor();

  await window.page.evaluate(() => globalThis.navigator.clipboard.writeText("all is well"));
  await window.command("Raiselens: Explain Clipboard");
  await window.toast("no error was found in the clipboard").waitFor();
}
