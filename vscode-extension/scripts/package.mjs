// Packages the extension for one platform: `node scripts/package.mjs [TARGET]`, with TARGET one of vsce's.
//
// One commit gives one file, byte for byte: dependencies are pinned, entries sorted, and all their times are one.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, statSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";

const EPOCH = "1767225600"; // 2026-01-01
const extension = fileURLToPath(new URL("..", import.meta.url));
const repository = fileURLToPath(new URL("../..", import.meta.url));
const target = process.argv[2] || `${process.platform}-${process.arch}`;
const python = process.env.PYTHON ?? `${repository}.venv/bin/python`;
const { version } = JSON.parse(readFileSync(`${extension}package.json`, "utf8"));
const output = `${repository}dist/raiselens-${version}-${target}.vsix`;

const run = (program, ...args) =>
  execFileSync(program, args, {
    cwd: extension,
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, SOURCE_DATE_EPOCH: EPOCH, TZ: "UTC", LC_ALL: "C" },
  });

mkdirSync(`${repository}dist`, { recursive: true });
copyFileSync(`${repository}LICENSE`, `${extension}LICENSE`);
run(python, "scripts/bundle.py", target);
run(process.execPath, "esbuild.mjs", "--minify");
run("node_modules/.bin/vsce", "package", "--no-dependencies", "--allow-missing-repository", "--no-rewrite-relative-links", "--target", target, "--out", output);

const size = (statSync(output).size / 1e6).toFixed(1);
const sum = createHash("sha256").update(readFileSync(output)).digest("hex");
console.log(`dist/raiselens-${version}-${target}.vsix: ${size} MB, sha256 ${sum}`);
