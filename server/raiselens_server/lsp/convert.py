r"""Between the protocol and ours: the only file that converts.

The protocol counts lines at `\n`, `\r\n` and `\r`, from 0, and columns in UTF-16 units or bytes. Ours are those of
`error.Span`: lines end at `\n` only, columns count characters, both from 1.
"""

from __future__ import annotations

import enum
import io
from bisect import bisect_right
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls import uris

from raiselens_server.error import Observed, Role, Severity, Span
from raiselens_server.present.headline import headline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from raiselens_server.error import Diagnosis, Edit, Foreseen, Place

SOURCE = "raiselens"

SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
}

ROLE_SEVERITIES = {
    Role.ROOT: types.DiagnosticSeverity.Error,
    Role.GROUP_MEMBER: types.DiagnosticSeverity.Error,
    Role.CAUSE: types.DiagnosticSeverity.Warning,
    Role.CONTEXT: types.DiagnosticSeverity.Information,
    Role.SUMMARY: types.DiagnosticSeverity.Information,
    Role.WARNING: types.DiagnosticSeverity.Warning,
}

MOST_FRAMES = 5
"""Frames of a log's error that are offered as places to go to."""


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


def finding_diagnostic(
    diagnosis: Diagnosis, origin: Foreseen, table_of: Callable[[str], FrozenTable | None], href: str | None
) -> types.Diagnostic:
    """A foreseen error. `table_of` gives the lines of a file, where it can be read."""
    when = f" (where {origin.when})" if origin.when is not None else ""
    table = table_of(origin.place.file)
    return types.Diagnostic(
        range=_range(origin.place, table),
        message=headline(diagnosis.error) + when,
        severity=SEVERITIES[origin.severity],
        source=SOURCE,
        code=diagnosis.rule,
        code_description=None if href is None else types.CodeDescription(href),
        related_information=list(_related(diagnosis, origin, table_of)) or None,
    )


def observed_diagnostic(
    diagnosis: Diagnosis,
    table: FrozenTable,
    href: str | None,
    *,
    primary: bool,
) -> types.Diagnostic | None:
    """An error of a log, on the line that names it; the primary one is what to look at, the others lead there."""
    origin = diagnosis.error.origin
    if not isinstance(origin, Observed):
        return None
    severity = types.DiagnosticSeverity.Error if primary else ROLE_SEVERITIES[origin.role]
    ranks = f" ({', '.join(origin.ranks)})" if origin.ranks else ""
    code = diagnosis.rule or diagnosis.error.class_name or None
    return types.Diagnostic(
        range=table.rest_of_line(origin.line, origin.column),
        message=headline(diagnosis.error) + ranks,
        severity=severity,
        source=SOURCE,
        code=code,
        code_description=None if href is None or code is None else types.CodeDescription(href),
        related_information=list(_frames(diagnosis)) or None,
    )


def _frames(diagnosis: Diagnosis) -> Iterable[types.DiagnosticRelatedInformation]:
    """The innermost frames whose files are on this machine."""
    here = [frame for frame in diagnosis.error.frames if Path(frame.file).is_absolute() and Path(frame.file).is_file()]
    for frame in reversed(here[-MOST_FRAMES:]):
        start = types.Position(max(frame.line - 1, 0), 0)
        location = types.Location(uri_of(frame.file), types.Range(start, start))
        yield types.DiagnosticRelatedInformation(location, f"in {frame.function}")


def _related(
    diagnosis: Diagnosis, origin: Foreseen, table_of: Callable[[str], FrozenTable | None]
) -> Iterable[types.DiagnosticRelatedInformation]:
    for related in origin.related:
        place = _range(related.place, table_of(related.place.file))
        location = types.Location(uri_of(related.place.file), place)
        yield types.DiagnosticRelatedInformation(location, related.message)
    if diagnosis.error.frames and origin.condition:
        guard = diagnosis.error.frames[-1]
        if (guard.file, guard.line) != (origin.place.file, origin.place.span.line):
            start = types.Position(max(guard.line - 1, 0), 0)
            location = types.Location(uri_of(guard.file), types.Range(start, start))
            yield types.DiagnosticRelatedInformation(location, f"raised in {guard.function}: {origin.condition}")


def _range(place: Place, table: FrozenTable | None) -> types.Range:
    if table is not None:
        return table.range(place.span)
    # Without the text every character counts for one.
    span = place.span
    return types.Range(
        types.Position(span.line - 1, span.column - 1), types.Position(span.end_line - 1, span.end_column - 1)
    )


def workspace_edit(edits: Iterable[Edit], table_of: Callable[[str], FrozenTable | None]) -> types.WorkspaceEdit:
    """Edits, by document."""
    changes: dict[str, list[types.TextEdit]] = {}
    for edit in edits:
        place = edit.place
        changes.setdefault(uri_of(place.file), []).append(
            types.TextEdit(_range(place, table_of(place.file)), edit.text)
        )
    return types.WorkspaceEdit(changes=changes)
