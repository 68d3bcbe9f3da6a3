import { until } from "../editor.mjs";

const LIBRARY = `def pack(bits):
    if bits not in (4, 8):
        raise ValueError(f"rarelib: can pack 4 or 8 bits, not {bits}")
`;

/** A catalog built of a library: its errors are found by the search from then on. */
export async function build(start) {
  const { window } = await start({ files: { "main.py": "x = 1\n", "lib/rarelib/__init__.py": LIBRARY } });
  await window.open("main.py");
  await window.command("Raiselens: Build a Catalog of Libraries");
  await window.page.locator(".quick-input-widget", { hasText: "Installed libraries" }).waitFor();
  await window.page.locator(".quick-input-widget input[type=text]").fill("./lib");
  await window.keyboard.press("Enter");
  await window.toast("1 record from 1 file").waitFor({ timeout: 60_000 });
  await window.shot("build");

  await window.search("pack bits");
  const hit = window.page.locator(".quick-input-list .monaco-list-row", { hasText: "can pack 4 or 8 bits" });
  await hit.first().waitFor();
  await window.keyboard.press("Enter");
  await window.webview().locator("h1", { hasText: "rarelib" }).waitFor();
  await until(async () => (await window.webview().locator("main").innerText()).includes("bits not in (4, 8)"), "its guard");
}
