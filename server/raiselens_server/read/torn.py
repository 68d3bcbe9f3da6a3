"""Lines that two writers tore: printed into one another, or told twice in alternation without a tag to tell them apart.

Ranks run the same code, so what the slower one prints is what the faster one printed before it. A second header while
frames are being read starts an echo; each line that the echo expects next is its, every other line is the first one's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice

from raiselens_server.read.kinds import HEADER
from raiselens_server.read.lines import Line

# A tag in the middle of a line begins the line of another process; so does a second header, or a second frame.
_TEAR = re.compile(r"(?<=\S)(?:\[rank\d{1,6}\]: ?|\([\w.-]{1,60} pid=\d{1,9}\) )")
# Behind one of these a tag is no tear: tags stack, and may stand quoted.
_TAG_ENDS = frozenset("]):|>\"'")
_MAX_PIECES = 64
_MAX_HISTORY = 2_000
_MAX_ECHOES = 64
_LONGEST_DOUBLED = 2_000


def tear(line: Line) -> list[Line]:
    """The lines that were written into one physical line."""
    text = line.text
    if "\\n" in text or text[:200].lstrip()[:1] in {"{", '"'}:
        return [line]  # escaped text of several lines is one line's by right
    cuts: list[int] = []
    if "[rank" in text or " pid=" in text:
        tags = islice(_TEAR.finditer(text), _MAX_PIECES)
        cuts.extend(match.start() for match in tags if text[match.start() - 1] not in _TAG_ENDS)
    for mark in (HEADER, '  File "'):
        at = text.find(mark)
        again = text.find(mark, at + 1) if at >= 0 else -1
        while again >= 0 and len(cuts) < _MAX_PIECES:
            cuts.append(again)
            again = text.find(mark, again + 1)
    if not cuts:
        return [line]
    pieces: list[Line] = []
    start = 0
    for cut in [*sorted(cuts)[:_MAX_PIECES], len(text)]:
        if cut > start:
            pieces.append(line.drop(start).keep(cut - start))
        start = cut
    return pieces


@dataclass(slots=True)
class Echoes:
    """What one traceback has printed so far, and how far those that repeat it have come."""

    history: list[str] = field(default_factory=list)
    at: list[int] = field(default_factory=list)

    def begin(self) -> bool:
        """Another one prints the same from the header on; False where there are too many of them."""
        if len(self.at) >= _MAX_ECHOES or not self.history:
            return False
        self.at.append(1)
        return True

    def takes(self, text: str) -> bool:
        """Whether the line is what one of the echoes prints next; the one furthest behind the first is asked last."""
        line = text.strip()
        if not line:
            return False
        for index, position in enumerate(self.at):
            if position < len(self.history) and self.history[position] == line:
                self.at[index] = position + 1
                return True
        return False

    def parted(self) -> bool:
        """Whether one of the echoes has not come as far as the first one."""
        return any(position < len(self.history) for position in self.at)

    def note(self, text: str) -> None:
        """The first one printed the line."""
        if text.strip() and len(self.history) < _MAX_HISTORY:
            self.history.append(text.strip())


def undouble(line: Line) -> Line | None:
    """The line once, if two writers wrote it piece by piece into one another: `main()main()`, `AA: : bb`."""
    text = line.text.rstrip()
    if not text or len(text) > _LONGEST_DOUBLED:
        return None
    kept: list[str] = []
    at = 0
    while at < len(text):
        for length in range((len(text) - at) // 2, 0, -1):
            if text.startswith(text[at : at + length], at + length):
                kept.append(text[at : at + length])
                at += 2 * length
                break
        else:
            return None
    return Line("".join(kept), line.raw, line.marks[:1])
