"""A record as a page: Markdown for `catalog show` and the editor, a compact form for hovers, JSON for programs."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from raiselens_catalog.entry import Entry
    from raiselens_catalog.layers import Catalog
    from raiselens_catalog.record import Record

TITLE_LENGTH: Final = 120
"""Characters of a heading."""

HOVER_SOLUTIONS: Final = 3
"""Solutions shown in a hover; the page shows all."""


def title(record: Record) -> str:
    """The message as a heading: on one line, without a value at its end, not longer than `TITLE_LENGTH`."""
    message = " ".join(record.error_message.split())
    head = _LAST_HOLE.sub("", message)
    kept = head if len(head) >= TITLE_LENGTH // 8 else message
    return kept if len(kept) <= TITLE_LENGTH else kept[: TITLE_LENGTH - 1].rstrip() + "…"


def json_text(record: Record) -> str:
    """The record's JSON, indented for people."""
    return json.dumps(record.to_json(), ensure_ascii=False, indent=2)


def markdown(entry: Entry, catalog: Catalog | None = None) -> str:
    """The whole page. `catalog` resolves the related errors; without it they are left out."""
    return "\n\n".join(_page(entry, catalog)) + "\n"


def hover(entry: Entry, captures: Mapping[str, str] | None = None) -> str:
    """A compact page: what it means, when it happens, the first solutions, the fix, where it is raised."""
    return "\n\n".join(_compact(entry.record, captures or {})) + "\n"


def _page(entry: Entry, catalog: Catalog | None) -> Iterator[str]:
    record = entry.record
    yield f"# {_inline(title(record))}"
    facts = [record.repo, record.severity or "error", record.error_class or "unknown class"]
    if record.error_code:
        facts.append(f"code {record.error_code}")
    if record.error_type:
        facts.append(record.error_type)
    yield " · ".join(_inline(fact) for fact in facts)
    yield "## Error message"
    yield _fence(record.error_message, "text")
    yield from _section("What it means", record.documentation)
    yield from _source(entry)
    if record.solutions:
        yield "## Solutions"
        yield "\n".join(f"{number}. {_text(step)}" for number, step in enumerate(record.solutions, start=1))
    yield from _code("Example fix", record.example_fix)
    yield from _code("Validation code", record.validation_code)
    yield from _code("Type guard", record.type_guard)
    if record.handling_strategy or record.try_catch_pattern:
        yield "## Handling"
        if record.handling_strategy:
            yield f"Strategy: {_text(record.handling_strategy)}"
        if record.try_catch_pattern:
            yield _fence(record.try_catch_pattern, "python")
    if record.trigger_scenarios or record.common_situations:
        yield "## When it happens"
        if record.trigger_scenarios:
            yield f"**Trigger:** {_text(record.trigger_scenarios)}"
        if record.common_situations:
            yield f"**Common situations:** {_text(record.common_situations)}"
    if record.prevention_tips:
        yield "## Prevention"
        yield "\n".join(f"- {_text(tip)}" for tip in record.prevention_tips)
    others = catalog.related(entry) if catalog is not None else ()
    if others:
        yield "## Related errors"
        yield "\n".join(
            f"- [{_inline(title(other.record))}]({_record_link(other.record)}) "
            f"({_inline(other.record.error_class or 'error')}, `{other.record.id}`)"
            for other in others
        )
    if record.tags or record.background_tag:
        tags = " ".join(f"`{tag}`" for tag in record.tags)
        background = f"background: `{record.background_tag}`" if record.background_tag else ""
        yield "## Tags"
        yield " · ".join(part for part in (tags, background) if part)
    yield _footer(record)


