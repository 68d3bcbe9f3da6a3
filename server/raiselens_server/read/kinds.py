"""What a line of a CPython traceback can be, as a closed union."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

HEADER = "Traceback (most recent call last)"

# Behind the header in a sentence that speaks of tracebacks.
_IN_PROSE = re.compile(r":?`[ ,;)]{1,3}[^\W\d]")

# Shorter than the sentences are: a narrow terminal wraps them.
_CAUSE = "The above exception was the direct cause"
_CONTEXT = "During handling of the above exception"
_RAY_TASK = re.compile(r"(?:\[?\w{0,40}\]? ?)ray::[\w.:<>\[\]-]{1,200}\(\) \(pid=\d")
_SEPARATOR = re.compile(r"\+(?:-\+)?-{4,}(?: (?:\d{1,4}|\.\.\.) -{4,})?$")
_ELIDED = re.compile(r"\[Previous line repeated \d+ more times?\]|\.\.\.<\d+ lines?>\.\.\.")
_NUMBER = re.compile(r"\d{1,9}")


@dataclass(frozen=True, slots=True)
class Header:
    """`Traceback (most recent call last):`, at `offset`; `group` for an exception group's.

    `indent` counts the blanks before it, and is 0 where other text stands before it.
    """

    offset: int
    indent: int
    group: bool
    quoted: bool


@dataclass(frozen=True, slots=True)
class FrameLine:
    """`File "x.py", line 3, in f`. A syntax error's has no function; faulthandler's (`dumped`) has no comma."""

    indent: int
    file: str
    line: int
    function: str
    dumped: bool


@dataclass(frozen=True, slots=True)
class Link:
    """The sentence between two exceptions of a chain; `direct` for `raise … from …`."""

    direct: bool


@dataclass(frozen=True, slots=True)
class Separator:
    """`+-+---------------- 1 ----------------`: a member of a group begins (`opens`) or all of them end."""

    column: int
    deeper: bool
    opens: bool


@dataclass(frozen=True, slots=True)
class Blank:
    """Nothing, or only blanks."""


@dataclass(frozen=True, slots=True)
class Elided:
    """`[Previous line repeated 974 more times]`, `...<3 lines>...`."""


@dataclass(frozen=True, slots=True)
class Text:
    """Anything else; `indent` counts its leading blanks."""

    indent: int


Kind: TypeAlias = Header | FrameLine | Link | Separator | Blank | Elided | Text

_BLANK, _ELIDED_LINE = Blank(), Elided()


def classify(text: str) -> Kind:
    """Which of them a line is."""
    body = text.lstrip()
    if not body:
        return _BLANK
    indent = len(text) - len(body)
    frame = parse_frame(body, indent)
    if frame is not None:
        return frame
    header = text.find(HEADER)
    if header >= 0 and not _IN_PROSE.match(text, header + len(HEADER)):
        group = text.endswith("Exception Group ", 0, header)
        start = header - len("Exception Group ") if group else header
        quoted = text.endswith("Original ", 0, header)
        return Header(start, start if start == indent else 0, group, quoted)
    if body[0] == "+" and body.startswith(("+-", "+--")) and _SEPARATOR.match(body.rstrip()):
        bare = body.rstrip()
        return Separator(indent, bare.startswith("+-+"), bool(bare.strip("+-")))
    if body.startswith(_CAUSE):
        return Link(direct=True)
    if body.startswith(_CONTEXT):
        return Link(direct=False)
    if body[0] in "[." and _ELIDED.match(body):
        return _ELIDED_LINE
    if "ray::" in body[:60] and _RAY_TASK.match(body):
        return Header(indent, indent, group=False, quoted=False)
    return Text(indent)


def parse_frame(body: str, indent: int) -> FrameLine | None:
    """A frame line, given without its leading blanks; also with the mark that loguru puts before the catching frame."""
    if body.startswith("> ") and body.startswith('File "', 2):
        body, indent = body[2:], indent + 2
    if not body.startswith('File "'):
        return None
    quote = body.find('"', 6)
    if quote < 0 or not body.startswith(", line ", quote + 1):
        return None
    number = _NUMBER.match(body, quote + 8)
    if number is None:
        return None
    rest = body[number.end() :].rstrip()
    line, file = int(number.group()), body[6:quote]
    if not rest:
        return FrameLine(indent, file, line, "", dumped=False)
    if rest.startswith(", in "):
        return FrameLine(indent, file, line, rest[5:].strip(), dumped=False)
    if rest.startswith(" in "):
        return FrameLine(indent, file, line, rest[4:].strip(), dumped=True)
    return FrameLine(indent, file, line, "", dumped=False) if rest in {",", ", in"} else None
