import assert from "node:assert/strict";
import { SCATTER } from "../programs.mjs";

/** Two roots, one with settings of its own: one server, each folder by its own rules. */
export async function roots(start) {
  const { window } = await start({
    files: {
      "loud/loud.py": SCATTER,
      "quiet/quiet.py": SCATTER,
      "quiet/.vscode/settings.json": '{"raiselens.ignore": ["kv-canary-*"]}',
    },
    folders: ["loud", "quiet"],
  });
  await window.open("quiet/quiet.py");
  await window.open("loud/loud.py");
  await window.squiggles().first().waitFor({ timeout: 60_000 });
  const problems = await window.problems();
  await problems.filter({ hasText: "must be int32" }).waitFor();
  const rows = await problems.allInnerTexts();
  assert.equal(rows.filter((row) => row.includes("must be int32")).length, 1);
  assert.ok(!rows.some((row) => row.includes("quiet.py")));
  await window.shot("roots");
}
