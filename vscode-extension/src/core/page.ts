/** A Markdown page as HTML for a webview that loads nothing and runs one script of ours. */

import MarkdownIt from "markdown-it";

export interface PageParts {
  readonly title: string;
  readonly markdown: string;
  /** Buttons above the text: what each sends back, and its label. */
  readonly buttons: readonly { readonly action: string; readonly label: string }[];
  readonly nonce: string;
}

// Catalogs may come from anywhere: their HTML is shown as text.
const markdown = new MarkdownIt({ html: false, linkify: false, typographer: false });
markdown.validateLink = (url) => /^(?:https?:|raiselens:)/i.test(url);

export function pageHtml({ title, markdown: text, buttons, nonce }: PageParts): string {
  const policy = `default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'`;
  const bar = buttons
    .map(({ action, label }) => `<button type="button" data-action="${escapeHtml(action)}">${escapeHtml(label)}</button>`)
    .join("");
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style nonce="${nonce}">${STYLE}</style>
</head>
<body>
<nav aria-label="Actions">${bar}</nav>
<main>${markdown.render(text)}</main>
<script nonce="${nonce}">${SCRIPT}</script>
</body>
</html>`;
}

export function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** What the page's script may send. */
export type PageMessage =
  | { readonly kind: "action"; readonly action: string }
  | { readonly kind: "open"; readonly record: string }
  | { readonly kind: "copy"; readonly text: string };

export function readPageMessage(message: unknown): PageMessage | undefined {
  if (typeof message !== "object" || message === null || !("kind" in message)) {
    return undefined;
  }
  if (message.kind === "action" && "action" in message && typeof message.action === "string") {
    return { kind: "action", action: message.action };
  }
  if (message.kind === "open" && "record" in message && typeof message.record === "string") {
    return { kind: "open", record: message.record };
  }
  if (message.kind === "copy" && "text" in message && typeof message.text === "string") {
    return { kind: "copy", text: message.text };
  }
  return undefined;
}

const STYLE = `
body { font: var(--vscode-font-weight) var(--vscode-font-size)/1.5 var(--vscode-font-family); color: var(--vscode-foreground); max-width: 52em; padding: 0 1.2em 2em; }
nav { position: sticky; top: 0; padding: .7em 0; background: var(--vscode-editor-background); display: flex; gap: .5em; z-index: 1; }
button { font: inherit; color: var(--vscode-button-secondaryForeground); background: var(--vscode-button-secondaryBackground); border: 1px solid var(--vscode-contrastBorder, transparent); border-radius: 2px; padding: .25em .8em; cursor: pointer; }
nav button:first-child { color: var(--vscode-button-foreground); background: var(--vscode-button-background); }
button:hover { background: var(--vscode-button-secondaryHoverBackground); }
nav button:first-child:hover { background: var(--vscode-button-hoverBackground); }
a { color: var(--vscode-textLink-foreground); }
:focus-visible { outline: 1px solid var(--vscode-focusBorder); outline-offset: 1px; }
main { overflow-wrap: anywhere; }
h1 { font-size: 1.5em; line-height: 1.25; }
h2 { font-size: 1.1em; margin: 1.6em 0 .4em; padding-bottom: .2em; border-bottom: 1px solid var(--vscode-panel-border, var(--vscode-contrastBorder)); }
code { font-family: var(--vscode-editor-font-family); font-size: var(--vscode-editor-font-size); color: var(--vscode-textPreformat-foreground); background: var(--vscode-textPreformat-background, var(--vscode-textCodeBlock-background)); padding: .1em .3em; border-radius: 2px; }
pre { position: relative; background: var(--vscode-textCodeBlock-background); border: 1px solid var(--vscode-contrastBorder, transparent); border-radius: 3px; padding: .7em 1em; overflow-x: auto; }
pre code { color: var(--vscode-editor-foreground); background: none; padding: 0; overflow-wrap: normal; }
pre code.language-text { white-space: pre-wrap; overflow-wrap: anywhere; }
pre button { position: absolute; top: .4em; right: .4em; opacity: 0; }
pre:hover button, pre button:focus-visible { opacity: 1; }
table { border-collapse: collapse; }
th, td { text-align: left; padding: .25em .9em .25em 0; border-bottom: 1px solid var(--vscode-panel-border, var(--vscode-contrastBorder)); }
th { font-weight: 600; }
hr { border: 0; border-top: 1px solid var(--vscode-panel-border, var(--vscode-contrastBorder)); margin: 2em 0; }
`;

const SCRIPT = `
const editor = acquireVsCodeApi();
for (const button of document.querySelectorAll("nav button"))
  button.addEventListener("click", () => editor.postMessage({ kind: "action", action: button.dataset.action }));
for (const block of document.querySelectorAll("pre")) {
  const text = block.textContent, button = document.createElement("button");
  button.type = "button"; button.textContent = "Copy"; button.setAttribute("aria-label", "Copy this block");
  button.addEventListener("click", () => editor.postMessage({ kind: "copy", text }));
  block.append(button);
}
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='raiselens:']");
  if (link) { event.preventDefault(); editor.postMessage({ kind: "open", record: link.getAttribute("href").slice(10) }); }
});
`;
