"use strict";

// Search over one list of [id, class, title, repository], read when the field is first used; and buttons that copy code.

const field = document.querySelector("#search");
const results = document.querySelector("#results");
const base = document.documentElement.dataset.base;
let entries = null;

async function load() {
  if (entries === null) {
    const answer = await fetch(`${base}search.json`);
    entries = (await answer.json()).map((entry) => ({ entry, text: entry.join(" ").toLowerCase() }));
  }
  return entries;
}

function show(found, total) {
  const list = document.createElement("ul");
  list.className = "list";
  for (const { entry: [id, name, title, repository] } of found) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = `${base}errors/${id}.html`;
    link.textContent = title;
    item.append(link, ` (${name}, ${repository})`);
    list.append(item);
  }
  const count = document.createElement("p");
  count.textContent = total === 0 ? "Nothing found." : `${total} found${total > found.length ? `, the first ${found.length}` : ""}:`;
  results.replaceChildren(count, list);
}

field.addEventListener("focus", () => void load());
field.addEventListener("input", async () => {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) {
    results.replaceChildren();
    return;
  }
  const found = (await load()).filter(({ text }) => words.every((word) => text.includes(word)));
  show(found.slice(0, 50), found.length);
});

for (const block of document.querySelectorAll(".code")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.querySelector("code").textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  block.append(button);
}
