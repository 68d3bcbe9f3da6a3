"""An error being read, and the unit of text that it is read from."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from raiselens_server.error import Frame, Observed, RaisedError, Role, Span

if TYPE_CHECKING:
    from raiselens_server.read.lines import Line

_LONGEST_PREFIX = 400


@dataclass(slots=True)
class Draft:
    """One error. `head` begins with the class's name, or with the message where the text names no class.

    `body` are the message's further lines. `skip` is how far into `head` the message begins.
    """

    class_name: str
    head: Line
    skip: int
    frames: list[Frame] = field(default_factory=list)
    body: list[Line] = field(default_factory=list)
    role: Role = Role.ROOT
    message: str | None = None
    """The message where it is not simply `head` and `body` joined."""
    place: Line | None = None
    """Where the message's first line stands, if not in `head`."""
    embedded: bool = False
    """Whether it was read out of another error's message."""
    native: bool = False
    """Whether a compiler or a device reported it: the exception that follows from it is what Python raised."""
    logged: bool = False
    """Whether all that tells of it is the end of a logger's sentence: whoever wrote that had caught it."""
    noise: bool = False
    """Whether it was raised where nobody could catch it, on the way out."""
    interrupted: bool = False
    """Whether it stopped the whole run."""
    order: int = field(default_factory=itertools.count().__next__)
    """Drafts are made in the order in which they were printed; one physical line may hold many."""
    ranks: list[str] = field(default_factory=list)
    count: int = 1

    def text(self) -> str:
        """The whole message."""
        if self.message is None:
            lines = [self.head.text[self.skip :], *(line.text for line in self.body)]
            self.message = "\n".join(line.rstrip("\r") for line in lines).rstrip()
        return self.message

    @property
    def line(self) -> int:
        """Where the message's first line stands."""
        return (self.place or self.head).number

    def finish(self) -> RaisedError:
        """The error as everything after reading takes it."""
        line, column = (self.place or self.head).at(0)
        raw = (self.place or self.head).raw
        prefix = raw[: column - 1] if column - 1 <= _LONGEST_PREFIX else ""
        origin = Observed(line, column, self.role, tuple(self.ranks), prefix, self.count)
        return RaisedError(self.class_name, self.text(), tuple(self.frames), origin)


@dataclass(slots=True)
class Unit:
    """The errors that one traceback tells of, with its chain, its group and what is quoted in its messages.

    `tag` names who spoke, `level` how loud. The last error that is not embedded and in no group is what was raised.
    """

    errors: list[Draft]
    tag: str = ""
    level: str = ""
    repeated: int = 0


@dataclass(slots=True)
class SingleDraft:
    """A reader of a format that tells of one error, and holds no line back."""

    tag: str = ""
    level: str = ""
    draft: Draft | None = None

    def close(self) -> Unit | None:
        """The error."""
        return None if self.draft is None else Unit([self.draft], self.tag, self.level)

    @staticmethod
    def held() -> list[Line]:
        """Nothing is held."""
        return []


def span(line: Line, start: int, end: int) -> Span:
    """The place of `line.text[start:end]`."""
    end_line, end_column = line.at(max(start, end - 1))
    return Span(*line.at(start), end_line, end_column + (1 if end > start else 0))


def frame(line: Line, file: str, number: int, function: str) -> Frame:
    """A frame printed on `line`."""
    start = len(line.text) - len(line.text.lstrip())
    return Frame(file, number, function, span(line, start, max(start, len(line.text.rstrip()))))
