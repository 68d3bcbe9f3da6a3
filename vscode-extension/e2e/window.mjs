// What a user does in the window, and what they see there.
import { pause, until } from "./editor.mjs";

export class Window {
  constructor(page, shots) {
    this.page = page;
    this.shots = shots;
    this.keyboard = page.keyboard;
  }

  /** A picture for people; stories are judged by what they assert. */
  async shot(name) {
    // What was just opened fades in.
    await pause(400);
    await this.page.screenshot({ path: `${this.shots}/${name}.png` });
  }

  /** More room for what a picture is about. */
  async hideSideBar() {
    await this.keyboard.press("Control+B");
    await this.page.locator(".explorer-folders-view").first().waitFor({ state: "hidden" });
  }

  async command(title) {
    await this.pick(`>${title}`, title);
  }

  /** Opens a file of the workspace from the explorer; searching for it would take ripgrep. */
  async open(path) {
    const row = (name) => this.page.locator(`.explorer-folders-view .monaco-list-row[aria-label^="${name}"]`).first();
    const names = path.split("/");
    const file = names.pop();
    for (const folder of names) {
      if ((await row(folder).getAttribute("aria-expanded")) === "false") {
        await row(folder).click();
      }
    }
    await row(file).dblclick();
    await this.page.locator(".tab.active", { hasText: file }).first().waitFor();
    await this.page.locator(".monaco-editor .view-line").first().waitFor();
  }

  async pick(typed, shown, keys = "F1") {
    const input = this.page.locator(".quick-input-widget input[type=text]");
    // A key that comes while the window is still taking up the last one is lost; and what is listed is what there was
    // when the list was opened.
    const row = this.page.locator(".quick-input-list .monaco-list-row", { hasText: shown }).first();
    await until(async () => {
      await this.keyboard.press(keys);
      const opened = await input.waitFor({ timeout: 2000 }).then(() => true, () => false);
      if (!opened) {
        return false;
      }
      await input.fill(typed);
      const listed = await row.waitFor({ timeout: 5000 }).then(() => true, () => false);
      if (!listed) {
        await this.keyboard.press("Escape");
      }
      return listed;
    }, `${shown} to pick`, 60_000);
    await this.keyboard.press("Enter");
  }

  /** Types words into the search of the catalog. */
  async search(words) {
    await this.command("Raiselens: Search the Catalog");
    const input = this.page.locator(".quick-input-widget input[type=text]");
    await until(async () => (await input.getAttribute("placeholder"))?.includes("Words of an error"), "the search");
    await input.fill(words);
  }

  squiggles(kind = "error") {
    return this.page.locator(`.monaco-editor .squiggly-${kind}`);
  }

  line(text) {
    return this.page.locator(".monaco-editor .view-line", { hasText: text }).first();
  }

  async text() {
    const lines = await this.page.locator(".monaco-editor .view-line").allInnerTexts();
    return lines.map((line) => line.replaceAll("\u00a0", " ")).join("\n");
  }

  /** Puts the cursor on a word of a line. */
  async click(line, word) {
    await this.word(line, word).click();
    // The card of what the pointer rests on would cover what comes next.
    await this.page.mouse.move(900, 700);
    await until(async () => (await this.page.locator(".monaco-hover:visible").count()) === 0, "the card goes");
  }

  word(line, word) {
    return this.line(line).locator("span > span", { hasText: word }).first();
  }

  async hover(line, word) {
    await this.page.mouse.move(900, 700);
    await this.word(line, word).hover();
  }

  card(text) {
    return this.page.locator(".monaco-hover:visible", { hasText: text }).first();
  }

  /** The light bulb's menu at the cursor. */
  async lightBulb(title) {
    const bulb = this.page.locator(".lightBulbWidget:visible, [class*=codicon-gutter-lightbulb]:visible").first();
    // The bulb of the line where the cursor was before stays for a moment.
    await until(async () => {
      const [at, cursor] = await Promise.all([bulb.boundingBox(), this.page.locator(".cursor").first().boundingBox()]);
      return at !== null && cursor !== null && Math.abs(at.y - cursor.y) < 1.5 * cursor.height;
    }, "a light bulb at the cursor");
    await bulb.click();
    const item = this.page.locator(".action-widget .monaco-list-row.action", { hasText: title }).first();
    await item.waitFor();
    return {
      titles: await this.page.locator(".action-widget .monaco-list-row.action").allInnerTexts(),
      choose: async () => {
        // The first move of the pointer takes away what blocks it; a click that comes sooner closes the menu.
        const box = await item.boundingBox();
        await this.page.mouse.move(box.x + 30, box.y + box.height / 2, { steps: 4 });
        await this.page.locator(".context-view-pointerBlock").waitFor({ state: "hidden" });
        await this.page.locator(".action-widget .monaco-list-row.focused", { hasText: title }).waitFor();
        await item.click();
      },
    };
  }

