import { SCATTER } from "../programs.mjs";

/** What is off until a setting asks for it: hints beside assignments, and findings in files that are not open. */
export async function settings(start) {
  const { window } = await start({
    files: { "open.py": SCATTER.replace("int64", "int32"), "deep/closed.py": SCATTER, "ignored/other.py": SCATTER, ".gitignore": "ignored/\n" },
    settings: { "raiselens.inlayHints": true, "raiselens.diagnosticMode": "workspace" },
  });
  await window.open("open.py");
  await window.line("pool: int32[8, 16] cpu = torch.zeros").waitFor({ timeout: 60_000 });

  const problems = await window.problems();
  await problems.filter({ hasText: "closed.py" }).first().waitFor({ timeout: 60_000 });
  await problems.filter({ hasText: "pool_out must be int32" }).waitFor();
  await window.shot("settings");

  // Opened and closed, it is told of once each time.
  await window.open("deep/closed.py");
  await window.squiggles().first().waitFor();
  await problems.filter({ hasText: "pool_out must be int32" }).waitFor();
  await window.command("View: Close All Editors");
  await problems.filter({ hasText: "closed.py" }).first().waitFor();
}
