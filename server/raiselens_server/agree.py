"""Whether what a run printed still agrees with the code that is here, and with what is foreseen of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raiselens_server.error import Foreseen

if TYPE_CHECKING:
    from raiselens_server.error import Frame, Hole, RaisedError

# What Markdown eats of a line of source that was pasted without a fence.
_EATEN = str.maketrans("", "", "_*`\\ \t")


def line_here(frame: Frame, text: str) -> int | None:
    """The line of `text` that `frame` ran: the printed one, or the only one that reads as the printed source does.

    None where the source was printed and no line, or more than one, reads so: the file is another one by now. A frame
    without source is taken at its word, as long as the file is that long.
    """
    lines = text.split("\n")
    there = 1 <= frame.line <= len(lines)
    if not frame.source:
        return frame.line if there else None
    wanted = _bare(frame.source)
    if there and _bare(lines[frame.line - 1]) == wanted:
        return frame.line
    found = [number for number, line in enumerate(lines, 1) if _bare(line) == wanted]
    return found[0] if len(found) == 1 else None


def _bare(line: str) -> str:
    return line.translate(_EATEN).rstrip("\r")


def says_the_same(foreseen: RaisedError, observed: RaisedError) -> bool:
    """Whether a foreseen error is the one that a run printed."""
    origin = foreseen.origin
    holes = origin.holes if isinstance(origin, Foreseen) else ()
    return agrees(foreseen.class_name, foreseen.message, holes, observed)


def agrees(class_name: str, message: str, holes: tuple[Hole, ...], observed: RaisedError) -> bool:
    """Whether an error of that class, with a message that is open at its holes, may be the one that a run printed."""
    if _last(class_name) != _last(observed.class_name):
        return False
    pieces: list[str] = []
    at = 0
    for hole in holes:
        pieces.append(message[at : hole.start])
        at = hole.end
    pieces.append(message[at:])
    return _fits(pieces, observed.message.strip())


def _fits(pieces: list[str], text: str) -> bool:
    """Whether `text` is the pieces in their order, with anything between them."""
    first, last = pieces[0].lstrip(), pieces[-1].rstrip()
    if len(pieces) == 1:
        return text == pieces[0].strip()
    if not text.startswith(first) or not text.endswith(last) or len(text) < len(first) + len(last):
        return False
    at, end = len(first), len(text) - len(last)
    for piece in pieces[1:-1]:
        found = text.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True


def _last(name: str) -> str:
    # A traceback prints the module path, a source may not.
    return name.rpartition(".")[2]
