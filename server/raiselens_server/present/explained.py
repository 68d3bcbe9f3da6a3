"""Explained errors in text: the cause first, where in the user's code, what it means, what to do, the fix as a diff."""

from __future__ import annotations

import shlex
import textwrap
from typing import TYPE_CHECKING

from raiselens_server.agree import line_here
from raiselens_server.error import Place, Role, Span
from raiselens_server.present.diffs import repair_rows
from raiselens_server.present.excerpt import Mark, excerpts
from raiselens_server.present.headline import headline, severity_of
from raiselens_server.present.observed import (
    MOST_BRIEF,
    in_order,
    read_at,
    role_of,
    role_word,
    source_of,
    users_frames,
)
from raiselens_server.present.styled import Style, line, visible
from raiselens_server.present.text import SEVERITY_STYLE, head, note

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raiselens_catalog import Entry, Record
    from raiselens_server.diagnose import Explained
    from raiselens_server.error import Diagnosis, Frame, Repair
    from raiselens_server.present.observed import Surroundings
    from raiselens_server.present.styled import Line

PROSE = 100
"""Columns of running text."""


def explained_text(explained: Explained, around: Surroundings) -> Iterator[Line]:
    """The errors of a text: the primary one in full, the others in a line each."""
    first, *rest = in_order(explained)
    entry = around.entry(first)
    record = None if entry is None else entry.record
    error = first.error
    style = Style.WARNING if role_of(error) is Role.WARNING else SEVERITY_STYLE[severity_of(error)]
    yield from head(role_word(error), style, headline(error))
    yield note("read", read_at(error))
    if explained.why:
        yield note("note", visible(explained.why))
    yield from _where(first, explained, record, around)
    yield from _meaning(first, record)
    yield from _fixes(first, record, around)
    yield from _source(first, entry)
    if rest:
        yield line()
        yield line((Style.STRONG, "Also in this text"))
        for diagnosis in rest[:MOST_BRIEF]:
            yield _brief(diagnosis)
        if len(rest) > MOST_BRIEF:
            yield line((Style.FAINT, f"  … {len(rest) - MOST_BRIEF} more (--format json lists them)"))


def _where(diagnosis: Diagnosis, explained: Explained, record: Record | None, around: Surroundings) -> Iterator[Line]:
    """The user's own frame with its source, then the frame that raised; the others are counted."""
    frames = diagnosis.error.frames
    if not frames:
        return
    own = users_frames(diagnosis.error, explained, record)
    yield line()
    if own:
        yield line((Style.STRONG, "In your code"))
        for frame in own:
            yield from _own_frame(frame, explained, around)
    shown = len(own)
    if frames[-1] not in own:
        shown += 1
        yield _frame_line("raised at", frames[-1], explained, around)
    folded = len(frames) - shown
    if folded:
        yield line((Style.FAINT, f"  … {folded} more frame{'s' if folded > 1 else ''}"))


def _own_frame(frame: Frame, explained: Explained, around: Surroundings) -> Iterator[Line]:
    path = explained.local.get(frame.file)
    text = None if path is None else around.read(path)
    number = None if text is None else line_here(frame, text)
    if path is None or text is None or number is None:
        yield _frame_line("at", frame, explained, around)
        source = source_of(frame, explained, around.read)
        if source:
            yield line((Style.GUTTER, "     | "), visible(source))
        return
    row = text.split("\n")[number - 1].rstrip()
    begin = len(row) - len(row.lstrip())
    place = Place(path, Span(number, begin + 1, number, max(len(row), begin + 1) + 1))
    said = f"in {visible(frame.function)}" if frame.function else ""
    yield from excerpts([Mark(place, said, Style.ERROR, primary=True)], around.read, around.shown)


def _frame_line(word: str, frame: Frame, explained: Explained, around: Surroundings) -> Line:
    file = visible(around.shown(explained.local.get(frame.file, frame.file)))
    inside = f" in {visible(frame.function)}" if frame.function else ""
    return line((Style.GUTTER, f"  {word} "), f"{file}:{frame.line}", (Style.FAINT, inside))


def _meaning(diagnosis: Diagnosis, record: Record | None) -> Iterator[Line]:
    if record is None or diagnosis.record is None:
        yield note("record", "none in the catalog matches this error")
        return
    yield line()
    if diagnosis.record.how == "fuzzy":
        yield line((Style.WARNING, "A similar error is known, this one is not:"))
    captures = ", ".join(f"{name} = {value}" for name, value in diagnosis.record.captures.items())
    if captures:
        yield from _section("Here", visible(captures))
    yield from _section("What it means", record.documentation)
    if record.solutions:
        yield line((Style.STRONG, "What to do"))
        for number, solution in enumerate(record.solutions, 1):
            yield from _wrapped(solution, f"  {number}. ", "     ")


def _fixes(diagnosis: Diagnosis, record: Record | None, around: Surroundings) -> Iterator[Line]:
    """The first fix as a diff and the others by name; without one, the record's example."""
    if not diagnosis.repairs:
        if record is not None:
            yield from _section("Example", record.example_fix, prose=False)
        return
    first, *rest = diagnosis.repairs
    yield line()
    yield line((Style.STRONG, "Fix: "), (Style.FIX, visible(first.title)), (Style.FAINT, _how_sure(first)))
    for pieces in repair_rows(first, around.read, around.shown):
        yield line("  ", *((style, visible(text)) for style, text in pieces))
    for repair in rest:
        yield line((Style.STRONG, "Or: "), visible(repair.title), (Style.FAINT, _how_sure(repair)))


def _how_sure(repair: Repair) -> str:
    return "" if repair.safe else "  (unsafe)"


def _source(diagnosis: Diagnosis, entry: Entry | None) -> Iterator[Line]:
    if entry is None or diagnosis.record is None:
        return
    record = entry.record
    if record.github_url:
        yield line((Style.FAINT, f"Source: {visible(record.github_url)}"))
    yield line((Style.FAINT, f"Rule {record.slug}, record {record.id}: raiselens catalog show {_key(entry)}"))


def _key(entry: Entry) -> str:
    """What `catalog show` finds a record by: the place of its raise where no catalog holds it."""
    record = entry.record
    return shlex.quote(visible(f"{entry.origin}:{record.line_number}")) if entry.on_the_spot else record.id


def _section(title: str, text: str | None, *, prose: bool = True) -> Iterator[Line]:
    if text and text.strip():
        yield line((Style.STRONG, title))
        for paragraph in text.strip().split("\n"):
            yield from _wrapped(paragraph) if prose else (line(f"  {visible(paragraph)}"),)


def _wrapped(text: str, first: str = "  ", rest: str = "  ") -> Iterator[Line]:
    # A path or an expression in the middle of a sentence stays in one piece, to be copied.
    rows = textwrap.wrap(
        visible(text),
        PROSE,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    yield from map(line, rows)


def _brief(diagnosis: Diagnosis) -> Line:
    error = diagnosis.error
    rule = f"  [{diagnosis.rule}]" if diagnosis.rule else ""
    said = headline(error).split("\n")[0]
    return line((Style.GUTTER, f"  {read_at(error)}: "), f"{role_word(error)}: {visible(said)}", (Style.FAINT, rule))
