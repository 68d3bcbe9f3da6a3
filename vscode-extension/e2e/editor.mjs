// A real VS Code for one story: its own home, settings and workspace; served on a free port, driven in Chromium.
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { chromium } from "playwright-core";
import { Window } from "./window.mjs";

const SETTINGS = {
  "editor.cursorBlinking": "solid",
  "editor.fontFamily": "DejaVu Sans Mono, monospace",
  "editor.hover.delay": 100,
  "editor.inlineSuggest.enabled": false,
  "editor.minimap.enabled": false,
  "editor.occurrencesHighlight": "off",
  "editor.scrollBeyondLastLine": false,
  "editor.quickSuggestions": { other: "off", comments: "off", strings: "off" },
  "extensions.autoCheckUpdates": false,
  "extensions.autoUpdate": false,
  "extensions.ignoreRecommendations": true,
  "files.autoSave": "off",
  "files.hotExit": "off",
  "git.enabled": false,
  "security.workspace.trust.banner": "never",
  "security.workspace.trust.enabled": false,
  "security.workspace.trust.startupPrompt": "never",
  "telemetry.telemetryLevel": "off",
  "terminal.integrated.cursorBlinking": false,
  "terminal.integrated.defaultProfile.linux": "bash",
  "terminal.integrated.enablePersistentSessions": false,
  "terminal.integrated.fontFamily": "DejaVu Sans Mono, monospace",
  "terminal.integrated.gpuAcceleration": "off",
  "terminal.integrated.stickyScroll.enabled": false,
  "terminal.integrated.suggest.enabled": false,
  "update.mode": "none",
  "window.commandCenter": false,
  "window.menuBarVisibility": "compact",
  "workbench.colorTheme": "Default Light Modern",
  "workbench.enableExperiments": false,
  "workbench.hover.delay": 100,
  "workbench.reduceMotion": "on",
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "workbench.welcomePage.walkthroughs.openOnInstall": false,
};

const CHROMIUM = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-dev-shm-usage",
  "--no-first-run",
];

/**
 * Starts an editor with the packaged extension.
 *
 * `files` is the workspace, by path; `settings` come over the above, `machine` are settings of the machine; `folders`
 * names workspace folders for one of several roots; `trust` leaves the question of trust to the editor.
 */
export async function startEditor(where, { files, settings = {}, machine = {}, folders, trust = true }) {
  const home = mkdtempSync(join(tmpdir(), "raiselens-e2e-"));
  const workspace = join(home, "ws");
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(workspace, path)), { recursive: true });
    writeFileSync(join(workspace, path), text.replaceAll("{ws}", workspace), { mode: text.startsWith("#!") ? 0o755 : 0o644 });
  }
  let opened = `folder=${workspace}`;
  if (folders !== undefined) {
    const file = join(home, "two.code-workspace");
    writeFileSync(file, JSON.stringify({ folders: folders.map((path) => ({ path: join(workspace, path) })) }));
    opened = `workspace=${file}`;
  }
  mkdirSync(join(home, "data", "User"), { recursive: true });
  mkdirSync(join(home, "data", "Machine"), { recursive: true });
  const all = { ...SETTINGS, "security.workspace.trust.enabled": !trust, ...settings };
  writeFileSync(join(home, "data", "User", "settings.json"), JSON.stringify(all, undefined, 2));
  const interpreter = { "raiselens.interpreter": [where.python], ...machine };
  writeFileSync(join(home, "data", "Machine", "settings.json"), JSON.stringify(interpreter));
  writeFileSync(join(home, ".bashrc"), `PS1="\\$ "\nHISTFILE=\nPATH=${dirname(where.python)}:$PATH\n`);
  writeFileSync(join(home, "config.yaml"), "auth: none\n");

  const env = {
    ...process.env,
    HOME: home,
    SHELL: "/bin/bash",
    XDG_DATA_HOME: join(home, "data-home"),
    XDG_CONFIG_HOME: join(home, "config-home"),
    XDG_CACHE_HOME: join(home, "cache-home"),
    CS_DISABLE_GETTING_STARTED_OVERRIDE: "1",
  };
  delete env.VIRTUAL_ENV;
  const entry = join(where.editor, "node_modules/code-server/out/node/entry.js");
  const folder = ["--user-data-dir", join(home, "data"), "--extensions-dir", join(home, "ext"), "--config", join(home, "config.yaml")];
  execFileSync(process.execPath, [entry, ...folder, "--install-extension", where.vsix], { env, stdio: "ignore" });
  const port = await freePort();
  const flags = ["--auth", "none", "--disable-telemetry", "--disable-update-check", "--disable-getting-started-override"];
  const trusting = trust ? ["--disable-workspace-trust"] : [];
  const server = spawn(process.execPath, [entry, ...folder, "--bind-addr", `127.0.0.1:${port}`, ...flags, ...trusting], {
    env,
    stdio: "ignore",
  });
  await until(() => answers(`http://127.0.0.1:${port}/healthz`), "the editor's server", 60_000);

  const profile = join(home, "chromium");
  const browser = await chromium.launchPersistentContext(profile, {
    executablePath: where.chromium,
    headless: true,
    viewport: { width: 1280, height: 800 },
    args: CHROMIUM,
  });
  await browser.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = browser.pages()[0] ?? (await browser.newPage());
  page.setDefaultTimeout(30_000);
  const outside = new Set();
  page.on("request", (request) => {
    const { hostname } = new URL(request.url());
    if (hostname !== "" && hostname !== "127.0.0.1") {
      outside.add(request.url().slice(0, 100));
    }
  });
  await page.goto(`http://127.0.0.1:${port}/?${opened}`);
  await page.locator(".monaco-workbench").waitFor({ timeout: 60_000 });
  await page.locator(".explorer-folders-view .monaco-list-row").first().waitFor({ timeout: 60_000 });

  const stop = async () => {
    await browser.close();
    server.kill();
    await Promise.race([new Promise((resolve) => server.once("exit", resolve)), pause(5000)]);
    server.kill("SIGKILL");
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  };
  return { window: new Window(page, where.shots), workspace, home, outside, stop };
}

/** Processes whose command line holds `text`, by id. */
export function processes(text) {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").includes(text);
      } catch {
        return false;
      }
    })
    .map(Number);
}

export async function until(found, what, milliseconds = 40_000) {
  const end = Date.now() + milliseconds;
  for (;;) {
    const value = await found();
    if (value) {
      return value;
    }
    if (Date.now() > end) {
      throw new Error(`timed out: ${what}`);
    }
    await pause(50);
  }
}

export const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function answers(url) {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
