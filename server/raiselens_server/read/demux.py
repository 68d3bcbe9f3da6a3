"""One log, many speakers: lines go to the stream of the process that printed them, and each stream reads its units."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from raiselens_server.read.embedded import unraised_above
from raiselens_server.read.formats import ipython, lone, native, pytest, python, rich
from raiselens_server.read.kinds import HEADER, FrameLine, Header, Link, classify, parse_frame
from raiselens_server.read.learned import Template, learn, speaker
from raiselens_server.read.lines import Line, join, strip_escapes
from raiselens_server.read.prefix import NONE, Prefix, split_prefix
from raiselens_server.read.torn import tear
from raiselens_server.read.unwrap import unwrap

if TYPE_CHECKING:
    from raiselens_server.read.draft import Draft, Unit

_REPEATED = re.compile(r" \[repeated (\d+)x across cluster\](?: \(Ray [^\n]*)?$")
_STALE_MESSAGE = 400
_STALE_FRAMES = 5_000
_MAX_STREAMS = 512
_MAX_TEMPLATES = 8
_MAX_PARTS = 4_096
# An error that was never raised, the sentence that links it, and a blank line on either side of that.
_MOST_ABOVE = 4
_LONGEST_ABOVE = 4_096

_LOUD = frozenset({"ERROR", "CRITICAL", "FATAL"})
_BORDERS = (" │", " ┃", " ║")

# What is printed above the traceback of an error that ends a thread, a task or a child, but not the program.
_SURVIVED = ("Exception in thread", "Exception in callback", "Task exception was", "Future exception was", "Process ")

# Units that only lines of their own record may go on with.
_SINGLE = (lone.LoneUnit, native.TerminateUnit, native.DiagnosticUnit, native.CompilerAbortUnit)


class Format(Protocol):
    """A unit of text that is being read."""

    tag: str
    level: str

    def feed(self, line: Line) -> bool:
        """Take a line, or say that the unit is over."""

    def close(self) -> Unit | None:
        """The errors of the unit."""

    def held(self) -> list[Line]:
        """Lines that were taken and belong to no message: they are read again."""


@dataclass(slots=True)
class Stream:
    """What one speaker has open. `shape` is the prefix's shape on the lines of the unit's body, once that is known."""

    key: str
    unit: Format | None = None
    shape: str | None = None
    seen: int = 0


@dataclass(slots=True)
class _Hypothesis:
    """Text stood before a header: a prefix of every line, or of that one only."""

    template: Template
    stream: Stream
    until: int
    number: int
    """The header's line."""
    above: tuple[Line, ...]
    """The lines above it."""


@dataclass(slots=True)
class Closed:
    """A unit that is complete; `brief` where it is one line that may tell again what was read before."""

    unit: Unit
    brief: bool


