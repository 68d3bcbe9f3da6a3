"""CPython's tracebacks, 3.8 to 3.14: carets, elided lines, notes, chains, exception groups; with or without a head.

A unit is everything that one call of the traceback printer wrote: the links of the chain, each with the members of
its group. Loguru prints the same with values between the frames.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from raiselens_server.error import Frame, Role
from raiselens_server.read.draft import Draft, Unit, frame
from raiselens_server.read.kinds import (
    Blank,
    Elided,
    FrameLine,
    Header,
    Kind,
    Link,
    Separator,
    Text,
    classify,
)
from raiselens_server.read.message import Message, ends_message
from raiselens_server.read.names import is_exception_class, is_plausible_class, split_class
from raiselens_server.read.torn import Echoes, undouble

if TYPE_CHECKING:
    from raiselens_server.read.lines import Line

_MAX_FRAMES = 4_000
_MAX_NOISE = 60
_MAX_BLANKS = 12
_LONGEST_SOURCE = 1_000


class _At(enum.Enum):
    """Where in a chain the next line falls."""

    START = enum.auto()
    FRAMES = enum.auto()
    MESSAGE = enum.auto()
    LINKED = enum.auto()


@dataclass(slots=True)
class Chain:
    """The links of one chain, read line by line, margins already taken off."""

    whole: bool = False
    eager: bool = True
    quoted: bool = False
    errors: list[Draft] = field(default_factory=list)
    at: _At = _At.START
    base: int = 0
    dedented: bool = False
    double: bool = False
    frames: list[Frame] = field(default_factory=list)
    source: str = ""
    after_frame: bool = False
    blanks: int = 0
    noise: int = 0
    message: Message | None = None
    held: list[Line] = field(default_factory=list)

    @classmethod
    def linked(cls, first: Draft, link: Link, *, eager: bool = True, quoted: bool = False) -> Chain:
        """The chain whose first error was read already, up to the sentence that links it to the next."""
        first.role = Role.CAUSE if link.direct else Role.CONTEXT
        return cls(eager=eager, quoted=quoted, errors=[first], at=_At.LINKED)

    def feed(self, line: Line, kind: Kind) -> bool:
        """Take a line, or say that the chain is over."""
        if self.at is _At.MESSAGE:
            return self._in_message(line, kind)
        match kind:
            case Header():
                return self._header(kind)
            case FrameLine():
                return self._frame(line, kind)
            case Blank():
                return self._blank()
            case Elided():
                self.after_frame = False
                return True
            case Link():
                self._link(kind)
                return True
            case Separator() | Text():
                indent = kind.column if isinstance(kind, Separator) else kind.indent
                return self._text(line, indent)

    def close(self) -> list[Draft]:
        """The errors, the chain's last one last; lines that were held and belong to none stay in `held`."""
        if self.message is not None:
            self.held = self.message.held
            self.message = None
        return self.errors

    def _header(self, kind: Header) -> bool:
        if self.at is _At.FRAMES and self.frames:
            return False
        self.at = _At.FRAMES
        self.base = kind.indent
        self.frames = []
        self.dedented = self.after_frame = False
        self.blanks = self.noise = 0
        return True

    def _frame(self, line: Line, kind: FrameLine) -> bool:
        if self.at is not _At.FRAMES:
            self.at = _At.FRAMES
            self.base = max(0, kind.indent - 2)
            self.frames = []
        if kind.dumped:
            return False
        if not self.frames:
            if kind.indent < self.base:
                self.base = max(0, kind.indent - 2)
            self.dedented = kind.indent <= self.base
            self.base = max(self.base, kind.indent - 2)
        if len(self.frames) < _MAX_FRAMES:
            self.frames.append(frame(line, kind.file, kind.line, kind.function))
        self.after_frame = True
        self.source = ""
        self.blanks = 0
        return True

    def _blank(self) -> bool:
        self.blanks += 1
        if self.after_frame and self.at is _At.FRAMES:
            self.double = True
        return self.blanks <= _MAX_BLANKS

    def _text(self, line: Line, indent: int) -> bool:
        text = line.text
        if self.at is _At.START:
            return False
        if self.at is _At.LINKED and not self.frames:
            return self._class_line(line, indent) or self._skip()
        if indent > self.base and not self.dedented:
            self._source(text)
            return True
        if self.dedented and self.after_frame and not self._names_class(text[indent:]):
            self._source(text)
            return True
        if self._class_line(line, indent):
            return True
        if self.dedented:
            self._source(text)
            return self.blanks < 3 and self._skip()
        return self._skip()

    def _source(self, text: str) -> None:
        stripped = text.strip()
        if self.after_frame and self.frames and not self.frames[-1].source:
            self.frames[-1] = replace(self.frames[-1], source=stripped[:_LONGEST_SOURCE])
        if stripped.strip("~^ ") and (self.after_frame or not self.source.startswith("raise ")):
            self.source = stripped
        self.after_frame = False
        self.blanks = 0

    def _skip(self) -> bool:
        """A line of somebody else between the frames."""
        self.noise += 1
        return self.noise <= _MAX_NOISE and (bool(self.frames) or self.noise <= 8)

    @staticmethod
    def _names_class(text: str) -> bool:
        named = split_class(text)
        return named is not None and is_exception_class(named[0])

    def _class_line(self, line: Line, indent: int) -> bool:
        named = split_class(line.text[indent:])
        if named is None or not is_plausible_class(named[0], self.source):
            return False
        name, message = named
        if not message and not is_exception_class(name) and "." not in name and name not in self.source:
            return False
        head = line.drop(indent)
        draft = Draft(name, head, len(head.text) - len(message) if message else len(head.text), self.frames)
        self.errors.append(draft)
        # A class without a colon has an empty message, so that what follows directly is rarely part of it.
        told = ":" in line.text[indent + len(name) : indent + len(name) + 1]
        self.message = Message(draft, self.eager and told, quoted=self.quoted, whole=self.whole)
        self.at = _At.MESSAGE
        return True

    def _in_message(self, line: Line, kind: Kind) -> bool:
        message = self.message
        if message is None:
            return False
        if self.double and isinstance(kind, Blank) and not message.quoting:
            return True
        match kind:
            case Link() if not message.quoting:
                message.claim()
                self.message = None
                self._link(kind)
                return True
            case Header(quoted=False, group=False) if not (
                message.expects_traceback() or _is_field(line.text, kind.offset)
            ):
                return False
            case Header(group=False):
                return message.take(line)
            case Header():
                return False
            case FrameLine(dumped=True):
                return False
            case _:
                return message.feed(line.drop(self.base) if line.text[: self.base].isspace() else line)

    def _link(self, kind: Link) -> None:
        if self.errors and self.at is not _At.FRAMES:
            self.errors[-1].role = Role.CAUSE if kind.direct else Role.CONTEXT
        elif self.errors and self.frames:
            self.errors[-1].role = Role.CONTEXT
        self.at = _At.LINKED
        self.frames = []
        self.blanks = self.noise = 0
        self.source = ""


