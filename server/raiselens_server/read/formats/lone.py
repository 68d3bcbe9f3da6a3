"""`Class: message` with nothing around it, and warnings that name where they come from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from raiselens_server.error import Role
from raiselens_server.read.draft import Draft, Unit
from raiselens_server.read.message import Message
from raiselens_server.read.names import is_lone_class, is_warning_class, split_class

if TYPE_CHECKING:
    from raiselens_server.read.lines import Line

_MEASURED = re.compile(r"[-+]?\d*\.\d+(?:e[-+]?\d+)?%?(?:[,;\s]|$)")
# Counts of one class after another, or a field that says that there was none.
_TALLY = re.compile(r"\d{1,9}(?:[,; ]{1,3}[\w.]{1,80}: \d{1,9}){1,40}$|(?:none|no|null|nil|n/a|ok)$", re.IGNORECASE)
_MOST_COLONS = 8
_FARTHEST = 400
_LOCATED = re.compile(r"[^\s:][^:\n]{0,300}:\d{1,7}: (?=\w{1,60}Warning: )")


@dataclass(slots=True)
class LoneUnit:
    """One error that only names itself."""

    tag: str = ""
    level: str = ""
    whole: bool = False
    survived: bool = False
    told_at: int = 0
    """Where the class stands, if a logger's sentence stands before it."""
    message: Message | None = None

    def feed(self, line: Line) -> bool:
        """Take a line, or say that the unit is over."""
        if self.message is not None:
            return self.message.draft.role is not Role.WARNING and self.message.feed(line)
        start = self.told_at or _start(line.text)
        if start is None:
            return False
        head = line.drop(start)
        named = split_class(head.text)
        if named is None:
            return False
        name, text = named
        role = Role.WARNING if is_warning_class(name) else Role.ROOT
        draft = Draft(name, head, len(head.text) - len(text) if text else len(head.text), role=role)
        draft.logged = bool(self.told_at)
        below = not text.strip()
        self.message = Message(draft, eager=below, traced=below, whole=self.whole)
        return True

    @property
    def quoting(self) -> bool:
        """Whether what comes is quoted in the message: links in there are none of this error."""
        return self.message is not None and self.message.quoting

    def linked(self) -> Draft | None:
        """The error as the first link of a chain: an exception that was never raised is printed without a head."""
        if self.message is None:
            return None
        self.message.claim()
        return self.message.draft

    def close(self) -> Unit | None:
        """The error."""
        return None if self.message is None else Unit([self.message.draft], self.tag, self.level)

    def held(self) -> list[Line]:
        """Lines that were taken but belong to no message."""
        return self.message.held if self.message else []


def _start(text: str) -> int | None:
    """Where the class stands; None where the line is no such line."""
    if not text or text[0] in " \t":
        return None
    if "Warning: " in text[:512]:
        located = _LOCATED.match(text[:512])
        if located is not None:
            return located.end()
    named = split_class(text)
    if named is None or not is_lone_class(named[0]):
        return None
    message = named[1].lstrip()
    if not message:
        # A message that begins on the next line; a bare `ValueError` is a word of any text.
        return 0 if "." in named[0] and ":" in text else None
    if _MEASURED.match(message) or _TALLY.match(message):
        # `MeanSquaredError: 0.031` is a metric, `TimeoutError: 0 ConnectionError: 2` a tally, `LastError: none` a field.
        return None
    # `ValueError: If the input is not …` is a docstring's account of what may be raised.
    return None if message.startswith(("if ", "If ", "when ", "When ", "raised when ", "Raised ")) else 0


def told_at(text: str) -> int:
    """Where the class of an error stands that the sentence of a logger ends with; 0 where there is none."""
    at = 0
    for _ in range(_MOST_COLONS):
        at = text.find(": ", at, _FARTHEST) + 2
        if at < 2:
            return 0
        named = split_class(text[at : at + 600])
        if named is not None and named[1].strip() and is_lone_class(named[0]) and not is_warning_class(named[0]):
            return at
    return 0


def opens(line: Line) -> bool:
    """Whether the line is an error, or a located warning, on its own."""
    return _start(line.text) is not None