  /** The quick fixes at the cursor, by keyboard; the first is taken. */
  async quickFix(title) {
    const item = this.page.locator(".action-widget .monaco-list-row.action.focused", { hasText: title });
    await until(async () => {
      await this.keyboard.press("Control+.");
      return item.waitFor({ timeout: 3000 }).then(() => true, () => false);
    }, `the quick fix ${title}`);
    await this.keyboard.press("Enter");
  }

  async problems() {
    const panel = this.page.locator(".markers-panel-container");
    if (!(await panel.isVisible())) {
      await this.keyboard.press("Control+Shift+M");
      await panel.waitFor();
    }
    return panel.locator(".monaco-list-row");
  }

  toast(text) {
    return this.page.locator(".notifications-toasts .notification-list-item", { hasText: text }).first();
  }

  /** The page in a webview: the frame inside the frame. */
  webview() {
    return this.page.frameLocator("iframe.webview.ready").first().frameLocator("iframe#active-frame");
  }

  /** Follows a link in the editor with Ctrl and the mouse. */
  async followLink(link) {
    const box = await link.boundingBox();
    await this.keyboard.down("Control");
    await this.page.mouse.move(box.x + 15, box.y + box.height / 2);
    await this.page.mouse.move(box.x + 25, box.y + box.height / 2, { steps: 4 });
    await this.page.mouse.click(box.x + 25, box.y + box.height / 2);
    await this.keyboard.up("Control");
  }

  terminalRows() {
    return this.page.locator(".terminal-wrapper.active .xterm-rows > div");
  }

  async openTerminal() {
    await this.command("Terminal: Create New Terminal");
    await this.prompt();
  }

  /** The command before has ended: what is typed sooner moves the rows. */
  async prompt() {
    await until(async () => {
      const rows = (await this.terminalRows().allInnerTexts()).map((row) => row.trim());
      return rows.findLast((row) => row !== "") === "$";
    }, "a prompt", 120_000);
  }

  async type(command) {
    await this.prompt();
    await this.page.locator(".terminal-wrapper.active .xterm-helper-textarea").focus();
    await this.keyboard.type(command);
    await this.keyboard.press("Enter");
  }

  /** The place on the screen of some text that the terminal printed, its last occurrence. */
  async inTerminal(text) {
    const wanted = text.replaceAll(" ", "\u00a0");
    const find = async () => {
      const rows = (await this.terminalRows().allInnerTexts()).map((row) => row.replaceAll(" ", "\u00a0"));
      const row = rows.findLastIndex((shown) => shown.includes(wanted));
      return row < 0 ? undefined : { row, column: rows[row].indexOf(wanted) };
    };
    const { row, column } = await until(find, `the terminal prints ${text}`, 60_000);
    const box = await this.terminalRows().nth(row).boundingBox();
    const screen = await this.page.locator(".terminal-wrapper.active .xterm-screen").boundingBox();
    const cell = await this.page.evaluate(() => {
      const span = document.querySelector(".terminal-wrapper.active .xterm-rows span");
      return span === null ? 0 : span.getBoundingClientRect().width / span.textContent.length;
    });
    return { x: screen.x + cell * (column + 3.5), y: box.y + box.height / 2 };
  }

  async overTerminal(text) {
    const { x, y } = await this.inTerminal(text);
    await this.page.mouse.move(x - 2, y - 40);
    await this.page.mouse.move(x, y, { steps: 6 });
    return { x, y };
  }

  /** Moves the pointer over printed text until `shown` is there; the place. */
  pointAt(text, shown) {
    // Links are asked for once the pointer is there, and shown when the answer comes; rows may still move meanwhile.
    return until(async () => {
      const place = await this.overTerminal(text);
      return shown.waitFor({ timeout: 8000 }).then(() => place, () => undefined);
    }, `what is shown at ${text}`, 90_000);
  }

  async followTerminalLink(text) {
    const { x, y } = await this.pointAt(text, this.terminalRows().locator("span[style*=underline]").first());
    await this.keyboard.down("Control");
    await this.page.mouse.move(x - 3, y);
    await this.page.mouse.move(x, y);
    await this.page.mouse.click(x, y);
    await this.keyboard.up("Control");
  }
}
