"""The catalog as a static site: a page and a JSON file for each record, lists, and a search that runs in the browser.

    index.html                 the repositories, and the search
    repos/<name>.html          the records of a repository
    background/<tag>.html      the records that share a background
    errors/<id>.html           a record's page
    api/errors/<id>.json       the same as data, as the seeds' API serves it
    search.json, site.css, site.js

Every page can be read without JavaScript; only searching and copying need it.
"""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from raiselens_catalog.bundled import DATASET_VERSION
from raiselens_catalog.layers import RELATED_LIMIT
from raiselens_catalog.pages import title
from raiselens_catalog.record import CatalogError, Envelope, dumps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from raiselens_catalog.entry import Entry
    from raiselens_catalog.layers import Catalog
    from raiselens_catalog.record import Record

LIST_ROWS: Final = 500
"""Errors on one page of a list."""

ISSUES: Final = "https://github.com/raiselens/raiselens/issues/new"
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")


def write_site(
    catalog: Catalog, folder: Path, *, issues: str = ISSUES, progress: Callable[[int, int], None] | None = None
) -> int:
    """Write the site into `folder` and return the number of records.

    `issues` is where “report an issue” leads. CatalogError where the folder cannot be written.
    """
    entries = sorted(catalog.entries(), key=lambda entry: (entry.record.repo, entry.record.slug, entry.record.id))
    publishable = [entry for entry in entries if _ID.fullmatch(entry.record.id)]
    related = _Related(publishable)
    try:
        for name in ("errors", "api/errors", "repos", "background"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        for done, entry in enumerate(publishable, start=1):
            record = entry.record
            _write(folder / f"errors/{record.id}.html", _error_page(entry, related.of(entry), issues))
            _write(folder / f"api/errors/{record.id}.json", _data(entry))
            if progress is not None:
                progress(done, len(publishable))
        _write_lists(publishable, folder)
    except OSError as error:
        raise CatalogError(
            f"cannot be written: {error.strerror}", file=str(folder), remedy="name a folder that can be written"
        ) from None
    return len(publishable)


class _Related:
    """Related errors, as `Catalog.related` has them, from entries that are at hand: asking for each is far slower."""

    def __init__(self, entries: list[Entry]) -> None:
        self._by_key = {key: entry for entry in entries for key in (entry.record.slug, entry.record.id)}
        self._by_file: dict[tuple[str, str], list[Entry]] = {}
        for entry in entries:
            if entry.record.file_path:
                self._by_file.setdefault((entry.record.repo, entry.record.file_path), []).append(entry)

    def of(self, entry: Entry) -> list[Entry]:
        """The entries that it names, else those raised in its function and then its file, those nearest first."""
        record = entry.record
        if entry.related:
            return [self._by_key[key] for key in entry.related if key in self._by_key]
        beside = self._by_file.get((record.repo, record.file_path or ""), ())
        others = [other for other in beside if other.record.id != record.id]
        line = record.line_number or 0
        others.sort(
            key=lambda other: (_function(other) != _function(entry), abs((other.record.line_number or 0) - line))
        )
        return others[:RELATED_LIMIT]


def _write(path: Path, text: str) -> None:
    """Half a character, which JSON can hold, is written as JSON's own escape."""
    path.write_text(text, encoding="utf-8", errors="backslashreplace")


def _function(entry: Entry) -> str:
    return entry.guard.qualname if entry.guard is not None else ""


def _write_lists(entries: list[Entry], folder: Path) -> None:
    repositories = _grouped((entry.record.repo, entry) for entry in entries)
    backgrounds = _grouped((entry.record.background_tag or "", entry) for entry in entries)
    backgrounds.pop("", None)
    for name, members in repositories.items():
        _write_list(folder / "repos", _file_name(name), f"Errors of {name}", members)
    for name, members in backgrounds.items():
        _write_list(folder / "background", _file_name(name), f"Background: {name}", members)
    _write(folder / "index.html", _index_page(repositories, backgrounds))
    rows = [
        [entry.record.id, entry.record.error_class or "", title(entry.record), entry.record.repo] for entry in entries
    ]
    _write(folder / "search.json", json.dumps(rows, ensure_ascii=False, separators=(",", ":")))
    assets = Path(__file__).parent / "assets"
    for name in ("site.css", "site.js"):
        (folder / name).write_bytes((assets / name).read_bytes())


def _write_list(folder: Path, name: str, heading: str, entries: list[Entry]) -> None:
    """Write a list as pages of `LIST_ROWS`, each of which leads to all others."""
    chunks = [entries[at : at + LIST_ROWS] for at in range(0, len(entries), LIST_ROWS)]
    files = [f"{name}.html", *(f"{name}.page-{number}.html" for number in range(2, len(chunks) + 1))]
    for here, (file, chunk) in enumerate(zip(files, chunks, strict=True)):
        _write(folder / file, _list_page(heading, chunk, _pages(files, here)))


def _pages(files: list[str], here: int) -> str:
    """Links to the pages of a list; none where there is one."""
    if len(files) < 2:
        return ""
    links = (
        f'<li><a href="{file}"{" aria-current=page" if at == here else ""}>{at + 1}</a></li>'
        for at, file in enumerate(files)
    )
    return f'<nav aria-label="Pages"><ul class="pages">{"".join(links)}</ul></nav>'


def _grouped(pairs: Iterable[tuple[str, Entry]]) -> dict[str, list[Entry]]:
    groups: dict[str, list[Entry]] = {}
    for name, entry in pairs:
        groups.setdefault(name, []).append(entry)
    return dict(sorted(groups.items()))


def _data(entry: Entry) -> str:
    envelope = entry.envelope or Envelope(extras={"datasetVersion": entry.record.analyzed_at or DATASET_VERSION})
    return dumps(envelope.wrap(entry.record))


def _error_page(entry: Entry, related: list[Entry], issues: str) -> str:
    record = entry.record
    return _document(title(record), "../", "\n".join(_parts(entry, related, issues)))


def _parts(entry: Entry, related: list[Entry], issues: str) -> Iterator[str]:
    record = entry.record
    yield f"<h1>{_text(title(record))}</h1>"
    facts = [record.severity or "error", record.error_type or "", record.error_code or ""]
    yield (
        f'<p class="facts"><a href="../repos/{_file_name(record.repo)}.html">{_text(record.repo)}</a> · '
        f'<span class="class">{_text(record.error_class or "unknown class")}</span> · '
        f"{_text(' · '.join(fact for fact in facts if fact))}</p>"
    )
    yield _section("Error message", _code(record.error_message))
    yield from _prose("What it means", record.documentation)
    yield from _source(entry)
    if record.solutions:
        yield _section("Solutions", _items("ol", record.solutions))
    yield from _block("Example fix", record.example_fix)
    yield from _block("Validation code", record.validation_code)
    yield from _block("Type guard", record.type_guard)
    if record.handling_strategy or record.try_catch_pattern:
        strategy = f"<p>Strategy: {_text(record.handling_strategy)}</p>" if record.handling_strategy else ""
        yield _section("Handling", strategy + (_code(record.try_catch_pattern) if record.try_catch_pattern else ""))
    if record.trigger_scenarios or record.common_situations:
        trigger = f"<p><strong>Trigger:</strong> {_spans(record.trigger_scenarios or '')}</p>"
        common = f"<p><strong>Common situations:</strong> {_spans(record.common_situations or '')}</p>"
        shown = (trigger if record.trigger_scenarios else "") + (common if record.common_situations else "")
        yield _section("When it happens", shown)
    if record.prevention_tips:
        yield _section("Prevention", _items("ul", record.prevention_tips))
    if related:
        yield _section("Related errors", _links(related, "../errors/"))
    if record.tags or record.background_tag:
        tags = "".join(f"<span>{_text(tag)}</span>" for tag in record.tags)
        background = record.background_tag
        link = f'<a href="../background/{_file_name(background)}.html">{_text(background)}</a>' if background else ""
        yield _section("Tags", f'<p class="tags">{tags}{link}</p>')
    yield _analysed(record, issues)


def _source(entry: Entry) -> Iterator[str]:
    record = entry.record
    if not record.file_path and not _web(record.github_url):
        return
    place = record.file_path or "the source"
    if record.line_number is not None:
        place = f"{place}:{record.line_number}"
    link = f'<a href="{_text(record.github_url or "")}">{_text(place)}</a>' if _web(record.github_url) else _text(place)
    guard = entry.guard
    where = f", where <code>{_text(guard.condition)}</code>" if guard is not None and guard.condition else ""
    # An excerpt of a library that was mined here belongs to that library: it is not published.
    excerpt = _code(record.source_code) if record.source_code and not entry.mined else ""
    yield _section("Source", f"<p>Thrown at {link}{where}</p>{excerpt}")


def _analysed(record: Record, issues: str) -> str:
    version = f"{record.repo}@{record.analyzed_sha[:10]}" if record.analyzed_sha else record.repo
    date = f" ({record.analyzed_at[:10]})" if record.analyzed_at else ""
    return (
        f'<p class="facts">Analysed {_text(version + date)}. '
        f'<a href="../api/errors/{record.id}.json">Data as JSON</a>. '
        f'<a href="{_text(issues)}?title={_text(record.id)}">Report an issue</a>.</p>'
    )


def _list_page(heading: str, entries: list[Entry], pages: str) -> str:
    return _document(heading, "../", f"<h1>{_text(heading)}</h1>{pages}{_links(entries, '../errors/')}")


def _index_page(repositories: dict[str, list[Entry]], backgrounds: dict[str, list[Entry]]) -> str:
    total = sum(map(len, repositories.values()))
    parts = [f"<h1>Errors and what to do</h1><p>{total} errors. Search above, or go through the lists.</p>"]
    for heading, folder, groups in (
        ("Repositories", "repos", repositories),
        ("Backgrounds", "background", backgrounds),
    ):
        links = "".join(
            f'<li><a href="{folder}/{_file_name(name)}.html">{_text(name)}</a> ({len(members)})</li>'
            for name, members in groups.items()
        )
        parts.append(_section(heading, f'<ul class="list">{links}</ul>'))
    return _document("Errors and what to do", "", "".join(parts))


def _document(heading: str, base: str, body: str) -> str:
    return f"""<!doctype html>
<html lang="en" data-base="{base}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{_text(heading)} · Raiselens</title>
<link rel="stylesheet" href="{base}site.css">
<link rel="icon" href="data:,">
<script src="{base}site.js" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a href="{base}index.html">Raiselens</a>
<form class="search" role="search">
<label for="search">Search errors</label>
<input id="search" type="search" autocomplete="off" placeholder="message, class or library">
</form>
</header>
<main id="content">
<div id="results" aria-live="polite"></div>
{body}
</main>
<footer>Made by Raiselens.</footer>
</body>
</html>
"""


def _section(heading: str, body: str) -> str:
    return f"<section><h2>{_text(heading)}</h2>{body}</section>"


def _prose(heading: str, text: str | None) -> Iterator[str]:
    if text:
        yield _section(heading, f"<p>{_spans(text)}</p>")


def _block(heading: str, code: str | None) -> Iterator[str]:
    if code:
        yield _section(heading, _code(code))


def _code(code: str) -> str:
    return f'<div class="code"><pre tabindex="0"><code>{_text(code)}</code></pre></div>'


def _items(kind: str, texts: Iterable[str]) -> str:
    return f"<{kind}>{''.join(f'<li>{_spans(text)}</li>' for text in texts)}</{kind}>"


def _links(entries: Iterable[Entry], base: str) -> str:
    items = "".join(
        f'<li><a href="{base}{entry.record.id}.html">{_text(title(entry.record))}</a> '
        f"({_text(entry.record.error_class or 'error')})</li>"
        for entry in entries
    )
    return f'<ul class="list">{items}</ul>'


def _spans(text: str) -> str:
    """Prose with its code spans; all else is text."""
    return _CODE_SPAN.sub(r"<code>\1</code>", _text(text))


_CODE_SPAN: Final = re.compile(r"`([^`\n]+)`")


def _text(text: str) -> str:
    return html.escape(text, quote=True)


def _web(url: str | None) -> bool:
    return url is not None and url.startswith(("https://", "http://"))


def _file_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip(".-") or "other"
