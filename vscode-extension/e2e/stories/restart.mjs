import assert from "node:assert/strict";
import process from "node:process";
import { processes, until } from "../editor.mjs";
import { SCATTER } from "../programs.mjs";

/** The server is killed: it comes back by itself, and by command. */
export async function restart(start) {
  const { window, home } = await start({ files: { "main.py": SCATTER } });
  await window.open("main.py");
  await window.squiggles().first().waitFor({ timeout: 60_000 });
  const servers = () => processes("launch.py server").filter((pid) => processes(home).includes(pid));
  const [first, ...others] = servers();
  assert.deepEqual(others, [], "one server");
  process.kill(first, "SIGKILL");
  const second = await until(() => servers().find((pid) => pid !== first), "a new server");
  await window.click("pool = torch", "torch");
  await window.keyboard.press("End");
  await window.keyboard.type("  # checked again");
  await carded(window);

  await window.command("Raiselens: Restart Server");
  await until(() => servers().some((pid) => pid !== second), "another server");
  await until(() => !servers().includes(second), "the old one is gone");
  assert.equal(servers().length, 1);
  await carded(window);
}

/** The card is shown again; while the server starts, the editor asks nobody. */
async function carded(window) {
  await until(async () => {
    await window.hover("launch_scatter_req_token_ids_kernel(", "launch_scatter");
    return window.card("stores 32-bit words").waitFor({ timeout: 3000 }).then(() => true, () => false);
  }, "the card", 60_000);
}
