"""Tracebacks in rich's box: paths and functions inside it, the class and message below, both hard-wrapped."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from raiselens_server.error import Frame, Role, Span
from raiselens_server.read.draft import Draft, Unit, span
from raiselens_server.read.kinds import Link, classify
from raiselens_server.read.message import ends_message
from raiselens_server.read.names import is_plausible_class, split_class

if TYPE_CHECKING:
    from raiselens_server.read.lines import Line

_TOP = re.compile(r"[╭┌+][─-]{2,400} ?Traceback \(most recent call last\)")
_WHERE = re.compile(r"(\S[^\n]{0,1000}):(\d{1,7}) in (\S[^\n]{0,300})$")
_WHERE_ONLY = re.compile(r"(\S[^\n]{0,1000}):(\d{1,7})$")
_SIDES = "│|┃"
_MAX_LINES = 20_000


@dataclass(slots=True)
class RichUnit:
    """A chain of rich's boxes."""

    tag: str = ""
    level: str = ""
    errors: list[Draft] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    column: int = 0
    width: int = 0
    inside: bool = False
    path: list[Line] = field(default_factory=list)
    draft: Draft | None = None
    paragraphs: list[str] = field(default_factory=list)
    last_length: int = 0
    lines: int = 0
    blanks: int = 0
    linked: bool = False

    def feed(self, line: Line) -> bool:
        """Take a line, or say that the unit is over."""
        self.lines += 1
        if self.lines > _MAX_LINES:
            return False
        text = line.text
        top = _top(text)
        if top is not None:
            if self.inside or self.draft is not None:
                return False
            self.column, self.inside, self.linked, self.blanks = top, True, False, 0
            self.width = len(text.rstrip())
            self.frames, self.path = [], []
            return True
        if self.inside:
            return self._in_box(line)
        return self._below(line)

    def _in_box(self, line: Line) -> bool:
        text = line.text
        body = text[self.column :]
        if not body:
            return False
        if body[0] in "╰└" or body.startswith(("+--", "+──")):
            self.inside = False
            return True
        if body[0] not in _SIDES:
            return False
        inner = line.drop(self.column + 1)
        stripped = inner.text.rstrip().rstrip(_SIDES).rstrip()
        lead = len(stripped) - len(stripped.lstrip())
        content = stripped[lead:]
        if not content or lead > 1 or content[0] in "❱│╭╰─":
            self.path = []
            return True
        self._path(inner.drop(lead).keep(len(content)))
        return True

    def _path(self, line: Line) -> None:
        """A line that may be, or go on with, `path:line in function`."""
        self.path.append(line)
        if len(self.path) > 6:
            self.path = self.path[-6:]
        joined = "".join(part.text for part in self.path)
        match = _WHERE.match(joined)
        if match is None:
            spaced = " ".join(part.text for part in self.path)
            match = _WHERE.match(spaced)
        if match is None:
            return
        first, last = span(self.path[0], 0, len(self.path[0].text)), span(self.path[-1], 0, len(self.path[-1].text))
        place = Span(first.line, first.column, last.end_line, last.end_column)
        self.frames.append(Frame(match.group(1), int(match.group(2)), match.group(3).strip(), place))
        self.path = []

    def _below(self, line: Line) -> bool:
        text = line.text
        kind = classify(text)
        if isinstance(kind, Link):
            if self.errors:
                self._end_message()
                self.errors[-1].role = Role.CAUSE if kind.direct else Role.CONTEXT
            self.linked = True
            return True
        if self.linked:
            self.blanks += 1
            return self.blanks <= 8
        if self.draft is None:
            return self._class_line(line)
        if self.column and text[: self.column].strip():
            return False
        stripped = text[self.column :].rstrip() if not text[: self.column].strip() else text.rstrip()
        if not stripped:
            self.blanks += 1
            return self.blanks <= 3
        if self.blanks or ends_message(stripped) or len(self.paragraphs) > 400:
            return False
        first, width = stripped.split(" ", 1)[0], self.width - self.column
        if self.last_length + 1 + len(first) > width:
            # rich breaks between words, and within a word only if no line could hold it.
            word = self.paragraphs[-1].rsplit(" ", 1)[-1]
            glue = "" if self.last_length >= width and len(word) + len(first) > width else " "
            self.paragraphs[-1] += glue + stripped
        else:
            self.paragraphs.append(stripped)
        self.last_length = len(stripped)
        return True

    def _class_line(self, line: Line) -> bool:
        text = line.text
        if not text.strip():
            self.blanks += 1
            return self.blanks <= 3
        indent = self.column if not text[: self.column].strip() else 0
        head = line.drop(indent)
        named = split_class(head.text)
        if named is None or not is_plausible_class(named[0], ""):
            return False
        name, message = named
        self.draft = Draft(name, head, len(head.text) - len(message) if message else len(head.text), self.frames)
        self.errors.append(self.draft)
        self.paragraphs = [message.rstrip()]
        self.last_length = len(head.text.rstrip())
        self.blanks = 0
        return True

    def _end_message(self) -> None:
        if self.draft is not None:
            self.draft.message = "\n".join(self.paragraphs).rstrip()
            self.draft = None

    def close(self) -> Unit | None:
        """The errors of the unit."""
        self._end_message()
        return Unit(self.errors, self.tag, self.level) if self.errors else None

    @staticmethod
    def held() -> list[Line]:
        """Nothing is held."""
        return []


def _top(text: str) -> int | None:
    """The column of the box's left edge, if the line is its top."""
    if "Traceback (most" not in text:
        return None
    for corner in "╭┌+":
        at = text.find(corner)
        if 0 <= at <= 400 and _TOP.match(text, at):
            return at
    return None


def opens(line: Line) -> bool:
    """Whether a box begins at the line."""
    return _top(line.text) is not None