@dataclass(slots=True)
class Level:
    """A chain at one depth of a tree of groups; `column` is where its margin stands."""

    chain: Chain
    column: int


@dataclass(slots=True)
class PythonUnit:
    """A chain, and the tree of the groups in it."""

    tag: str = ""
    level: str = ""
    whole: bool = False
    ignored: bool = False
    survived: bool = False
    """Whether the text above says that the program goes on after this error."""
    levels: list[Level] = field(default_factory=list)
    echoes: Echoes = field(default_factory=Echoes)
    told: int = 1
    done: list[Draft] = field(default_factory=list)
    grouping: bool = False
    parted: bool = True
    """Whether the last line of the group ended a member; else a message may go on, also without its margin."""
    loose: int = 0
    ended: bool = False

    def feed(self, line: Line) -> bool:
        """Take a line, or say that the unit is over."""
        if not self.levels:
            self.levels.append(Level(Chain(self.whole, not self.survived), 0))
        if self.echoes.at:
            once = undouble(line) if not self.in_message() else None
            if once is not None:
                line = once
                self.echoes.at = [len(self.echoes.history) + 1] * len(self.echoes.at)
            elif self.echoes.takes(line.text):
                return True
        kind = classify(line.text)
        if self.grouping or (isinstance(kind, Header) and kind.group):
            return self._feed_group(line, kind)
        chain = self.levels[0].chain
        if isinstance(kind, Header) and chain.at is _At.FRAMES and self.echoes.history and not kind.quoted:
            self.told += 1
            return self.echoes.begin()
        if isinstance(kind, FrameLine) and chain.at is _At.MESSAGE and self.told > 1 and self.echoes.parted():
            # It was no echo: the other traceback goes on with frames of its own.
            self.told -= 1
            return False
        self.echoes.note(line.text)
        return chain.feed(line, kind)

    def precede(self, first: Draft, link: Link) -> None:
        """The chain began with an error that was never raised, above its first header."""
        self.levels[0].chain.errors[:0] = Chain.linked(first, link).errors

    def parts_from_others(self) -> None:
        """What looked like an echo was the header of another speaker, whose prefix was not known yet."""
        self.told, self.echoes = 1, Echoes()

    def bind(self, *, whole: bool) -> None:
        """The first frame has shown the prefix of the body; `whole` if only lines of this traceback carry it."""
        self.whole = whole
        for level in self.levels:
            level.chain.whole = level.chain.whole or whole

    def started(self) -> bool:
        """Whether a frame was read."""
        return any(level.chain.frames or level.chain.errors for level in self.levels)

    def in_message(self) -> bool:
        """Whether the open chain reads a message."""
        return bool(self.levels) and self.levels[-1].chain.at is _At.MESSAGE

    def unraised(self) -> list[Draft]:
        """The errors of a chain that waits for the traceback of its next link, if none of them has a frame."""
        chain = self.levels[0].chain if len(self.levels) == 1 else None
        if chain is None or chain.at is not _At.LINKED or chain.frames or any(draft.frames for draft in chain.errors):
            return []
        return chain.errors

    def interrupt(self) -> bool:
        """Another record came; whether the unit may go on after it."""
        if self.in_message():
            return False
        chain = self.levels[-1].chain if self.levels else None
        if chain is None:
            return True
        chain.noise += 1
        return chain.noise <= _MAX_NOISE * 4

    def close(self) -> Unit | None:
        """The errors of the unit."""
        while len(self.levels) > 1:
            self._pop()
        if not self.levels:
            return None
        errors = [*self.levels[0].chain.close(), *self.done]
        if not errors:
            return None
        errors.sort(key=lambda draft: (draft.head.number, draft.order))
        for draft in errors:
            draft.noise = draft.noise or self.ignored
        raised = next((draft for draft in reversed(errors) if draft.role is Role.ROOT), errors[-1])
        raised.count = self.told
        return Unit(errors, self.tag, self.level)

    def held(self) -> list[Line]:
        """Lines that were taken but belong to no message, to be read again."""
        return self.levels[0].chain.held if self.levels else []

    def _feed_group(self, line: Line, kind: Kind) -> bool:
        text = line.text
        body = text.lstrip()
        if body.startswith("|"):
            self.parted, self.loose = False, 0
            self._feed_margin(line, len(text) - len(body))
            return True
        top = self.levels[0].chain
        if isinstance(kind, (Blank, Text)) and self._lost_margin(text):
            return self.levels[-1].chain.feed(line, kind)
        match kind:
            case Header(group=True):
                return self._group_header(line, kind)
            case Separator():
                self.parted = not kind.opens
                self._separate(kind)
                return True
            case Blank():
                top.blanks += 1
                return top.blanks <= _MAX_BLANKS
            case _:
                while len(self.levels) > 1:
                    self._pop()
                self.grouping = top.whole = False
                return isinstance(kind, Link) and top.feed(line, kind)

    def _lost_margin(self, text: str) -> bool:
        """Whether a line goes on with a message: Python 3.11 and 3.12 put the margin before its first line only."""
        self.loose += 1
        return (
            not self.parted
            and self.levels[-1].chain.at is _At.MESSAGE
            and self.loose <= _MAX_NOISE
            and not ends_message(text)
        )

    def _feed_margin(self, line: Line, column: int) -> None:
        """A line within a margin. All of them are the printer's: one that no rule takes is let go, and ends nothing."""
        while len(self.levels) > 1 and self.levels[-1].column > column and column:
            self._pop()
        inside = line.drop(column + (2 if line.text.startswith("| ", column) else 1))
        kind = classify(inside.text)
        if isinstance(kind, Header) and kind.group:
            self._group_header(inside, kind, column)
        else:
            self.levels[-1].chain.feed(inside, kind)

    def _group_header(self, line: Line, kind: Header, column: int | None = None) -> bool:
        self.grouping = True
        if column is None:
            column = max(0, kind.offset - 2) if line.text[: kind.offset].rstrip().endswith("+") else kind.offset
            top = self.levels[0].chain
            if top.at is _At.MESSAGE or (top.at is _At.FRAMES and top.frames):
                return False
            top.whole = True
            self.levels[0].column = column
        chain = self.levels[-1].chain
        chain.at = _At.LINKED
        return chain.feed(line, Header(0, 0, group=False, quoted=False))

    def _separate(self, kind: Separator) -> None:
        column = kind.column + 2 if kind.deeper else kind.column
        if kind.deeper:
            while len(self.levels) > 1 and self.levels[-1].column > kind.column:
                self._pop()
        else:
            while len(self.levels) > 1 and (self.levels[-1].column > column or self.levels[-1].column == column):
                last = self.levels[-1].column
                self._pop()
                if last == column:
                    break
        if kind.opens:
            self.levels.append(Level(Chain(whole=True, at=_At.LINKED), column))

    def _pop(self) -> None:
        level = self.levels.pop()
        errors = level.chain.close()
        if errors and errors[-1].role is Role.ROOT:
            errors[-1].role = Role.GROUP_MEMBER
        self.done.extend(errors)


def chained(first: Draft, link: Link, tag: str, level: str, *, survived: bool) -> PythonUnit:
    """The unit of a chain whose first error was read already, up to the sentence that links it to the next."""
    return PythonUnit(tag, level, levels=[Level(Chain.linked(first, link, eager=not survived), 0)])


def _is_field(text: str, offset: int) -> bool:
    """Whether the header at `offset` is the value of a field in a table that the message holds."""
    lead = text[:offset].rstrip()
    return text[:1] == " " and lead.endswith(":") and lead != ":"


def continued(errors: list[Draft], tag: str, level: str) -> PythonUnit:
    """The unit of a chain whose errors so far, and the sentence that links the last of them, were read already."""
    return PythonUnit(tag, level, levels=[Level(Chain(errors=errors, at=_At.LINKED), 0)])


def opens(line: Line) -> bool:
    """Whether a traceback may begin at the line."""
    kind = classify(line.text)
    match kind:
        case Header():
            return not kind.quoted
        case FrameLine():
            return not kind.dumped
        case _:
            return False
