"""Tracebacks in rich's boxes: paths and functions inside, the class and message below, both wrapped at the width.

The members of an exception group stand in boxes of their own, and their tracebacks in boxes inside of those.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from raiselens_server.error import Frame, Role, Span
from raiselens_server.read.draft import Draft, Unit, span
from raiselens_server.read.kinds import HEADER, Link, classify
from raiselens_server.read.message import ends_message
from raiselens_server.read.names import is_plausible_class, split_class

if TYPE_CHECKING:
    from raiselens_server.read.lines import Line

_TOP = re.compile(r"[╭┌+][─-]{2,400} ?Traceback \(most recent call last\)")
_MEMBER = re.compile(r"[╭┌+][─-]{2,400} Sub-exception #\d{1,6} [─-]{2,400}")
_WHERE = re.compile(r"(\S[^\n]{0,1000}):(\d{1,7}) in (\S[^\n]{0,300})$")
_NOWHERE = re.compile(r"in (<[^>\n]{1,200}>|\w{1,200}):(\d{1,7})$")
_BROKEN = re.compile(r"at \d{1,6}:\d{1,6}:")
_SIDES = "│|┃"
_NOTE = "[NOTE] "
_MARKED = re.compile(r"❱ {0,8}\d{1,7} (?:│ ?)?([^\n]{0,1000})")
# What stands at the sides of a row, and a blank at least at the end of its source.
_ROOM = 6
_MAX_LINES = 20_000
_MAX_PARAGRAPHS = 400
_MAX_DEPTH = 40


@dataclass(slots=True)
class RichUnit:
    """A chain of rich's boxes, and the members of its groups, which stand after their group."""

    tag: str = ""
    level: str = ""
    errors: list[Draft] = field(default_factory=list)
    chains: list[Chain] = field(default_factory=list)
    lines: int = 0

    def feed(self, line: Line) -> bool:
        """Take a line, or say that the unit is over."""
        self.lines += 1
        if self.lines > _MAX_LINES:
            return False
        if not self.chains:
            self.chains.append(Chain(self.errors))
        inner, depth = self._inside(line)
        if depth < len(self.chains) - 1:
            self._leave(depth)
            return True
        if _MEMBER.match(inner.text) and not self.chains[-1].inside and len(self.chains) < _MAX_DEPTH:
            self.chains[-1].end_message()
            self.chains[-1].blanks = 0
            self.chains.append(Chain(self.errors, member=True))
            return True
        chain = self.chains[-1]
        # After the boxes of a group's members nothing more is said of the group.
        return (
            chain.feed(inner)
            if not (chain.parted and inner.text.strip())
            else isinstance(classify(inner.text), Link) and chain.feed(inner)
        )

    def _inside(self, line: Line) -> tuple[Line, int]:
        """The line without the sides of the members' boxes around it, and how many of those it has."""
        depth = 0
        for _ in self.chains[1:]:
            text = line.text
            if text[:1] not in _SIDES or not text:
                break
            right = text.rstrip()
            line = line.keep(len(right) - (right[-1] in _SIDES and len(right) > 1)).drop(2 if text[1:2] == " " else 1)
            depth += 1
        return line, depth

    def _leave(self, depth: int) -> None:
        while len(self.chains) - 1 > depth:
            self.chains.pop().end_message()
        self.chains[-1].parted = True

    def close(self) -> Unit | None:
        """The errors of the unit."""
        for chain in self.chains:
            chain.end_message()
        return Unit(self.errors, self.tag, self.level) if self.errors else None

    @staticmethod
    def held() -> list[Line]:
        """Nothing is held."""
        return []


