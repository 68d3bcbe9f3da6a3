import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { SCATTER } from "../programs.mjs";

// Whatever the workspace names or brings must not be started.
const EVIL = `#!/bin/sh
touch {ws}/started
exec python3 "$@"
`;

/** A workspace that is not trusted: findings and fixes as ever; nothing of it is run. */
export async function untrusted(start) {
  const { window, workspace } = await start({
    files: {
      "main.py": SCATTER,
      "evil.sh": EVIL,
      ".venv/bin/python": EVIL,
      ".venv/pyvenv.cfg": "home = /usr/bin\n",
      "pyproject.toml": '[tool.raiselens]\npython = "{ws}/evil.sh"\nlauncher = "{ws}/evil.sh"\n',
      ".vscode/settings.json": '{"raiselens.interpreter": ["{ws}/evil.sh"], "raiselens.python": "{ws}/evil.sh", "raiselens.launcher": "{ws}/evil.sh"}',
    },
    machine: { "raiselens.interpreter": [] },
    trust: false,
  });
  await window.open("main.py");
  await window.squiggles().first().waitFor({ timeout: 60_000 });
  const lenses = window.page.locator(".codelens-decoration a");
  await lenses.filter({ hasText: "explain" }).waitFor();
  assert.equal(await lenses.filter({ hasText: "verify" }).count(), 0);

  await window.command("Raiselens: Verify the Bundled Scatter on GPU");
  await window.toast("runs nothing in a workspace that is not trusted").waitFor();
  await window.shot("untrusted");
  assert.ok(!existsSync(join(workspace, "started")), "nothing of the workspace was started");
}
