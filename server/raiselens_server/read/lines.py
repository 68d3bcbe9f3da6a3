"""Lines that remember where they stood: the text after stripping, and the place of each character before it."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

# Escape sequences in the forms in which they are pasted: real ones (CSI, OSC with either end, two-byte), the caret
# notation of pagers, the escaped notation of JSON and reprs, and colour codes whose escape byte was lost on the way.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"
    r"|\x1b[@-Z\\^_]"
    r"|\^\[\[[\d;]*m"
    r"|\\(?:u001[bB]|x1[bB]|033|e)\[[\d;]*m"
    r"|\[\d{1,3}(?:;\d{1,3}){0,4}m"
)

_ENTITIES = re.compile(r"&(quot|apos|lt|gt|amp|nbsp|#0{0,3}39|#[xX]27|#0{0,3}34|#[xX]22);")
_CHARACTERS = {
    "quot": '"', "apos": "'", "lt": "<", "gt": ">", "amp": "&", "nbsp": " ",
    **{f"#{'0' * zeros}{code}": chr(code) for zeros in range(4) for code in (34, 39)},
    **{f"#{x}{code:x}": chr(code) for x in "xX" for code in (34, 39)},
}  # fmt: skip
_ROUND = str.maketrans({"“": '"', "”": '"', "„": '"', "\u2018": "'", "\u2019": "'"})

# Behind so many escapes in one line, places are told only nearly: each of them costs a mark.
_MOST_ESCAPES = 4_096


class Mark(NamedTuple):
    """From `offset` of the stripped text on, characters stand at `line`, `column` and rightwards."""

    offset: int
    line: int
    column: int


_offset = itemgetter(0)


class Line(NamedTuple):
    """Text with its place. `marks` is never empty, and its first mark stands at or before offset 0.

    `raw` is the physical line that the text begins in.
    """

    text: str
    raw: str
    marks: tuple[Mark, ...]

    @property
    def number(self) -> int:
        """The physical line that the text begins in."""
        return self.at(0)[0]

    def at(self, offset: int) -> tuple[int, int]:
        """The line and column of the character at `offset`."""
        best = self.marks[max(0, bisect_right(self.marks, offset, key=_offset) - 1)]
        return best.line, best.column + offset - best.offset

    def drop(self, count: int) -> Line:
        """The line without its first `count` characters."""
        if count <= 0:
            return self
        marks = tuple(Mark(mark.offset - count, mark.line, mark.column) for mark in self.marks)
        keep = 0
        for index, mark in enumerate(marks):
            if mark.offset > 0:
                break
            keep = index
        return Line(self.text[count:], self.raw, marks[keep:])

    def restore(self, count: int) -> Line:
        """The line with the `count` characters before it put back; they must have been dropped from it."""
        if count <= 0:
            return self
        number, column = self.at(0)
        before = self.raw[column - 1 - count : column - 1]
        marks = tuple(Mark(mark.offset + count, mark.line, mark.column) for mark in self.marks if mark.offset > 0)
        return Line(before + self.text, self.raw, (Mark(0, number, column - count), *marks))

    def keep(self, count: int) -> Line:
        """The first `count` characters of the line."""
        return Line(self.text[:count], self.raw, self.marks)


class Places:
    """The places of a line's characters, copied piece by piece from left to right."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._next = 0

    def copied(self, start: int, stop: int, offset: int) -> list[Mark]:
        """The marks of `text[start:stop]` where it stands at `offset` of a new text."""
        marks = self._line.marks
        copies = [Mark(offset, *self._line.at(start))]
        while self._next < len(marks) and marks[self._next].offset < stop:
            mark = marks[self._next]
            if mark.offset > start:
                copies.append(mark._replace(offset=mark.offset - start + offset))
            self._next += 1
        return copies


def join(parts: list[Line]) -> Line:
    """Lines that a terminal had cut, as one."""
    if len(parts) == 1:
        return parts[0]
    marks: list[Mark] = []
    length = 0
    for part in parts:
        for mark in part.marks:
            # Where a prefix was dropped from the part, its mark stands before the part, which is now inside another.
            dropped = max(0, -mark.offset)
            marks.append(Mark(mark.offset + dropped + length, mark.line, mark.column + dropped))
        length += len(part.text)
    return Line("".join(part.text for part in parts), parts[0].raw, tuple(marks))


def strip_escapes(line: Line) -> Line:
    """The line without escape sequences."""
    if "\x1b" not in line.text and "[" not in line.text:
        return line
    return _rewrite(line, _ESCAPES, lambda _: "")


def plain_quotes(line: Line) -> Line:
    """The line with the quotes that an editor had rounded straight again."""
    return line._replace(text=line.text.translate(_ROUND))


def decode_entities(line: Line) -> Line:
    """The line with the characters that a page had escaped."""
    return _rewrite(line, _ENTITIES, lambda match: _CHARACTERS[match.group(1)]) if "&" in line.text else line


def _rewrite(line: Line, pattern: re.Pattern[str], write: Callable[[re.Match[str]], str]) -> Line:
    """The line with what matches the pattern written otherwise, each character still knowing its place."""
    text = line.text
    pieces: list[str] = []
    marks: list[Mark] = []
    places = Places(line)
    start = length = 0
    for match in [*islice(pattern.finditer(text), _MOST_ESCAPES), None]:
        stop = match.start() if match else len(text)
        marks.extend(places.copied(start, stop, length))
        written = write(match) if match else ""
        pieces += text[start:stop], written
        length += stop - start + len(written)
        if match is None:
            break
        start = match.end()
    if not start:
        return line
    if len(marks) > _MOST_ESCAPES:
        pieces[-2] = pattern.sub(write, pieces[-2])
    return Line("".join(pieces), line.raw, tuple(marks))


def split_returns(raw: str, number: int) -> list[Line]:
    """The pieces of a physical line between carriage returns: a progress bar paints over itself with them."""
    start = 1 if number == 1 and raw.startswith("\ufeff") else 0
    end = len(raw)
    while end > start and raw[end - 1] == "\r":
        end -= 1
    lines: list[Line] = []
    while start < end or not lines:
        stop = raw.find("\r", start, end)
        stop = end if stop < 0 else stop
        if (stop > start and not _is_bar(raw, start, stop)) or stop == end:
            lines.append(Line(raw[start:stop], raw, (Mark(0, number, start + 1),)))
        start = stop + 1
    return lines


def _is_bar(raw: str, start: int, stop: int) -> bool:
    """Whether the piece is a progress bar and nothing else; the last piece of a line is always read."""
    piece = raw[start:stop]
    return ("it/s" in piece or "s/it" in piece) and "Traceback" not in piece and "Error" not in piece
