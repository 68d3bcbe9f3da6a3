// Runs the stories in a real VS Code: `node e2e/run.mjs [STORY…]`. See the Makefile's `e2e`.
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { findChromium, NO_CHROMIUM } from "./chromium.mjs";
import { startEditor } from "./editor.mjs";
import { STORIES } from "./stories.mjs";

const CODE_SERVER = "4.100.3";

const repository = fileURLToPath(new URL("../..", import.meta.url));
const chromium = findChromium();
if (chromium === undefined) {
  console.error(NO_CHROMIUM);
  process.exit(1);
}
const vsix = readdirSync(join(repository, "dist")).find((name) => name.endsWith(`-${process.platform}-${process.arch}.vsix`));
if (vsix === undefined) {
  console.error("no extension is packaged for this platform: make vsix");
  process.exit(1);
}

const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !(name in STORIES));
if (unknown.length > 0) {
  console.error(`no such story: ${unknown.join(", ")}; there are: ${Object.keys(STORIES).join(", ")}`);
  process.exit(1);
}

const editor = join(repository, ".cache", `code-server-${CODE_SERVER}`);
execFileSync("bash", [fileURLToPath(new URL("install-editor.sh", import.meta.url)), editor, CODE_SERVER], { stdio: "inherit" });
const where = {
  chromium,
  editor,
  vsix: join(repository, "dist", vsix),
  shots: join(repository, "test-results", "e2e"),
  python: join(repository, ".venv", "bin", "python"),
};
mkdirSync(where.shots, { recursive: true });

// The browser's driver lists every try below what went wrong, in colour.
// eslint-disable-next-line no-control-regex -- colours are control characters
const firstLines = (text) => text.replaceAll(/\x1b\[\d+m/g, "").split("\n").slice(0, 3).join("\n");

let failed = 0;
for (const name of chosen.length > 0 ? chosen : Object.keys(STORIES)) {
  const began = Date.now();
  const seconds = () => `${((Date.now() - began) / 1000).toFixed(1)} s`;
  let started;
  try {
    await STORIES[name](async (options) => (started = await startEditor(where, options)), where);
    console.log(`ok      ${name} (${seconds()})`);
  } catch (error) {
    failed++;
    console.log(`FAILED  ${name} (${seconds()}): ${firstLines(error.message)}`);
    await started?.window.shot(`${name}-failed`).catch(() => undefined);
  } finally {
    await started?.stop();
  }
}
process.exit(failed === 0 ? 0 : 1);
