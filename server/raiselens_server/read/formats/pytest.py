"""pytest's reports: `E   Class: message` under the source, `path:58: in fn`, and the short summary.

In the long style a frame's function is the `def` of its own source and its place stands below it; in the short style
both stand above. The summary repeats what was reported; where nothing was, it is all there is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from raiselens_server.error import Frame, Role
from raiselens_server.read.draft import Draft, SingleDraft, Unit, frame
from raiselens_server.read.kinds import FrameLine, Header, Link, classify
from raiselens_server.read.names import is_exception_class, is_warning_class, split_class

if TYPE_CHECKING:
    from raiselens_server.read.lines import Line

_TITLE = re.compile(r"_{2,} (?P<name>[^\n]{1,300}?) _{2,}$")
_BANNER = re.compile(r"={3,} [^\n]{1,300} ={3,}$")
_SECTION = re.compile(r"-{3,} (?:Captured|live log|generated)[^\n]{0,200} -{3,}$")
_ENTRY = re.compile(r"(?:_ ){5,}_? ?$")
_IN = re.compile(
    r"(?P<file>[^\s:][^:\n]{0,400}|[A-Za-z]:[\\/][^:\n]{0,400}):(?P<line>\d{1,7}): in (?P<function>\S[^\n]{0,200})$"
)
_AT = re.compile(
    r"(?P<file>[^\s:][^:\n]{0,400}|[A-Za-z]:[\\/][^:\n]{0,400}):(?P<line>\d{1,7}):?(?: (?P<rest>[^\W\d][\w.]{0,160}))?\s*$"
)
_LINE_STYLE = re.compile(r"(?:[^\s:][^:\n]{0,400}|[A-Za-z]:[\\/][^:\n]{0,400}):\d{1,7}: (?=[^\W\d][\w.]{0,160}: )")
_DEF = re.compile(r"[> ] {3,}(?:async )?def (?P<name>\w{1,160})\(")
_SUMMARY = re.compile(r"(?P<word>FAILED|ERROR) (?P<id>[^\s:]{1,400}\.py(?:::[^\n]{1,600}?)?) - ")
_STOP = re.compile(r"!{5,} (?P<name>KeyboardInterrupt) !{5,}\s*$")
# Of a group with one member, newer versions tell that member, as its `repr`.
_SINGLE = re.compile(
    r"(?P<name>[^\W\d][\w.]{0,160})\((?P<quote>['\"])(?P<message>[^\n]{0,1000})(?P=quote)\) \[single exception in \w{1,80}\]$"
)
_MAX_LINES = 50_000
_LONGEST_SOURCE = 1_000


@dataclass(slots=True)
class PytestUnit:
    """One failed test: the chain of its exceptions, from its title to the next."""

    tag: str = ""
    level: str = ""
    errors: list[Draft] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    title: str = ""
    defined: str = ""
    source: str = ""
    """The line of source that pytest marked last."""
    block: list[Line] = field(default_factory=list)
    unraised: Draft | None = None
    """What the line above would be, if a link follows: an exception that was never raised has no `E`."""
    bare: bool = False
    """Whether the last error of the chain was one of those."""
    awaiting: bool = False
    """Whether the line above is a frame of the short style, so that its source comes next."""
    closed: bool = False
    lines: int = 0

    def feed(self, line: Line) -> bool:
        """Take a line, or say that the unit is over."""
        self.lines += 1
        text = line.text
        if self.lines > _MAX_LINES or _SUMMARY.match(text) or opens_stop(line):
            return False
        if text.startswith(("===", "---")) and (_BANNER.match(text) or _SECTION.match(text)):
            return self.lines == 1
        title = _TITLE.match(text) if text.startswith("__") else None
        if title is not None:
            self.title = _function_of(title.group("name"))
            return self.lines == 1
        if text.startswith("E  ") or text.rstrip() == "E":
            self.block.append(line)
            return True
        if self.block and text.startswith("    "):
            # `--tb=line` marks the first line of a message only.
            self.block.append(line)
            return True
        if self.block and (not text.strip() or text[0] in "_-=" or text[0] != " "):
            self._end_block()
        return self._entry(line)

    def unraised_chain(self) -> list[Draft]:
        """The errors so far, if the sentence that links the last one stands below and none of them was raised."""
        return self.errors if self.bare and not self.frames and not any(each.frames for each in self.errors) else []

    def _entry(self, line: Line) -> bool:
        text = line.text
        kind = classify(text)
        if isinstance(kind, Header):
            if self.errors and self.errors[-1].role is not Role.ROOT and not self.frames:
                # A group is told in Python's own way, and the chain that leads to it once more.
                self.errors = []
            return False
        if isinstance(kind, Link):
            self.bare = self.unraised is not None
            if self.unraised is not None:
                self.errors.append(self.unraised)
            if self.errors:
                self.errors[-1].role = Role.CAUSE if kind.direct else Role.CONTEXT
            self.frames, self.closed, self.defined, self.unraised = [], False, "", None
            return True
        if text[:1].isalpha():
            named = split_class(text)
            self.unraised = None
            if named is not None and is_exception_class(named[0]):
                self.unraised = Draft(named[0], line, len(text) - len(named[1]) if named[1] else len(text))
        if _ENTRY.match(text):
            self.defined = ""
            return True
        if text[:5] == ">    ":
            self.source = text[1:].strip()
        elif text[:4] == "    " and self.frames and self.awaiting:
            self.frames[-1] = replace(self.frames[-1], source=text.strip()[:_LONGEST_SOURCE])
        self.awaiting = False
        found = _IN.match(text[:1024]) if ": in " in text else None
        if found is not None:
            self._add(line, found, found["function"].strip())
            self.defined = ""
            self.awaiting = True
            return True
        if not self.defined:
            definition = _DEF.match(text)
            if definition is not None:
                self.defined = definition["name"]
                return True
        if self.errors and not self.frames and _LINE_STYLE.match(text[:700]):
            # `--tb=line` names the place below the message.
            place = text.partition(": ")[0]
            file, _, number = place.rpartition(":")
            self.frames.append(frame(line.keep(len(place)), file, int(number), ""))
            return True
        found = (
            _AT.match(text[:1024])
            if text[:1] not in {" ", "\t", ">", ""} and (text[0] == "<" or ".py:" in text[:700])
            else None
        )
        if found is not None:
            self._place(line, found)
        return True

    def _place(self, line: Line, place: re.Match[str]) -> None:
        """`path:165: RuntimeError`, below the source of a frame; with the class it is the last frame's."""
        self._add(line, place, self.defined or (self.title if not self.frames else ""))
        self.defined = ""
        rest = place["rest"]
        if rest and self.errors and not self.closed:
            last = self.errors[-1]
            last.frames = list(self.frames)
            if not last.class_name:
                last.class_name = rest
            self.closed = True

    def _add(self, line: Line, match: re.Match[str], function: str) -> None:
        placed = frame(line, match["file"], int(match["line"]), function)
        self.frames.append(replace(placed, source=self.source[:_LONGEST_SOURCE]))
        self.source = ""

    def _end_block(self) -> None:
        """The `E` lines of one exception, with the indentation of its source taken off."""
        block, self.block = self._without_place(self.block), []
        first = block[0].text[1:]
        indent = 1 + len(first) - len(first.lstrip())
        lines = [line.drop(indent) if not line.text[1:indent].strip() else line.drop(1) for line in block]
        head = lines[0]
        named = split_class(head.text)
        if named is None or not (is_exception_class(named[0]) or "." in named[0] or self._shouts(named)):
            named = ("", head.text)
        name, message = named
        skip = len(head.text) - len(message) if message or not name else len(head.text)
        if self.errors and self.errors[-1].role is Role.ROOT and not self.closed:
            # A second block without a link between: pytest shows what the assertion was made of.
            self.errors[-1].body.extend(lines)
            return
        self.errors.append(Draft(name, head, skip, self.frames, lines[1:]))
        self.closed = False

    def _without_place(self, block: list[Line]) -> list[Line]:
        """The block from its class on: a syntax error's place in the source stands above it."""
        place = classify(block[0].text[1:])
        if not isinstance(place, FrameLine) or place.function:
            return block
        for index, line in enumerate(block[1:], 1):
            named = split_class(line.text[1:].lstrip())
            if named is not None and is_exception_class(named[0]):
                return block[index:]
        return block

    @staticmethod
    def _shouts(named: tuple[str, str]) -> bool:
        name, message = named
        return name[:1].isupper() and not name.isupper() and bool(message)

    def close(self) -> Unit | None:
        """The errors of the test."""
        if self.block:
            self._end_block()
        return Unit(self.errors, self.tag, self.level) if self.errors else None

    @staticmethod
    def held() -> list[Line]:
        """Nothing is held."""
        return []


