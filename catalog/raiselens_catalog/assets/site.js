"use strict";

// Search over one list of [id, class, title, repository], read when the field is first used; and buttons that copy code.

const field = document.querySelector("#search");
const results = document.querySelector("#results");
const base = document.documentElement.dataset.base;
const LIMIT = 50;
// The share of a title's words that a pasted message must hold.
const SHARE = 0.7;

let list = null;

function load() {
  list ??= fetch(`${base}search.json`).then(async (answer) =>
    (await answer.json()).map((entry) => ({ entry, text: entry.join(" ").toLowerCase(), words: null })),
  );
  return list;
}

function wordsOf(text) {
  return text.toLowerCase().split(/[^\p{L}\p{N}_.]+/u).map((word) => word.replace(/^\.+|\.+$/g, "")).filter(Boolean);
}

// Entries that hold all of the words; the shorter the title, the more of it they are.
function holding(entries, words) {
  return entries
    .filter(({ text }) => words.every((word) => text.includes(word)))
    .sort((one, other) => one.entry[2].length - other.entry[2].length);
}

// Entries most of whose titles stand in a pasted message, holes aside; the more of it they tell, the better.
function heldBy(entries, words) {
  const given = new Set(words);
  const found = [];
  for (const entry of entries) {
    entry.words ??= wordsOf(entry.entry[2].replace(/\{[^{}]*\}/g, " "));
    const held = entry.words.filter((word) => given.has(word)).length;
    if (held >= 2 && held >= SHARE * entry.words.length) found.push({ entry, held });
  }
  return found.sort((one, other) => other.held - one.held).map(({ entry }) => entry);
}

function show(found) {
  const items = found.slice(0, LIMIT).map(({ entry: [id, name, title, repository] }) => {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = `${base}errors/${id}.html`;
    link.textContent = title;
    item.append(link, ` (${[name, repository].filter(Boolean).join(", ")})`);
    return item;
  });
  const shown = document.createElement("ul");
  shown.className = "list";
  shown.append(...items);
  const rest = found.length > LIMIT ? `, the first ${LIMIT}` : "";
  results.replaceChildren(paragraph(found.length === 0 ? "Nothing found." : `${found.length} found${rest}:`), shown);
}

function paragraph(text) {
  const made = document.createElement("p");
  made.textContent = text;
  return made;
}

async function search() {
  const asked = field.value;
  const words = asked.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) {
    results.replaceChildren();
    return;
  }
  let entries;
  try {
    entries = await load();
  } catch {
    list = null;
    results.replaceChildren(paragraph("The list of errors cannot be read. Serve this folder: python -m http.server"));
    return;
  }
  // Answers to what is no longer asked are dropped.
  if (asked !== field.value) return;
  const found = holding(entries, words);
  show(found.length > 0 ? found : heldBy(entries, wordsOf(asked)));
}

field.addEventListener("focus", () => load().catch(() => { list = null; }));
field.addEventListener("input", search);
field.form.addEventListener("submit", async (event) => {
  event.preventDefault();
  await search();
  results.querySelector("a")?.click();
});

for (const block of document.querySelectorAll(".code")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(block.querySelector("code").textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(block.querySelector("code"));
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  block.append(button);
}
