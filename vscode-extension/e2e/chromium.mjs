// Where Chromium is: `node e2e/chromium.mjs` prints it, and fails with one line where there is none.
import { existsSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export const NO_CHROMIUM = "no Chromium is found: apt-get install chromium, or set CHROMIUM";

export function findChromium() {
  return [process.env.CHROMIUM, ...PLACES].find((path) => path !== undefined && existsSync(path));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const found = findChromium();
  if (found === undefined) {
    console.error(NO_CHROMIUM);
    process.exit(1);
  }
  console.log(found);
}
