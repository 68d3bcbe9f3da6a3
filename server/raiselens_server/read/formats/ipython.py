"""IPython's tracebacks, as Jupyter and Colab print them: numbered source with an arrow, the class named first and last.

Frames are `File path:88, in f(args)`, `Cell In[12], line 5`, `path in f(args)` or, in Colab, a link; where the frame's
line gives no number, the arrow does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from raiselens_server.error import Frame, Role
from raiselens_server.read.draft import Draft, Unit, frame
from raiselens_server.read.kinds import Blank, FrameLine, Header, Link, classify
from raiselens_server.read.message import Message
from raiselens_server.read.names import is_exception_class, last_part, split_class

if TYPE_CHECKING:
    from raiselens_server.read.lines import Line

_HEADER = re.compile(r"([^\W\d][\w.]{0,160}) {2,}Traceback \(most recent call last\)")
_ARROW = re.compile(r"-{1,6}> ?(\d{1,7})(?: |$)")
_FILE = re.compile(r"File ([^\s\"][^\n]{0,600}?):(\d{1,7})(?:, in |$)")
_CELL = re.compile(
    r"((?:Cell )?In ?\[\d{1,6}\]|Input In \[\d{1,6}\]|Cell In ?\[\d{1,6}\]),? (?:line (\d{1,7})(?:, in )?|in )"
)
_LINK = re.compile(r"\[([^\]\n]{1,600})\]\([^)\n]{0,600}\) in ")
# Where an editor makes numbers links, `[170](vscode-…)` stands for 170.
_LINKED = re.compile(r"\[(\d{1,7})\]\([^)\n]{0,600}\)")
_CALLED = re.compile(r"(?:<module>|<[^>\n]{1,80}>\(|[\w.]{1,160}\()")
_NUMBERED = re.compile(r"[ ]{0,12}(?:-{1,6}> ?)?\d{1,7}(?: |$)")
_BARE = re.compile(r"((?:[~/<.]|[A-Za-z]:\\)[^\n]{0,600}?) in (?=[\w<(])")
_OPENERS = frozenset("[~/<")
_MAX_LINES = 20_000
_MAX_STRAY = 8


@dataclass(slots=True)
class IPythonUnit:
    """A chain of IPython's tracebacks."""

    tag: str = ""
    level: str = ""
    errors: list[Draft] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    expected: str = ""
    message: Message | None = None
    unnumbered: bool = False
    lines: int = 0
    stray: int = 0

    def feed(self, line: Line) -> bool:
        """Take a line, or say that the unit is over."""
        text = line.text
        kind = classify(text)
        if self.message is not None:
            if isinstance(kind, Link):
                self.message.claim()
                self.errors[-1].role = Role.CAUSE if kind.direct else Role.CONTEXT
                self.message = None
                self.frames = []
                self.expected = ""
                return True
            if isinstance(kind, Header) and not _HEADER.match(text) and self.message.expects_traceback():
                return self.message.take(line)
            return not isinstance(kind, Header) and not _frame_of(text) and self.message.feed(line)
        self.lines += 1
        if self.lines > _MAX_LINES:
            return False
        if isinstance(kind, Header):
            header = _HEADER.match(text)
            if header is None or self.frames:
                return False
            self.expected = last_part(header.group(1))
            return True
        if isinstance(kind, FrameLine):
            self.frames.append(frame(line, kind.file, kind.line, kind.function))
            self.unnumbered = False
            return True
        return isinstance(kind, Blank) or self._body(line)

    def _body(self, line: Line) -> bool:
        text = line.text
        found = _frame_of(text)
        if found is not None:
            file, number, function = found
            self.frames.append(frame(line, file, number, function))
            self.unnumbered = number == 0
            return True
        marked = _LINKED.sub(r"\1", text.lstrip()[:1024])
        arrow = _ARROW.match(marked) if self.frames else None
        if arrow is not None:
            last = self.frames[-1]
            number = int(arrow.group(1)) if self.unnumbered else last.line
            self.frames[-1] = replace(last, line=number, source=last.source or marked[arrow.end() :].strip())
            self.unnumbered = False
            return True
        if text[0] not in " \t-":
            named = split_class(text)
            if named is not None and self._is_class(named[0]):
                name, message = named
                draft = Draft(name, line, len(text) - len(message) if message else len(text), self.frames)
                self.errors.append(draft)
                self.message = Message(draft)
                return True
        # Without a header only the numbered source shows that these are frames.
        self.stray = 0 if self.expected or _NUMBERED.match(text) or text[0] == "-" else self.stray + 1
        return self.stray <= _MAX_STRAY

    def _is_class(self, name: str) -> bool:
        return last_part(name) == self.expected if self.expected else is_exception_class(name)

    def close(self) -> Unit | None:
        """The errors of the unit."""
        return Unit(self.errors, self.tag, self.level) if self.errors else None

    def held(self) -> list[Line]:
        """Lines that were taken but belong to no message."""
        return self.message.held if self.message else []


def _frame_of(text: str) -> tuple[str, int, str] | None:
    """A frame's file, line (0 where the arrow gives it) and function without its arguments."""
    head = text.strip()[:1024]
    if head.startswith("File ") and "](" in head:
        head = _LINKED.sub(r"\1", head)
    if head.startswith("File "):
        match = _FILE.match(head)
        return (match.group(1), int(match.group(2)), _function(head[match.end() :])) if match else None
    if head.startswith(("Cell", "In", "Input")):
        match = _CELL.match(head)
        return (match.group(1), int(match.group(2) or 0), _function(head[match.end() :])) if match else None
    if text[:1] in {" ", "\t"}:
        return None
    match = _LINK.match(head) if head.startswith("[") else _BARE.match(head) if " in " in head else None
    return (match.group(1), 0, _function(head[match.end() :])) if match else None


def _function(text: str) -> str:
    """The function's name, without what IPython prints of its arguments."""
    name = text.strip()
    if name.startswith("<"):
        end = name.find(">")
        return name[: end + 1] if end >= 0 else name
    return name.partition("(")[0].strip()


def opens(line: Line) -> bool:
    """Whether IPython's traceback begins at the line: its header, or a frame of its own shapes in a cut paste."""
    text = line.text
    if "Traceback (most" in text:
        return bool(_HEADER.match(text))
    if text.startswith(("File ", "Cell In", "Input In")):
        return _frame_of(text) is not None
    if text[:1] not in _OPENERS or " in " not in text[:1024]:
        return False
    frame_line = _LINK.match(text[:1024]) or _BARE.match(text[:1024])
    return frame_line is not None and _CALLED.match(text, frame_line.end()) is not None