@dataclass(slots=True)
class SummaryUnit(SingleDraft):
    """One line that names test, class and message: the short summary's, or that of `--tb=line`."""

    def feed(self, line: Line) -> bool:
        """Take a line, or say that the unit is over."""
        if self.draft is not None:
            return False
        found = _summary(line.text)
        if found is None:
            return False
        word, at = found
        head = line.drop(at)
        named = split_class(head.text)
        single = _SINGLE.match(head.text[:1400])
        if single is not None:
            self.draft = Draft(single["name"], head, single.start("message"), message=single["message"])
        elif named is None or not (is_exception_class(named[0]) or "." in named[0]):
            named = ("", head.text) if not head.text.startswith("assert ") else ("AssertionError", head.text)
            self.draft = Draft(*named[:1], head, 0)
        else:
            message = named[1]
            self.draft = Draft(named[0], head, len(head.text) - len(message) if message else len(head.text))
        if not line.text.startswith(("FAILED ", "ERROR ")):
            file, _, number = line.text[:at].rstrip(": ").rpartition(":")
            self.draft.frames = [frame(line.keep(at - 2), file, int(number), "")]
        self.draft.interrupted = word == "ERROR" and "::" not in line.text[:at]
        return True


@dataclass(slots=True)
class StopUnit(SingleDraft):
    """`!!!!! KeyboardInterrupt !!!!!`, and below it where the run was when somebody stopped it."""

    def feed(self, line: Line) -> bool:
        """Take a line, or say that the unit is over."""
        if self.draft is None:
            found = _STOP.match(line.text)
            if found is None:
                return False
            at = found.start("name")
            self.draft = Draft(found["name"], line.drop(at).keep(len(found["name"])), len(found["name"]))
            return True
        place = _AT.match(line.text[:1024])
        if place is None or self.draft.frames:
            return False
        self.draft.frames = [frame(line, place["file"], int(place["line"]), "")]
        return True