@dataclass(slots=True)
class Demux:
    """Lines in, closed units out."""

    out: list[Closed] = field(default_factory=list)
    streams: dict[str, Stream] = field(default_factory=dict)
    open: int = 0
    now: int = 0
    templates: list[Template] = field(default_factory=list)
    hypothesis: _Hypothesis | None = None
    last: Stream | None = None
    headers: deque[Stream] = field(default_factory=lambda: deque(maxlen=16))
    """The streams in which a header was read last: frames without a prefix may be those of one of them."""
    parts: dict[str, list[Line]] = field(default_factory=dict)
    above: deque[Line] = field(default_factory=lambda: deque(maxlen=_MOST_ABOVE))
    """The lines that were read last."""
    ignored_at: int = -9
    survived_at: int = -9

    def quiet(self) -> bool:
        """Whether nothing is open, so that lines without a marker cannot matter."""
        return self.open == 0 and self.hypothesis is None and not self.parts

    def feed(self, line: Line) -> None:
        """Take the next line."""
        for piece in tear(line):
            self._feed_piece(piece)
        if len(line.text) <= _LONGEST_ABOVE:
            self.above.append(line)
        else:
            self.above.clear()

    def _feed_piece(self, line: Line) -> None:
        self.now += 1
        if self.now % 128 == 0:
            self._sweep()
        prefix, content = self._split(line)
        if self.hypothesis is not None and self._confirms(self.hypothesis, content):
            prefix, content = self._split(line)
            self._adopt_learned(self.hypothesis, prefix)
        if prefix.part or prefix.key in self.parts:
            content = self._whole(content, prefix)
            if prefix.part:
                return
        wrapped = unwrap(content)
        if wrapped is None and prefix.cut:
            wrapped = unwrap(line)
        if wrapped is None:
            json_stream = self.streams.get("json")
            if json_stream is not None and json_stream.unit is not None:
                self._close(json_stream)
            self._route(content, prefix)
            return
        if not wrapped.block:
            for sub, rest in [self._split(strip_escapes(part)) for part in wrapped.lines]:
                keyed = sub if sub.key or content.text[:1] == "{" else sub._replace(key="json")
                keyed = keyed if keyed.level else keyed._replace(level=wrapped.level or prefix.level)
                self._route(rest, keyed)
            return
        stream = Stream(f"block {self.now}")
        for part in wrapped.lines:
            sub, rest = self._split(strip_escapes(part))
            self._offer(stream, rest, sub._replace(level=sub.level or wrapped.level, bound=True))
        self._close(stream)

    def settle(self) -> None:
        """Close everything that is open."""
        self.hypothesis = None
        self.parts.clear()
        for stream in list(self.streams.values()):
            self._close(stream)
        self.streams.clear()

    def _split(self, line: Line) -> tuple[Prefix, Line]:
        """The line's prefix, known pieces and learned ones, and what stands behind it."""
        line = self._unframed(line)
        prefix = split_prefix(line.text)
        content = line.drop(prefix.cut)
        for template in self.templates:
            found = template.match(content.text)
            if found is None:
                continue
            cut, key = found
            content = content.drop(cut).keep(len(template.trim(content.text)) - cut)
            inner = split_prefix(content.text)
            content = content.drop(inner.cut)
            key = " ".join(part for part in (prefix.key, key, inner.key) if part)
            shape = f"{prefix.shape}|{key}|{inner.shape}"
            level = inner.level or prefix.level
            return Prefix(prefix.cut + cut + inner.cut, key, shape, level, bound=False), content
        if prefix.cut and content.text.endswith((")", "cluster]")):
            repeated = _REPEATED.search(content.text[-400:])
            if repeated is not None:
                content = content.keep(len(content.text) - len(repeated.group()))
        return prefix, content

    def _unframed(self, line: Line) -> Line:
        """The line without the right border of the window that it was copied from; a box of its own keeps its sides."""
        bare = line.text.rstrip()
        if not bare.endswith(_BORDERS) or any(isinstance(each.unit, rich.RichUnit) for each in self.streams.values()):
            return line
        return line.keep(len(bare[:-1].rstrip()))

    def _route(self, line: Line, prefix: Prefix) -> None:
        """Find the stream that the line belongs to."""
        key = prefix.key
        if not prefix.cut and self.open and not line.text.strip() and self._blank_of_record(line):
            return
        if self.open and prefix.cut:
            plain = self.streams.get("")
            if plain is not None and plain.unit is not None and plain.shape != prefix.shape and key:
                self._interrupt(plain)
        stream = self.streams.get(key)
        if stream is None:
            if not prefix.cut or self._may_open(line):
                stream = self._stream(key)
            else:
                return
        if self.open and not key:
            self._adopt(stream, line)
        stream.seen = self.now
        self.last = stream
        self._offer(stream, line, prefix)

    def _blank_of_record(self, line: Line) -> bool:
        """Some printers put their prefix before every line but the blank ones; such a line is of the record around it."""
        last = self.last
        if last is None or last.unit is None or not last.key or last.seen != self.now - 1:
            return False
        last.seen = self.now
        self._offer(last, line, NONE._replace(shape=last.shape or ""))
        return True

    def _stream(self, key: str) -> Stream:
        if len(self.streams) >= _MAX_STREAMS:
            oldest = next(name for name in self.streams if name)
            self._close(self.streams.pop(oldest))
        stream = self.streams[key] = Stream(key, seen=self.now)
        return stream

    def _adopt(self, plain: Stream, line: Line) -> None:
        """A header named its speaker, its frames do not: the unit goes on in the stream of nobody."""
        if plain.unit is not None and not isinstance(plain.unit, lone.LoneUnit):
            return
        if not isinstance(classify(line.text), FrameLine):
            return
        for stream in reversed(self.headers):
            unit = stream.unit
            waiting = isinstance(unit, python.PythonUnit) and stream.shape is None and not unit.started()
            if stream is plain or not waiting or self.now - stream.seen > 8:
                continue
            self._close(plain)
            plain.unit, plain.shape, stream.unit = unit, None, None
            return

    def _confirms(self, guess: _Hypothesis, line: Line) -> bool:
        """Whether the line shows that what stood before the header stands before every line."""
        found = guess.template.match(line.text)
        rest = line.text[found[0] :].lstrip(" \t|") if found is not None else ""
        if rest.startswith('File "') or (rest.startswith(HEADER) and guess.template.is_tag):
            lead = line.text[: found[0]] if found is not None and rest.startswith('File "') else ""
            guess.template = guess.template.counting(lead, line.number - guess.number)
            self.templates = [guess.template, *self.templates][:_MAX_TEMPLATES]
            return True
        if self.now > guess.until or isinstance(classify(line.text), FrameLine):
            self.hypothesis = None
        return False

    def _adopt_learned(self, guess: _Hypothesis, prefix: Prefix) -> None:
        """The header's unit goes on in the stream that the learned prefix names."""
        self.hypothesis = None
        unit, guess.stream.unit = guess.stream.unit, None
        if unit is None:
            return
        target = self.streams.get(prefix.key) or self._stream(prefix.key)
        self._close(target)
        target.unit, target.shape = unit, None
        unit.tag = speaker(prefix.key)
        if isinstance(unit, python.PythonUnit):
            unit.parts_from_others()
            unraised = unraised_above([line for each in guess.above for line in guess.template.bare_lines(each)])
            if unraised is not None:
                unit.precede(*unraised)

    def _whole(self, line: Line, prefix: Prefix) -> Line:
        """A line that the collector had cut, put together; its parts are kept until the last of them comes."""
        parts = self.parts.setdefault(prefix.key, [])
        parts.append(line)
        if prefix.part:
            if len(parts) > _MAX_PARTS:
                del parts[-1]
            return line
        del self.parts[prefix.key]
        return join(parts)

    def _offer(self, stream: Stream, line: Line, prefix: Prefix) -> None:
        """Feed the stream's unit, or begin one; lines that a closed unit gives back are read again."""
        queue = deque([line])
        while queue:
            part = queue.popleft()
            if stream.unit is not None and self._feed(stream, part, prefix):
                continue
            if stream.unit is not None:
                again = [held for held in self._close(stream) if held.text.strip()]
                if again:
                    queue.appendleft(part)
                    queue.extendleft(reversed(again))
                    continue
            self._begin(stream, part, prefix)

    def _feed(self, stream: Stream, line: Line, prefix: Prefix) -> bool:
        unit = stream.unit
        if unit is None:
            return False
        link = classify(line.text) if isinstance(unit, lone.LoneUnit) and not unit.quoting else None
        if isinstance(unit, lone.LoneUnit) and isinstance(link, Link):
            first = unit.linked()
            if first is None:
                return False
            stream.unit = python.chained(first, link, unit.tag, unit.level, survived=unit.survived)
            stream.shape = None
            return True
        other = self._after_unraised(unit, line)
        if other is not None:
            unit = stream.unit = other
            stream.shape = None if isinstance(other, python.PythonUnit) else prefix.shape
        if isinstance(unit, python.PythonUnit):
            if stream.shape is None and line.text.strip():
                if not unit.started() and isinstance(classify(line.text), FrameLine):
                    stream.shape = prefix.shape
                    unit.bind(whole=prefix.bound)
                elif unit.started():
                    stream.shape = prefix.shape
            elif stream.shape is not None and prefix.bound and prefix.extends(stream.shape):
                return unit.feed(self._uncut(line, prefix, stream.shape))
            elif stream.shape is not None and prefix.shape != stream.shape and (prefix.cut or line.text.strip()):
                return unit.interrupt()
        elif prefix.cut and prefix.shape != stream.shape and isinstance(unit, _SINGLE):
            return False
        return unit.feed(line)

    @staticmethod
    def _after_unraised(unit: Format, line: Line) -> Format | None:
        """The unit that goes on with a chain whose first errors were never raised: they look the same in every format."""
        errors: list[Draft]
        match unit:
            case python.PythonUnit() if rich.opens(line):
                errors = unit.unraised()
                return rich.RichUnit(unit.tag, unit.level, errors) if errors else None
            case python.PythonUnit() if line.text.startswith("E   "):
                errors = unit.unraised()
                return pytest.PytestUnit(unit.tag, unit.level, errors) if errors else None
            case pytest.PytestUnit() if isinstance(classify(line.text), Header):
                errors = unit.unraised_chain()
                return python.continued(errors, unit.tag, unit.level) if errors else None
            case _:
                return None

    @staticmethod
    def _uncut(line: Line, prefix: Prefix, shape: str) -> Line:
        """The line with what only looked like a further prefix put back: within one record it is text."""
        lost = prefix.cut - prefix.length_of(shape)
        return line.restore(lost)

    def _interrupt(self, stream: Stream) -> None:
        unit = stream.unit
        over = isinstance(unit, _SINGLE)
        if isinstance(unit, python.PythonUnit):
            over = not unit.interrupt()
        if over:
            for held in self._close(stream):
                if held.text.strip():
                    self._offer(stream, held, NONE)

    def _close(self, stream: Stream) -> list[Line]:
        unit = stream.unit
        if unit is None:
            return []
        stream.unit = stream.shape = None
        self.open -= 1
        closed = unit.close()
        if closed is not None:
            self.out.append(Closed(closed, isinstance(unit, (pytest.SummaryUnit, lone.LoneUnit))))
        return unit.held()

    def _begin(self, stream: Stream, line: Line, prefix: Prefix) -> None:
        """Begin a unit at the line, if one begins there."""
        if not self._may_open(line):
            return
        unit = None if line.text.startswith('> File "') else _open(line)
        if unit is None and prefix.level in _LOUD:
            told = lone.told_at(line.text)
            unit = lone.LoneUnit(told_at=told) if told else None
        if unit is None:
            self._learn_at(line)
            return
        unit.tag, unit.level = unit.tag or speaker(prefix.key), prefix.level
        stream.unit = unit
        self.open += 1
        match unit:
            case python.PythonUnit():
                self._begin_python(stream, unit, line, prefix)
            case lone.LoneUnit():
                stream.shape = prefix.shape
                unit.survived = self.now - self.survived_at <= 3
                unit.whole = prefix.bound and stream.key.startswith("block")
            case _:
                stream.shape = prefix.shape
        if not unit.feed(line):
            self._close(stream)

    def _begin_python(self, stream: Stream, unit: python.PythonUnit, line: Line, prefix: Prefix) -> None:
        unit.ignored = self.now - self.ignored_at <= 2
        unit.survived = self.now - self.survived_at <= 3
        kind = classify(line.text)
        if isinstance(kind, FrameLine):
            stream.shape = prefix.shape
            unit.whole = prefix.bound
        else:
            self.headers.append(stream)
        lead = line.text[: kind.offset] if isinstance(kind, Header) else ""
        if isinstance(kind, Header) and lead.strip(" +"):
            text = line.text
            # The margin of a group is no prefix.
            template = learn(
                lead.removesuffix("+ ").removesuffix("  ") if kind.group else lead,
                text.partition(HEADER)[2].removeprefix(":"),
            )
            if template is not None:
                self.hypothesis = _Hypothesis(template, stream, self.now + 24, line.number, tuple(self.above))

    def _learn_at(self, line: Line) -> None:
        """Learn from a frame behind a prefix of unknown shape, in a text whose head was cut off, and read it so."""
        at = line.text[:400].find('File "')
        if at <= 0 or parse_frame(line.text[at:], 0) is None:
            return
        lead = line.text[:at]
        template = learn(lead[:-2] if lead.endswith("  ") and lead.strip() else lead)
        if template is None:
            return
        self.templates = [template, *self.templates][:_MAX_TEMPLATES]
        rest_prefix, rest = self._split(line)
        self._route(rest, rest_prefix)

    def _may_open(self, line: Line) -> bool:
        text = line.text
        if text.startswith("Exception ignored"):
            self.ignored_at = self.now
        elif text.startswith(_SURVIVED) and (text[0] != "P" or text.endswith(":")):
            self.survived_at = self.now
        return len(text) > 3

    def _sweep(self) -> None:
        """Close units whose speaker has long been silent."""
        for stream in list(self.streams.values()):
            unit = stream.unit
            if unit is None:
                continue
            patience = _STALE_FRAMES
            if not isinstance(unit, python.PythonUnit) or unit.in_message():
                patience = _STALE_MESSAGE
            if self.now - stream.seen > patience:
                self._close(stream)


def _open(line: Line) -> Format | None:
    """The unit that begins at the line, if one does. More telling shapes come first."""
    if rich.opens(line):
        return rich.RichUnit()
    if ipython.opens(line):
        return ipython.IPythonUnit()
    if pytest.opens_summary(line):
        return pytest.SummaryUnit()
    if pytest.opens_stop(line):
        return pytest.StopUnit()
    if python.opens(line):
        return python.PythonUnit()
    if native.opens_terminate(line):
        return native.TerminateUnit()
    if native.opens_fatal(line):
        return native.FatalUnit()
    if native.opens_diagnostic(line):
        return native.DiagnosticUnit()
    if native.opens_compiler_abort(line):
        return native.CompilerAbortUnit()
    if pytest.opens(line):
        return pytest.PytestUnit()
    if lone.opens(line):
        return lone.LoneUnit()
    return None
