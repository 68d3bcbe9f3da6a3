r"""The line index: between the protocol's positions and ours.

The protocol counts lines at `\n`, `\r\n` and `\r`, from 0, and columns in UTF-16 units or bytes. Ours are those of
`error.Span`: lines end at `\n` only, columns count characters, both from 1.
"""

from __future__ import annotations

import enum
import io
from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls import uris

if TYPE_CHECKING:
    from pathlib import Path

    from raiselens_server.error import Span


class Encoding(enum.Enum):
    """How the client counts columns."""

    UTF8 = "utf-8"
    UTF16 = "utf-16"
    UTF32 = "utf-32"

    @classmethod
    def of(cls, kind: object) -> Encoding:
        """The encoding that was agreed on; UTF-16 where none was."""
        value = kind.value if isinstance(kind, enum.Enum) else kind
        return cls(value) if value in {member.value for member in cls} else cls.UTF16

    def units(self, text: str) -> int:
        """The length of `text` as the client counts it."""
        if text.isascii() or self is Encoding.UTF32:
            return len(text)
        if self is Encoding.UTF8:
            return len(text.encode("utf-8", "surrogatepass"))
        return len(text) + sum(character > "\uffff" for character in text)

    def index(self, text: str, units: int) -> int:
        """The character that `units` lie before; one in the middle of a character counts to its beginning."""
        if text.isascii() or self is Encoding.UTF32:
            return min(units, len(text))
        seen = 0
        for at, character in enumerate(text):
            seen += self.units(character)
            if seen > units:
                return at
        return len(text)


class LineTable:
    """The lines of a text (each with its end), and conversions of places in it. `lines` may be changed by its owner."""

    def __init__(self, lines: list[str], encoding: Encoding) -> None:
        self.lines = lines
        self._encoding = encoding

    def index_of(self, position: types.Position) -> tuple[int, int]:
        """The line and character (from 0) of a position, moved into the text where it lies outside."""
        line = position.line
        if line >= len(self.lines):
            if self.lines and not self.lines[-1].endswith(("\n", "\r")):
                return len(self.lines) - 1, len(self.lines[-1])
            return len(self.lines), 0
        return line, self._encoding.index(self.lines[line].rstrip("\r\n"), position.character)

    def frozen(self) -> FrozenTable:
        """The table as it is now, for another thread."""
        return FrozenTable(list(self.lines), self._encoding)


class FrozenTable(LineTable):
    """A table whose lines do not change any more."""

    @cached_property
    def _starts(self) -> list[int]:
        """The index in `lines` where each of our lines starts."""
        return [0, *(at + 1 for at, line in enumerate(self.lines) if line.endswith("\n"))]

    def point(self, position: types.Position) -> tuple[int, int]:
        """A position as our line and column."""
        at, column = self.index_of(position)
        ours = bisect_right(self._starts, at)
        column += sum(len(line) for line in self.lines[self._starts[ours - 1] : at])
        return ours, column + 1

    def position(self, line: int, column: int) -> types.Position:
        """Our line and column as a position, moved into the text where it lies outside."""
        if line < 1 or line > len(self._starts):
            return types.Position(max(len(self.lines) - 1, 0) if line > 1 else 0, 0)
        at, left = self._starts[line - 1], max(column - 1, 0)
        while at < len(self.lines) - 1 and left >= len(self.lines[at]) and not self.lines[at].endswith("\n"):
            left -= len(self.lines[at])
            at += 1
        text = self.lines[at].rstrip("\r\n") if at < len(self.lines) else ""
        return types.Position(at, self._encoding.units(text[:left]))

    def range(self, span: Span) -> types.Range:
        """A span as a range."""
        return types.Range(self.position(span.line, span.column), self.position(span.end_line, span.end_column))

    def rest_of_line(self, line: int, column: int) -> types.Range:
        """From a place to the end of its line."""
        start = self.position(line, column)
        text = self.lines[start.line].rstrip("\r\n") if start.line < len(self.lines) else ""
        return types.Range(start, types.Position(start.line, max(self._encoding.units(text), start.character)))

    def changes_to(self, text: str) -> list[types.TextEdit]:
        """One edit that makes these lines into `text`, and touches only lines that differ."""
        old, new = self.lines, split_lines(text)
        head = 0
        while head < min(len(old), len(new)) and old[head] == new[head]:
            head += 1
        tail = 0
        while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
            tail += 1
        if head == len(old) == len(new):
            return []
        where = types.Range(types.Position(head, 0), self._end_before(len(old) - tail))
        return [types.TextEdit(where, "".join(new[head : len(new) - tail]))]

    def _end_before(self, line: int) -> types.Position:
        """The start of a line; past the last one, the end of a text whose last line has no end."""
        if line == len(self.lines) and self.lines and not self.lines[-1].endswith(("\n", "\r")):
            return types.Position(line - 1, self._encoding.units(self.lines[-1]))
        return types.Position(line, 0)


def split_lines(text: str) -> list[str]:
    """The lines of `text`, each with its end; the last one may have none, and a text that ends in one has no more."""
    return list(io.StringIO(text, newline=""))


def range_of(span: Span, table: FrozenTable | None) -> types.Range:
    """A span of a file by its lines; without them every character counts for one."""
    if table is not None:
        return table.range(span)
    return types.Range(
        types.Position(span.line - 1, span.column - 1), types.Position(span.end_line - 1, span.end_column - 1)
    )


def path_of(uri: str, root: Path) -> str:
    """The path that a document goes by; one that is in no file gets a name below `root`."""
    path = uris.to_fs_path(uri)
    if path is not None:
        return path
    name = unquote(urlsplit(uri).path).strip("/").replace("/", "-") or "untitled"
    return str(root / (name if name.endswith(".py") else f"{name}.py"))


def uri_of(path: str) -> str:
    """A file's URI."""
    return uris.from_fs_path(path) or path