def _summary(text: str) -> tuple[str, int] | None:
    """The summary's word, and where its class stands."""
    if text.startswith(("FAILED ", "ERROR ")):
        match = _SUMMARY.match(text[:1400])
        # Of a syntax error the summary tells only the place in the source.
        return (match["word"], match.end()) if match and not text.startswith('  File "', match.end()) else None
    if text[:1] in {" ", "\t", ""} or "Error: " not in text[:700]:
        return None
    match = _LINE_STYLE.match(text[:700])
    if match is None:
        return None
    named = split_class(text[match.end() :])
    if named is None or not is_exception_class(named[0]) or is_warning_class(named[0]):
        return None
    return "FAILED", match.end()


def _function_of(title: str) -> str:
    """The test's function: the title without class and parameters."""
    name = title.partition("[")[0].strip()
    if name.startswith("ERROR "):
        name = name.rpartition(" ")[2]
    return name.rpartition(".")[2]


def opens(line: Line) -> bool:
    """Whether the report of one test, or a part of one, begins at the line."""
    text = line.text
    if text.startswith("__"):
        return bool(_TITLE.match(text))
    if text.startswith("E   "):
        return bool(text[1:].strip())
    return (
        ": in " in text[:700] and text[:1] not in {" ", "\t"} and ".py:" in text[:700] and bool(_IN.match(text[:700]))
    )


def opens_summary(line: Line) -> bool:
    """Whether the line is one of the short summary, or of `--tb=line`."""
    return _summary(line.text) is not None


def opens_stop(line: Line) -> bool:
    """Whether the line says that the run was stopped by hand."""
    return line.text.startswith("!!!!!") and bool(_STOP.match(line.text))
