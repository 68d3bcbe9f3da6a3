"""Lines that a terminal cut at its right edge, put together again.

The width shows itself: a frame line that breaks off, a line of a traceback's body followed by a fragment that stands
where no line of a body can. From then on a line of exactly that length goes on with the next one, unless the next
begins as lines do. A longer line shows that the width was none.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from raiselens_server.read.kinds import HEADER, parse_frame
from raiselens_server.read.lines import Line, join
from raiselens_server.read.names import is_exception_class, split_class
from raiselens_server.read.prefix import split_prefix

if TYPE_CHECKING:
    from collections.abc import Iterator

_NARROWEST = 40
_LIKELY = 60
_MAX_PARTS = 256

_BOX_END = "╰────"
_MAX_RECENT = 16
_QUOTE = re.compile(r"(?:> ?){1,4}(?=\S| )")

# What is left of a frame line whose first part is a frame line itself: the rest of its number, or of its function.
_REST = re.compile(r"\d{0,8}, in \S[^\n]{0,200}$|\d{1,8}$|,? ?in \S[^\n]{0,200}$|[\w<>.]{1,160}$")


@dataclass(slots=True)
class Unwrapper:
    """Joins wrapped lines; holds at most one of them back."""

    width: int = 0
    parts: list[Line] = field(default_factory=list)
    prefix: int = 0
    guesses: dict[int, int] = field(default_factory=dict)
    recent: deque[int] = field(default_factory=lambda: deque(maxlen=_MAX_RECENT))
    """How long the last lines were: what one of them exceeds is no width."""
    quote: str = ""
    """The mark of a quotation before the line that is held back."""
    boxed: bool = False
    """Below the end of a box what drew it has broken the lines itself, and between words."""

    def feed(self, line: Line) -> Iterator[Line]:
        """The lines that are complete now that this one is known."""
        if len(line.text) > self.width:
            self.width = 0
        if not line.text.strip():
            self.boxed = False
        elif _BOX_END in line.text[:400]:
            self.boxed = True
        if self.parts:
            rest = line.drop(len(self.quote)) if line.text.startswith(self.quote) else line
            if self._continues(rest):
                self.parts.append(rest)
                if not self._full(line) or len(self.parts) >= _MAX_PARTS:
                    yield self._release()
                return
            yield self._release()
        self.recent.append(len(line.text))
        if not self.boxed and (self._full(line) or self._suspect(line)):
            self.parts = [line]
            quote = _QUOTE.match(line.text)
            self.quote = quote.group() if quote else ""
            self.prefix = len(self.quote) or split_prefix(line.text).cut
            return
        yield line

    def flush(self) -> Iterator[Line]:
        """What was held back."""
        if self.parts:
            yield self._release()

    def _full(self, line: Line) -> bool:
        # What ends in blanks ended before the edge: some terminals fill each row.
        return len(line.text) == self.width >= _NARROWEST and not line.text.endswith("  ")

    @staticmethod
    def _suspect(line: Line) -> bool:
        """Whether the line may be one that breaks off: a frame line, or a long line of a body."""
        if line.text.endswith("  "):
            return False
        if 'File "' in line.text[:400]:
            return len(line.text) >= _NARROWEST
        head = line.text[:200]
        return len(line.text) >= _LIKELY and ("    " in head or "Error" in head or "Exception" in head)

    def _continues(self, line: Line) -> bool:
        text = line.text
        if not text.strip() or _begins(text) or (self.prefix and split_prefix(text).cut):
            return False
        first = self.parts[0].text
        if len(first) < max(self.recent):
            return False
        if len(self.parts) > 1 or self._full(self.parts[0]):
            return True
        if len(text) > len(first):
            return False
        at = first.find('File "')
        if at >= 0:
            return self._completes(first, at, text)
        body = first[self.prefix :]
        if body.startswith("    ") and text[0] not in " \t":
            return self._guess(len(first))
        return self._is_message(body) and self._goes_on(first, text)

    def _completes(self, first: str, at: int, text: str) -> bool:
        """Whether the frame line that begins `first` goes on in `text`."""
        whole = parse_frame(first[at:] + text, 0)
        if whole is None:
            return False
        if parse_frame(first[at:], 0) is not None:
            indented = at > self.prefix or bool(self.prefix)
            if not indented or len(first) < _LIKELY or first.endswith(">") or not _REST.match(text[:400].rstrip()):
                return False
        self.width = len(first)
        return True

    @staticmethod
    def _is_message(body: str) -> bool:
        """Whether the line names a class and begins its message."""
        named = split_class(body)
        return named is not None and bool(named[1]) and is_exception_class(named[0])

    def _goes_on(self, first: str, text: str) -> bool:
        """Whether `text` begins in mid-sentence: with a stop, with one blank, or without the prefix of its kind."""
        joined = text[0] in ",.;:)]}" or (text[0] == " " and text[1:2].isalnum()) or len(text) == len(first)
        bare = bool(self.prefix) and len(first) >= 2 * _NARROWEST and first[-1].isalnum() and text[0].islower()
        if not joined and not bare and not first.endswith(" "):
            return False
        self.width = len(first)
        return True

    def _guess(self, length: int) -> bool:
        """A line of source was followed by a fragment: twice at the same length it is the width."""
        if len(self.guesses) > _MAX_PARTS:
            self.guesses.clear()
        self.guesses[length] = self.guesses.get(length, 0) + 1
        if self.guesses[length] < 2 or max(self.guesses) > length:
            return False
        self.width = length
        return True

    def _release(self) -> Line:
        parts, self.parts = self.parts, []
        return join(parts)


def _begins(text: str) -> bool:
    """Whether the line begins as a line of a traceback does, and so goes on with none above it."""
    body = text.lstrip()
    if body.startswith(('File "', "During handling of", "The above exception")) or HEADER in body[:400]:
        return True
    named = split_class(body)
    return named is not None and is_exception_class(named[0])
