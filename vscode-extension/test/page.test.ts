import { expect, it } from "vitest";
import { pageHtml, readPageMessage } from "../src/core/page";

const page = (markdown: string): string => pageHtml({ title: "T<", markdown, buttons: [{ action: "copy", label: "Copy" }], nonce: "n0" });

it("loads nothing and runs only its own script", () => {
  const html = page("text");
  expect(html).toContain(`default-src 'none'; style-src 'nonce-n0'; script-src 'nonce-n0'`);
  expect(html).toContain("<title>T&lt;</title>");
  expect(html).toContain('<button type="button" data-action="copy">Copy</button>');
});

it("shows a catalog's HTML as text and follows only known links", () => {
  expect(page("<img src=x onerror=alert(1)>")).not.toContain("<img");
  expect(page("[a](javascript:alert(1)) [b](command:workbench.action.quit) [c](file:///etc/passwd)")).not.toMatch(/<a /);
  expect(page("[d](raiselens:77c2)")).toContain('<a href="raiselens:77c2">');
  expect(page("[e](https://github.com/a)")).toContain('<a href="https://github.com/a">');
});

it("takes only known messages", () => {
  expect(readPageMessage({ kind: "open", record: "77c2" })).toEqual({ kind: "open", record: "77c2" });
  expect(readPageMessage({ kind: "copy", text: "x" })).toEqual({ kind: "copy", text: "x" });
  expect(readPageMessage({ kind: "action", action: "fix" })).toEqual({ kind: "action", action: "fix" });
  for (const other of [undefined, null, 3, {}, { kind: "open" }, { kind: "copy", text: 3 }, { kind: "run", action: "x" }]) {
    expect(readPageMessage(other)).toBeUndefined();
  }
});
