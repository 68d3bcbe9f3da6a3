"""Source excerpts with carets: the lines that a finding speaks of, and under them what is to be said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from raiselens_server.present.styled import Style, columns, line, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from raiselens_server.error import Place
    from raiselens_server.present.styled import Line

WIDEST = 160
"""Columns of source shown; a longer line is cut around what is marked."""

MOST_LINES = 6
"""Lines shown of a marked statement; the middle of a longer one is left out."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A place and what to say under it; the primary mark comes first and is underlined with carets."""

    place: Place
    label: str
    style: Style
    primary: bool = False


def excerpts(
    marks: Sequence[Mark], read: Callable[[str], str | None], shown: Callable[[str], str] = visible
) -> Iterator[Line]:
    """The excerpts of all files that `marks` name, the first mark's file first.

    `read` gives a file's text, or `None` where it cannot be read; `shown` how its path is written.
    """
    files: dict[str, list[Mark]] = {}
    for mark in marks:
        files.setdefault(mark.place.file, []).append(mark)
    numbers = [mark.place.span.end_line for mark in marks]
    gutter = len(str(max(numbers, default=0)))
    for number, (file, own) in enumerate(files.items()):
        arrow = "-->" if number == 0 else ":::"
        span = own[0].place.span
        yield line((Style.GUTTER, f"{' ' * gutter}{arrow} "), f"{visible(shown(file))}:{span.line}:{span.column}")
        text = read(file)
        if text is not None:
            yield from _excerpt(text.split("\n"), own, gutter)


def _excerpt(lines: Sequence[str], marks: Sequence[Mark], gutter: int) -> Iterator[Line]:
    rows = _rows(lines, marks)
    if not rows:
        return
    yield _bar(gutter)
    last = None
    for number, own in sorted(rows.items()):
        if last is not None and number == last + 2:
            yield _source(lines[last], last + 1, gutter, 0)
        elif last is not None and number > last + 1:
            yield line((Style.GUTTER, "..."))
        text = lines[number - 1].rstrip("\r")
        cut = _cut(text, own)
        yield _source(text, number, gutter, cut)
        for start, end, mark in own:
            yield _underline(text, start, end, mark, gutter, cut)
        last = number
    yield _bar(gutter)


def _rows(lines: Sequence[str], marks: Iterable[Mark]) -> dict[int, list[tuple[int, int, Mark]]]:
    """The lines to show: number → underlines as (first column, column behind the last, mark), 0-based."""
    rows: dict[int, list[tuple[int, int, Mark]]] = {}
    for mark in marks:
        span = mark.place.span
        for number in _shown_lines(span.line, span.end_line):
            if not 1 <= number <= len(lines):
                continue
            text = lines[number - 1].rstrip()
            own = rows.setdefault(number, [])
            # The other lines of a statement are shown for what they hold; one row of marks says where it begins.
            if number == span.line:
                start = span.column - 1
                end = span.end_column - 1 if number == span.end_line else len(text)
                own.append((min(start, len(text)), max(end, start + 1), mark))
    return rows


def _shown_lines(first: int, last: int) -> Iterable[int]:
    if last - first < MOST_LINES:
        return range(first, last + 1)
    return (*range(first, first + MOST_LINES - 2), last)


def _cut(text: str, marks: Iterable[tuple[int, int, Mark]]) -> int:
    """How many characters to leave out in front, so that what is marked is within the widest line."""
    starts = [start for start, _, _ in marks]
    if len(text) <= WIDEST or not starts or min(starts) < WIDEST // 2:
        return 0
    return min(starts) - WIDEST // 4


def _source(text: str, number: int, gutter: int, cut: int) -> Line:
    shown, _ = columns(text.rstrip()[cut : cut + WIDEST])
    ends = ("…" if cut else "", "…" if len(text) > cut + WIDEST else "")
    if not shown:
        return line((Style.GUTTER, f"{number:>{gutter}} |"))
    return line((Style.GUTTER, f"{number:>{gutter}} | "), f"{ends[0]}{shown}{ends[1]}".rstrip())


def _underline(text: str, start: int, end: int, mark: Mark, gutter: int, cut: int) -> Line:
    _, starts = columns(text[cut : cut + WIDEST])
    ellipsis = 1 if cut else 0
    first = starts[min(max(start - cut, 0), len(starts) - 1)] + ellipsis
    behind = starts[min(max(end - cut, 0), len(starts) - 1)] + ellipsis
    line_of_marks = ("^" if mark.primary else "-") * max(behind - first, 1)
    said = f" {visible(mark.label)}" if mark.label else ""
    return line((Style.GUTTER, f"{' ' * gutter} | "), " " * first, (mark.style, line_of_marks + said))


def _bar(gutter: int) -> Line:
    return line((Style.GUTTER, f"{' ' * gutter} |"))
