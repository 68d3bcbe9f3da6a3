"""Explained errors as a page to paste into an issue. What must not be pasted is masked by whoever prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raiselens_server.present.diffs import repair_rows
from raiselens_server.present.headline import headline
from raiselens_server.present.markdown import code, escape
from raiselens_server.present.observed import (
    MOST_BRIEF,
    in_order,
    read_at,
    role_word,
    source_of,
    users_frames,
)
from raiselens_server.present.styled import plain, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raiselens_catalog import Record
    from raiselens_server.diagnose import Explained
    from raiselens_server.error import Diagnosis, Frame
    from raiselens_server.present.observed import Surroundings


def explained_issue(explained: Explained, around: Surroundings) -> str:
    """The page: the primary error in full, its traceback and the other errors folded."""
    if not explained.diagnoses:
        return "No error found.\n"
    return "\n\n".join(_parts(explained, around)) + "\n"


def _parts(explained: Explained, around: Surroundings) -> Iterator[str]:
    first, *rest = in_order(explained)
    entry = around.entry(first)
    record = None if entry is None else entry.record
    error = first.error
    title, *more = headline(error).split("\n")
    yield f"### {code(title)}"
    if more:
        yield fence(headline(error), "text")
    why = f". Chosen because {escape(explained.why)}" if explained.why else ""
    yield f"Read at {escape(read_at(error))}{why}."
    own = users_frames(error, explained, record)
    for frame in own:
        yield f"**Where** {_frame(frame, around)}"
        source = source_of(frame, explained, around.read)
        if source:
            yield fence(visible(source), "python")
    yield from _meaning(first, record)
    for repair in first.repairs[:1]:
        yield f"**Fix** {escape(repair.title)}{'' if repair.safe else ' (unsafe)'}"
        yield fence(plain(repair_rows(repair, around.read, around.shown)).rstrip("\n"), "diff")
    if error.frames:
        yield _folded(
            f"Traceback ({len(error.frames)} frames)", fence(_traceback(error.frames, headline(error)), "text")
        )
    if rest:
        rows = [
            f"- {escape(read_at(other.error))}: {role_word(other.error)} {_first_line(other)}"
            for other in rest[:MOST_BRIEF]
        ]
        if len(rest) > MOST_BRIEF:
            rows.append(f"- and {len(rest) - MOST_BRIEF} more")
        yield _folded(f"Also in this text ({len(rest)})", "\n".join(rows))


def _meaning(diagnosis: Diagnosis, record: Record | None) -> Iterator[str]:
    if record is None or diagnosis.record is None:
        return
    if diagnosis.record.how == "fuzzy":
        yield "A similar error is known, this one is not:"
    if diagnosis.record.captures:
        values = (f"{code(name)} = {code(value)}" for name, value in diagnosis.record.captures.items())
        yield f"**Here** {', '.join(values)}"
    if record.documentation:
        yield f"**What it means** {escape(record.documentation.strip())}"
    if record.solutions:
        steps = "\n".join(f"{number}. {escape(step)}" for number, step in enumerate(record.solutions, 1))
        yield f"**What to do**\n\n{steps}"
    where = f"[source]({record.github_url}), " if record.github_url else ""
    yield f"{where}rule `{record.slug}`, record `{record.id}` of Raiselens"


def _first_line(diagnosis: Diagnosis) -> str:
    return code(headline(diagnosis.error).split("\n")[0])


def _frame(frame: Frame, around: Surroundings) -> str:
    inside = f" in {code(frame.function)}" if frame.function else ""
    return f"{code(f'{around.shown(frame.file)}:{frame.line}')}{inside}"


def _traceback(frames: Sequence[Frame], said: str) -> str:
    rows = ["Traceback (most recent call last):"]
    for frame in frames:
        rows.append(f'  File "{frame.file}", line {frame.line}{f", in {frame.function}" if frame.function else ""}')
        if frame.source:
            rows.append(f"    {frame.source}")
    return "\n".join(map(visible, [*rows, *said.split("\n")]))


def _folded(title: str, inside: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{inside}\n\n</details>"


def fence(text: str, language: str) -> str:
    """A fenced block that holds any text."""
    longest = 2
    run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    ticks = "`" * (longest + 1)
    return f"{ticks}{language}\n{text}\n{ticks}"
