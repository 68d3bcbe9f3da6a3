// One person's visit to the site, in real Chromium: `node site.mjs URL CHROMIUM`. Each step asserts; any message on the
// console, failed request or accessibility violation fails it. Prints one line a step.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const [url, executablePath] = process.argv.slice(2);
const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const RECORD = "77c238349aca21f2";

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const complaints = [];

async function visit(options, story) {
  const context = await browser.newContext(options);
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: new URL(url).origin });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  page.on("console", (message) => complaints.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("requestfailed", (request) => complaints.push(`failed: ${request.url()}`));
  page.on("response", (response) => response.status() < 400 || complaints.push(`${response.status()}: ${response.url()}`));
  await story(page);
  await context.close();
  assert.deepEqual(complaints, []);
}

async function step(name, action) {
  await action();
  console.log(name);
}

async function accessible(page) {
  await page.addScriptTag({ path: axe });
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]), [], page.url());
}

try {
  await visit({}, async (page) => {
    await page.goto(`${url}/index.html`);
    await step("search finds the error of a message", async () => {
      await page.getByRole("searchbox").fill("pool_out int32");
      await page.locator("#results a").first().waitFor();
      assert.match(await page.locator("#results a").first().textContent(), /pool_out must be int32/);
      assert.match(await page.locator("#results p").textContent(), /^\d+ found/);
    });
    await step("a whole pasted message finds its error", async () => {
      const pasted = "TypeError: kv-canary: scatter_req_token_ids pool_out must be int32, got torch.int64";
      await page.getByRole("searchbox").fill(pasted);
      await page.waitForFunction(() => /pool_out must be int32/.test(document.querySelector("#results a")?.textContent));
    });
    await step("what is not there is told", async () => {
      await page.getByRole("searchbox").fill("xyzzyplugh");
      await page.getByText("Nothing found.").waitFor();
    });
    await step("Enter opens the first result", async () => {
      await page.getByRole("searchbox").fill("pool_out int32");
      await page.waitForFunction(() => /pool_out must be int32/.test(document.querySelector("#results a")?.textContent));
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/errors\//);
      assert.match(await page.locator("h1").textContent(), /pool_out must be int32/);
    });
    await step("the fix is copied", async () => {
      const block = page.locator("section", { has: page.getByRole("heading", { name: "Example fix" }) });
      await block.getByRole("button", { name: "Copy" }).click();
      await block.getByRole("button", { name: "Copied" }).waitFor();
      const copied = await page.evaluate(() => navigator.clipboard.readText());
      assert.equal(copied, await block.locator("code").textContent());
    });
    await step("a related error is followed", async () => {
      const section = page.locator("section", { has: page.getByRole("heading", { name: "Related errors" }) });
      const link = section.getByRole("link").first();
      const title = await link.textContent();
      await link.click();
      await page.waitForURL((address) => !address.href.includes(RECORD));
      assert.equal(await page.locator("h1").textContent(), title);
      await page.goBack();
    });
    await step("the data is the record's JSON", async () => {
      await page.goto(`${url}/errors/${RECORD}.html`);
      const href = await page.getByRole("link", { name: "Data as JSON" }).getAttribute("href");
      const data = await page.evaluate(async (path) => (await fetch(path)).json(), href);
      assert.equal(data.record.id, RECORD);
    });
    await step("the keyboard reaches everything, and is seen there", async () => {
      await page.goto(`${url}/errors/${RECORD}.html`);
      await page.keyboard.press("Tab");
      assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the content");
      await page.keyboard.press("Enter");
      assert.match(page.url(), /#content$/);
      const reached = new Set();
      for (let count = 0; count < 200; count += 1) {
        await page.keyboard.press("Tab");
        const at = await page.evaluate(() => {
          const node = document.activeElement;
          const { outlineStyle } = getComputedStyle(node);
          return { name: node.tagName + (node.href ?? node.textContent), seen: outlineStyle !== "none", body: node === document.body };
        });
        if (at.body) break;
        assert.ok(at.seen, `no outline: ${at.name}`);
        reached.add(at.name);
      }
      const wanted = await page.$$eval("main a, main button", (nodes) => nodes.map((node) => node.tagName + (node.href ?? node.textContent)));
      assert.deepEqual(wanted.filter((name) => !reached.has(name)), []);
    });
  });
  for (const colorScheme of ["light", "dark"]) {
    await step(`axe finds nothing on ${colorScheme} pages`, () =>
      visit({ colorScheme }, async (page) => {
        for (const path of ["index.html", `errors/${RECORD}.html`, "repos/pytorch-pytorch.html"]) {
          await page.goto(`${url}/${path}`);
          await accessible(page);
        }
        await page.getByRole("searchbox").fill("cuda");
        await page.locator("#results a").first().waitFor();
        await accessible(page);
      }),
    );
  }
  await step("a narrow screen needs no sideways scrolling", () =>
    visit({ viewport: { width: 360, height: 640 } }, async (page) => {
      for (const path of ["index.html", `errors/${RECORD}.html`]) {
        await page.goto(`${url}/${path}`);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), path);
      }
    }),
  );
  await step("pages read without JavaScript", () =>
    visit({ javaScriptEnabled: false }, async (page) => {
      await page.goto(`${url}/index.html`);
      await page.getByRole("link", { name: /sgl-project/ }).click();
      await page.getByRole("link", { name: /pool_out must be int32/ }).click();
      for (const name of ["What it means", "Solutions", "Example fix", "Related errors"]) {
        await page.getByRole("heading", { name }).waitFor();
      }
    }),
  );
} finally {
  await browser.close();
}
