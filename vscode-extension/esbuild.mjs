// Bundles the extension into dist/extension.js. `--watch` keeps doing so.
import process from "node:process";
import { build, context } from "esbuild";

const options = {
  entryPoints: ["src/extension.ts"],
  outfile: "dist/extension.js",
  bundle: true,
  external: ["vscode"],
  format: "cjs",
  platform: "node",
  target: "node20",
  minify: process.argv.includes("--minify"),
  sourcemap: process.argv.includes("--minify") ? false : "linked",
  legalComments: "linked",
  logLevel: "warning",
};

if (process.argv.includes("--watch")) {
  await (await context(options)).watch();
} else {
  await build(options);
}