def _compact(record: Record, captures: Mapping[str, str]) -> Iterator[str]:
    yield f"**{_inline(record.error_class or 'Error')}** · {_inline(title(record))}"
    if record.documentation:
        yield _text(record.documentation)
    if captures:
        yield "Here: " + ", ".join(f"{_span(name)} = {_span(value)}" for name, value in captures.items())
    if record.trigger_scenarios:
        yield f"**When:** {_text(record.trigger_scenarios)}"
    if record.solutions:
        steps = record.solutions[:HOVER_SOLUTIONS]
        yield "**Solutions**\n\n" + "\n".join(f"{number}. {_text(step)}" for number, step in enumerate(steps, start=1))
    if record.example_fix:
        yield _fence(record.example_fix, "python")
    if record.prevention_tips:
        yield f"**Prevent:** {_text(record.prevention_tips[0])}"
    if record.github_url:
        yield f"[Source]({_url(record.github_url)}) · `{record.slug}` · `{record.id}`"
    else:
        yield f"`{record.slug}` · `{record.id}`"


def _source(entry: Entry) -> Iterator[str]:
    record = entry.record
    if not record.file_path and not record.github_url:
        return
    yield "## Source"
    place = record.file_path or "the source"
    if record.line_number is not None:
        place = f"{place}:{record.line_number}"
    yield f"Thrown at [{_inline(place)}]({_url(record.github_url)})" if record.github_url else f"Thrown at `{place}`"
    if entry.guard is not None:
        yield f"by `{entry.guard.qualname}` where `{entry.guard.condition}`"
    if record.source_code:
        yield _fence(record.source_code, "python")
    if record.github_url and record.analyzed_sha:
        yield f"[View on GitHub]({_url(record.github_url)}) (pinned to `{record.analyzed_sha[:10]}`)"


def _footer(record: Record) -> str:
    version = f"{record.repo}@{record.analyzed_sha[:10]}" if record.analyzed_sha else record.repo
    date = f" ({record.analyzed_at[:10]})" if record.analyzed_at else ""
    return f"Analysed {_inline(version)}{date}. Record `{record.id}`, rule `{record.slug}`."


def _section(heading: str, text: str | None) -> Iterator[str]:
    if text:
        yield f"## {heading}"
        yield _text(text)


def _code(heading: str, code: str | None) -> Iterator[str]:
    if code:
        yield f"## {heading}"
        yield _fence(code, "python")


def _fence(code: str, language: str) -> str:
    """A code block whose fence is longer than any run of backticks inside."""
    longest = max((len(run) for run in _BACKTICKS.findall(code)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{code.rstrip()}\n{fence}"


def _span(text: str) -> str:
    """A code span whose fence is longer than any run of backticks inside."""
    flat = " ".join(text.split())
    fence = "`" * (max((len(run) for run in _BACKTICKS.findall(flat)), default=0) + 1)
    pad = " " if "`" in flat else ""
    return f"{fence}{pad}{flat}{pad}{fence}"


def _inline(text: str) -> str:
    """Text in which nothing is markup: for titles, classes, places."""
    return _MARKUP.sub(r"\\\g<0>", " ".join(text.split()))


def _text(text: str) -> str:
    """Prose of a record: code spans stay, HTML and links from outside do not."""
    return "".join(
        part if index % 2 else _HTML.sub(r"\\\g<0>", part) for index, part in enumerate(_CODE_SPAN.split(text.strip()))
    )


def _record_link(record: Record) -> str:
    return f"raiselens:{record.id}"


def _url(url: str | None) -> str:
    """A link target that cannot leave its parentheses; only web links are followed."""
    if url is None or not url.startswith(("https://", "http://")):
        return "#"
    return url.replace(" ", "%20").replace("(", "%28").replace(")", "%29").replace("<", "%3C").replace(">", "%3E")


_LAST_HOLE: Final = re.compile(r"\s*\{[^{}]*\}$")
_BACKTICKS: Final = re.compile(r"`+")
_MARKUP: Final = re.compile(r"[\\`*\[\]<|]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_HTML: Final = re.compile(r"[<\[\]]")
_CODE_SPAN: Final = re.compile(r"(`[^`\n]+`)")
