"""Lines that a terminal cut at its right edge, put together again.

A frame line that breaks off shows the width. From then on a line of exactly that length goes on with the next one,
unless the next has a prefix that its own kind of lines have.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from raiselens_server.read.kinds import cut_frame, parse_frame
from raiselens_server.read.lines import Line, join
from raiselens_server.read.prefix import split_prefix

if TYPE_CHECKING:
    from collections.abc import Iterator

_NARROWEST = 40
_MAX_PARTS = 256


@dataclass(slots=True)
class Unwrapper:
    """Joins wrapped lines; holds at most one of them back."""

    width: int = 0
    parts: list[Line] = field(default_factory=list)
    prefixed: bool = False

    def feed(self, line: Line) -> Iterator[Line]:
        """The lines that are complete now that this one is known."""
        if self.parts:
            if self._continues(line):
                self.parts.append(line)
                if not self._full(line) or len(self.parts) >= _MAX_PARTS:
                    yield self._release()
                return
            yield self._release()
        if self._full(line) or cut_frame(line.text[-600:]):
            self.parts = [line]
            self.prefixed = split_prefix(line.text).cut > 0
            return
        yield line

    def flush(self) -> Iterator[Line]:
        """What was held back."""
        if self.parts:
            yield self._release()

    def _full(self, line: Line) -> bool:
        return len(line.text) == self.width >= _NARROWEST

    def _continues(self, line: Line) -> bool:
        text = line.text
        if not text.strip() or (self.prefixed and split_prefix(text).cut):
            return False
        if len(self.parts) == 1 and not self._full(self.parts[0]):
            # A frame line that broke off: it shows the width only if the next line completes it.
            whole = self.parts[0].text + text
            at = whole.find('File "')
            if len(text) > len(self.parts[0].text) or parse_frame(whole[at:], 0) is None:
                return False
            self.width = len(self.parts[0].text)
            return True
        return not text.lstrip().startswith(('File "', "Traceback (most"))

    def _release(self) -> Line:
        parts, self.parts = self.parts, []
        return join(parts)