@dataclass(slots=True)
class Chain:
    """The links of one chain: boxes with frames, each with its class and message below."""

    errors: list[Draft]
    member: bool = False
    parted: bool = False
    frames: list[Frame] = field(default_factory=list)
    column: int = 0
    width: int = 0
    inside: bool = False
    excerpt: bool = False
    path: list[Line] = field(default_factory=list)
    source: str = ""
    draft: Draft | None = None
    last: Draft | None = None
    paragraphs: list[str] = field(default_factory=list)
    last_length: int = 0
    blanks: int = 0
    linked: bool = False

    def feed(self, line: Line) -> bool:
        """Take a line, or say that the chain is over."""
        top = _top(line.text)
        if top is not None:
            if self.inside or self.draft is not None:
                return False
            self.column, self.inside, self.linked, self.blanks = top, True, False, 0
            self.width = len(line.text.rstrip())
            self.frames, self.path = [], []
            return True
        if self.inside:
            return self._in_box(line)
        return self._below(line)

    def _in_box(self, line: Line) -> bool:
        body = line.text[self.column :]
        if not body:
            return False
        if body[0] in "╰└" or body.startswith(("+--", "+──")):
            self.inside = self.excerpt = False
            return True
        if body[0] not in _SIDES:
            return False
        if self.excerpt:
            return True
        inner = line.drop(self.column + 1)
        stripped = inner.text.rstrip().rstrip(_SIDES).rstrip()
        lead = len(stripped) - len(stripped.lstrip())
        content = stripped[lead:]
        if content.startswith("❱"):
            self.source = content
            self._mark(content)
        if not content or lead > 1 or content[0] in "❱│╭╰─":
            self.path = []
            return True
        self._path(inner.drop(lead).keep(len(content)))
        return True

    def _mark(self, content: str) -> None:
        """The source of the last frame, unless it fills its row and so may be broken."""
        marked = _MARKED.match(content)
        if marked and self.frames and not self.frames[-1].source and len(content) + _ROOM < self.width - self.column:
            self.frames[-1] = replace(self.frames[-1], source=marked.group(1).strip().lstrip("│ "))

    def _path(self, line: Line) -> None:
        """A line that may be, or go on with, `path:line in function`."""
        self.path.append(line)
        if len(self.path) > 6:
            self.path = self.path[-6:]
        joined = "".join(part.text for part in self.path)
        match = _WHERE.match(joined) or _WHERE.match(" ".join(part.text for part in self.path))
        if match is not None:
            self._add(match.group(1), int(match.group(2)), match.group(3).strip())
            return
        # Code that is in no file, as `exec` runs it, has a function alone.
        bare = _NOWHERE.match(joined)
        if bare is not None:
            self._add("<string>", int(bare.group(2)), bare.group(1))

    def _add(self, file: str, number: int, function: str) -> None:
        first, last = span(self.path[0], 0, len(self.path[0].text)), span(self.path[-1], 0, len(self.path[-1].text))
        place = Span(first.line, first.column, last.end_line, last.end_column)
        self.frames.append(Frame(file, number, function, place))
        self.path = []

    def _below(self, line: Line) -> bool:
        text = line.text
        kind = classify(text)
        if isinstance(kind, Link):
            self.end_message()
            last = self.last or (self.errors[-1] if self.errors else None)
            if last is not None:
                last.role = Role.CAUSE if kind.direct else Role.CONTEXT
            self.linked = True
            self.parted = False
            return True
        if self.linked:
            self.blanks += 1
            if not text.strip():
                return self.blanks <= 8
            # The sentence is wrapped too; and an exception that was never raised has no box.
            return text.rstrip().endswith(("exception:", "occurred:")) or self._class_line(line)
        if self.draft is None:
            return self._class_line(line)
        if self.column and text[: self.column].strip():
            return False
        stripped = text[self.column :].rstrip() if not text[: self.column].strip() else text.rstrip()
        return self._message_line(stripped)

    def _message_line(self, text: str) -> bool:
        if not text.strip():
            self.blanks += 1
            return self.blanks <= 3
        quoted = text.startswith(HEADER) and self._goes_on(text)
        if (ends_message(text) and not quoted) or len(self.paragraphs) > _MAX_PARAGRAPHS:
            return False
        if self.blanks and not self.member and not self._goes_on(text):
            return False
        self.paragraphs.extend([""] * self.blanks)
        wrapped = not self.blanks and self._is_wrapped(text)
        self.blanks = 0
        note = text.removeprefix(_NOTE)
        if wrapped and note is text:
            # rich breaks between words, and within a word only if no line could hold it.
            width = self.width - self.column
            word = self.paragraphs[-1].rsplit(" ", 1)[-1]
            glue = "" if self.last_length >= width and len(word) + len(text.split(" ", 1)[0]) > width else " "
            self.paragraphs[-1] += glue + text
        else:
            self.paragraphs.append(note)
        self.last_length = len(text)
        return True

    def _is_wrapped(self, text: str) -> bool:
        """Whether the line goes on with the one above: its first word found no room there."""
        return text[0] != " " and self.last_length + 1 + len(text.split(" ", 1)[0]) > self.width - self.column

    def _goes_on(self, text: str) -> bool:
        """Whether the message goes on after a blank line: with what is indented, or with a traceback that it quotes."""
        rows = [row for row in self.paragraphs[-3:] if row]
        if text.startswith(HEADER):
            return bool(rows) and rows[-1].endswith(":")
        broken = bool(_BROKEN.match(self.paragraphs[0]))
        return text[0] == " " and (broken or any(row[0] == " " or row.endswith(":") for row in rows))

    def _class_line(self, line: Line) -> bool:
        text = line.text
        if not text.strip():
            self.blanks += 1
            return self.blanks <= 3
        indent = self.column if not text[: self.column].strip() else 0
        if text[indent:].startswith(("╭──", "┌──")) and not self.linked:
            # The line that a syntax error is about has a box of its own.
            self.inside = self.excerpt = True
            return True
        head = line.drop(indent)
        named = split_class(head.text)
        if named is None or not is_plausible_class(named[0], self.source):
            return False
        name, message = named
        frames = [] if self.linked else self.frames
        role = Role.GROUP_MEMBER if self.member else Role.ROOT
        self.draft = Draft(name, head, len(head.text) - len(message) if message else len(head.text), frames, role=role)
        self.errors.append(self.draft)
        self.last = self.draft
        self.paragraphs = [message.rstrip()]
        self.width = self.width or len(line.raw.rstrip())
        self.last_length = len(head.text.rstrip())
        self.blanks = 0
        self.linked = False
        return True

    def end_message(self) -> None:
        """The message is complete."""
        if self.draft is not None:
            self.draft.message = "\n".join(self.paragraphs).rstrip()
            self.draft = None


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
