"""Where a text is worth reading line by line: what every way of printing an error has in it, searched in bulk."""

from __future__ import annotations

from ahocorasick_rs import BytesAhoCorasick, MatchKind

# At least one of these stands in, or next to, the first line of everything that the reader knows.
MARKERS = (
    b"Traceback", b"Error", b"Exception", b"File ", b"terminat", b"Fatal Python", b"Assertion", b": error: ",
    b"Interrupt", b"-> ", b"\xe2\x9d\xb1", b"Warning: ", b"____ ", b".py:", b"OutOfResources", b"Unsupported", b"ray::", b"LLVM ERROR", b".py in ", b"](http", b"<ipython-input",
)  # fmt: skip


_SLICE = 1 << 18
_OVERLAP = 32


class Gate:
    """A search for all markers at once."""

    def __init__(self) -> None:
        self._search = BytesAhoCorasick(list(MARKERS), matchkind=MatchKind.LeftmostFirst)

    def hits(self, data: bytes) -> list[int]:
        """The offsets of the markers in `data`, ascending; of a very long line, of one marker at least."""
        if len(data) <= 2 * _SLICE:
            return [start for _, start, _ in self._search.find_matches_as_indexes(data)]
        found: list[int] = []
        at = 0
        while at < len(data):
            here = [
                at + start for _, start, _ in self._search.find_matches_as_indexes(data[at : at + _SLICE + _OVERLAP])
            ]
            found.extend(here)
            line_end = data.find(b"\n", here[-1]) if here else -1
            # Once a line has shown a marker, the rest of it need not be searched.
            at = max(at + _SLICE, (line_end if line_end >= 0 else len(data)) if here else 0)
        return found
