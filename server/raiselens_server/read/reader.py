"""The reader: bytes to lines where they matter, lines to units, units to errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raiselens_server.read.demux import Demux
from raiselens_server.read.embedded import with_quoted
from raiselens_server.read.fold import Fold
from raiselens_server.read.gate import Gate
from raiselens_server.read.lines import decode_entities, plain_quotes, split_returns, strip_escapes
from raiselens_server.read.primary import choose
from raiselens_server.read.reading import Reading
from raiselens_server.read.roles import mark_roles
from raiselens_server.read.wrap import Unwrapper

if TYPE_CHECKING:
    from raiselens_server.error import RaisedError
    from raiselens_server.read.lines import Line

_BLOCK = 1 << 18
# A marker may stand a little below the line that says what it is.
_LOOK_BACK = 4


class Reader:
    """Reads a text piece by piece: constant memory, linear time, each error as soon as it is complete.

    `gated=False` reads every line; the result is the same, only slower.
    """

    def __init__(self, *, gated: bool = True) -> None:
        self._gate = Gate() if gated else None
        self._tail: list[bytes] = []
        self._number = 1
        self._above = b""
        """The last lines that were passed over: what comes next may need them."""
        self._wrap = Unwrapper()
        self._demux = Demux()
        self._fold = Fold()
        self._escaped = False
        """Whether a frame was seen whose quotes a page had escaped."""
        self.lines_read = 0
        """How many lines were read one by one: what a test counts instead of seconds."""

    def feed(self, text: str | bytes) -> tuple[RaisedError, ...]:
        """Take the next piece of the text (UTF-8 if bytes); return the errors that it completed.

        Only first occurrences are returned; what is told again is counted in `reading()`.
        """
        data = text.encode("utf-8", "replace") if isinstance(text, str) else text
        end = data.rfind(b"\n") + 1
        if not end:
            self._tail.append(data)
            return ()
        self._tail.append(data[:end])
        whole = b"".join(self._tail)
        self._tail = [data[end:]] if end < len(data) else []
        at = 0
        while at < len(whole):
            stop = len(whole) if len(whole) - at <= _BLOCK else whole.find(b"\n", at + _BLOCK) + 1
            self._block(whole[at:stop] if at or stop < len(whole) else whole)
            at = stop
        return self._collect()

    def settle(self) -> tuple[RaisedError, ...]:
        """Return the errors that are complete if nothing follows: for a stream that is idle. Reading may go on."""
        for line in self._wrap.flush():
            self._demux.feed(line)
        self._demux.settle()
        return self._collect()

    def finish(self) -> tuple[RaisedError, ...]:
        """End the text; return the errors that its end completed."""
        if self._tail:
            data = b"".join(self._tail)
            self._tail = []
            if data:
                self._block(data)
        return self.settle()

    def reading(self) -> Reading:
        """Everything read so far, folded, in the order of its lines, with the primary error chosen."""
        choice = choose(self._fold.units)
        drafts = [draft for unit in self._fold.units for draft in unit.errors]
        order = sorted(range(len(drafts)), key=lambda index: drafts[index].line)
        errors = tuple(drafts[index].finish() for index in order)
        if choice is None:
            return Reading(errors)
        primary = next(at for at, index in enumerate(order) if drafts[index] is choice.draft)
        return Reading(errors, primary, choice.why if primary < len(errors) - 1 else "")

    def _block(self, data: bytes) -> None:
        """Read a block of whole lines: line by line from each marker on, until nothing is open."""
        hits: list[int] | None = None
        if self._gate is not None:
            self._number -= _lines_in(self._above)
            data, self._above = self._above + data, b""
            hits = self._gate.hits(data)
        at = index = 0
        while at < len(data):
            end = data.find(b"\n", at) + 1 or len(data)
            if hits is not None and not self._wrap.parts and self._demux.quiet():
                while index < len(hits) and hits[index] < at:
                    index += 1
                if index == len(hits):
                    self._number += _lines_in(data[at:] if at else data)
                    self._above = data[_back(data, at, len(data) - 1) :]
                    return
                start = _back(data, at, hits[index])
                self._number += _lines_in(data[at:start])
                at = start
                end = data.find(b"\n", hits[index]) + 1 or len(data)
            for raw in data[at:end].removesuffix(b"\n").split(b"\n"):
                self._line(raw.decode("utf-8", "replace"))
            at = end

    def _line(self, raw: str) -> None:
        self.lines_read += 1
        for piece in split_returns(raw, self._number):
            for line in self._wrap.feed(self._as_printed(piece)):
                self._demux.feed(line)
        self._number += 1

    def _as_printed(self, line: Line) -> Line:
        """The line without escape sequences, and as it was before a page or an editor changed its marks."""
        line = strip_escapes(line)
        if "File &" in line.text and 'File "' in decode_entities(line).text:
            self._escaped = True
        if self._escaped:
            line = decode_entities(line)
        return plain_quotes(line) if "File “" in line.text else line

    def _collect(self) -> tuple[RaisedError, ...]:
        new: list[RaisedError] = []
        for closed in self._demux.out:
            unit = closed.unit
            unit.errors = with_quoted(unit.errors)
            mark_roles(unit)
            kept = self._fold.add(unit, brief=closed.brief)
            if kept is not None:
                new.extend(draft.finish() for draft in kept.errors)
        self._demux.out.clear()
        return tuple(new)


def _back(data: bytes, floor: int, hit: int) -> int:
    """The start of the line some lines above the marker, but not before `floor`."""
    at = hit
    for _ in range(_LOOK_BACK + 1):
        at = data.rfind(b"\n", floor, at)
        if at < 0:
            return floor
    return at + 1


def _lines_in(data: bytes) -> int:
    """How many lines end in `data`. Deleting is five times as fast as `count`, whose loop goes byte by byte."""
    return len(data) - len(data.replace(b"\n", b""))
