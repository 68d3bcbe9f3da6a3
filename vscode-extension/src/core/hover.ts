/** What a card need not say again: the editor shows a diagnostic's own message above it. */

/** The card without its first line, where that is the message of a diagnostic that is shown there too. */
export function withoutHeadline(card: string, messages: readonly string[]): string {
  const [first = "", ...rest] = card.split("\n");
  const said = /^(`+) ?(.*?) ?\1\s*$/.exec(first)?.[2];
  const shown = said !== undefined && messages.some((message) => plain(message).startsWith(plain(said)));
  return shown && rest.length > 0 ? rest.join("\n") : card;
}

function plain(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
