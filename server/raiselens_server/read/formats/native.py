"""What is printed where no Python exception is.

C++ `terminate`, faulthandler's fatal errors, device-side assertions, a compiler's diagnostics.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from raiselens_server.error import Frame, Role
from raiselens_server.read.draft import Draft, SingleDraft, Unit, frame
from raiselens_server.read.kinds import FrameLine, classify
from raiselens_server.read.message import Message, ends_message

if TYPE_CHECKING:
    from raiselens_server.read.lines import Line

_TERMINATE = "terminate called after throwing an instance of '"
_UNCAUGHT = re.compile(r"libc\+\+abi: terminating due to uncaught exception of type ([\w:<>, ]{1,200}?): ")
_FATAL = re.compile(r"(Fatal Python error|Windows fatal exception): ")
# With `-v`, pytest has printed the test's id when the compiler or the device speaks.
_TEST = r"(?:[\w./-]{1,300}\.py::\S{1,300} )?"
_ASSERTION = re.compile(
    rf"{_TEST}"
    r"[^\s:]{1,300}\.(?:cuh?|hip|cpp|h|py):\d{1,7}: (?:[^:\n]{1,400}: )?(?:block: \[[\d, ]{1,40}\],? thread: \[[\d, ]{1,40}\],? )?"
    r"Assertion [`'\"]"
)
# MLIR's words begin with the operation in quotes, or small; type checkers, which print the same shape, begin them large.
_DIAGNOSTIC = re.compile(
    rf"{_TEST}" r"(?:loc\()?\"?[^\s:\"]{1,300}\.(?:py|mlir|ttir|ttgir|ll)\"?:\d{1,7}:\d{1,5}\)?: error: (?=[a-z'\"])"
)

_MAX_LINES = 400


@dataclass(slots=True)
class TerminateUnit:
    """`terminate called after throwing an instance of 'X'`, then `  what():  message`."""

    tag: str = ""
    level: str = ""
    name: str = ""
    head: Line | None = None
    message: Message | None = None
    lines: int = 0

    def feed(self, line: Line) -> bool:
        """Take a line, or say that the unit is over."""
        text = line.text
        if self.head is None:
            self.head = line
            uncaught = _UNCAUGHT.match(text)
            if uncaught is not None:
                self.name = uncaught.group(1)
                self.message = Message(Draft(self.name, line.drop(uncaught.end()), 0))
            else:
                start = len(_TERMINATE)
                end = text.find("'", start)
                self.name = text[start : end if end >= 0 else len(text)]
            return True
        if self.message is not None:
            return self.message.feed(line)
        self.lines += 1
        stripped = text.lstrip()
        if stripped.startswith("what():"):
            skip = len(text) - len(stripped) + len("what():")
            skip += len(text[skip : skip + 2]) - len(text[skip : skip + 2].lstrip())
            self.message = Message(Draft(self.name, line.drop(skip), 0))
            return True
        return self.lines < 3 and not stripped

    def close(self) -> Unit | None:
        """The error, without a message where the text ends before it."""
        if self.head is None:
            return None
        draft = self.message.draft if self.message else Draft(self.name, self.head.drop(len(self.head.text)), 0)
        return Unit([draft], self.tag, self.level)

    def held(self) -> list[Line]:
        """Lines that were taken but belong to no message."""
        return self.message.held if self.message else []


@dataclass(slots=True)
class FatalUnit:
    """`Fatal Python error: Aborted`, then faulthandler's stacks, most recent call first."""

    tag: str = ""
    level: str = ""
    draft: Draft | None = None
    frames: list[Frame] = field(default_factory=list)
    current: bool = False
    stacks: int = 0
    lines: int = 0

    def feed(self, line: Line) -> bool:
        """Take a line, or say that the unit is over."""
        text = line.text
        if self.draft is None:
            fatal = _FATAL.match(text)
            if fatal is None:
                return False
            self.draft = Draft(fatal.group(1), line, fatal.end())
            return True
        self.lines += 1
        if self.lines > _MAX_LINES:
            return False
        kind = classify(text)
        if isinstance(kind, FrameLine) and kind.dumped:
            if self.current:
                self.frames.append(frame(line, kind.file, kind.line, kind.function))
            return True
        if "(most recent call first)" in text:
            self.stacks += 1
            self.current = text.startswith(("Current thread", "Stack"))
            return True
        if not text.strip() or text.startswith(("Python runtime state", "Extension modules:", "  <", "  ...")):
            return True
        return self.stacks == 0 and self.lines <= 3 and not ends_message(text)

    def close(self) -> Unit | None:
        """The error, with the frames of the thread that died."""
        if self.draft is None:
            return None
        self.draft.frames = self.frames[::-1]
        return Unit([self.draft], self.tag, self.level)

    @staticmethod
    def held() -> list[Line]:
        """Nothing is held."""
        return []


@dataclass(slots=True)
class DiagnosticUnit:
    """A line by which a device or a compiler says what is wrong, without a class; thousands of threads may say it."""

    tag: str = ""
    level: str = ""
    draft: Draft | None = None
    repeated: int = 0
    assertion: bool = False

    def feed(self, line: Line) -> bool:
        """Take a line, or say that the unit is over."""
        at = _message_start(line.text)
        if self.draft is None:
            if at is None:
                return False
            self.assertion = "Assertion " in line.text
            self.draft = Draft("", line.drop(at), 0, role=Role.CAUSE, native=True)
            return True
        if at is not None and line.text[at:] == self.draft.head.text:
            self.repeated += 1
            return True
        return False

    def close(self) -> Unit | None:
        """The diagnostic."""
        if self.draft is None:
            return None
        self.draft.count += self.repeated
        return Unit([self.draft], self.tag, self.level)

    @staticmethod
    def held() -> list[Line]:
        """Nothing is held."""
        return []


_ABORT = "LLVM ERROR: "


@dataclass(slots=True)
class CompilerAbortUnit(SingleDraft):
    """`LLVM ERROR: …`: the compiler takes the whole process down."""

    def feed(self, line: Line) -> bool:
        """Take a line, or say that the unit is over."""
        if self.draft is not None or not line.text.startswith(_ABORT):
            return False
        self.draft = Draft(_ABORT.rstrip(": "), line, len(_ABORT), native=True)
        return True


def _message_start(text: str) -> int | None:
    """Where a diagnostic's own words begin."""
    head = text[:1024]
    if "Assertion " in head and _ASSERTION.match(head):
        return head.index("Assertion ")
    match = _DIAGNOSTIC.match(head) if ": error: " in head else None
    return match.end() if match else None


def opens_terminate(line: Line) -> bool:
    """Whether a C++ abort begins at the line."""
    return line.text.startswith(_TERMINATE) or (line.text.startswith("libc++abi:") and bool(_UNCAUGHT.match(line.text)))


def opens_fatal(line: Line) -> bool:
    """Whether faulthandler reports a fatal error from the line on."""
    return line.text.startswith(("Fatal Python", "Windows fatal")) and bool(_FATAL.match(line.text))


def opens_diagnostic(line: Line) -> bool:
    """Whether the line is a device-side assertion or a compiler's diagnostic."""
    return _message_start(line.text) is not None


def opens_compiler_abort(line: Line) -> bool:
    """Whether the line is LLVM's last."""
    return line.text.startswith(_ABORT)
