"""Where a text is worth reading line by line: what every way of printing an error has in it, searched in bulk."""

from __future__ import annotations

from ahocorasick_rs import BytesAhoCorasick, MatchKind

# At least one of these stands in, or next to, the first line of everything that the reader knows.
MARKERS = (
    b"Traceback", b"Error", b"Exception", b"File ", b"terminat", b"Fatal Python", b"Assertion", b": error: ",
    b"Interrupt", b"-> ", b"\xe2\x9d\xb1", b"Warning: ", b"____ ", b".py:", b"OutOfResources", b"Unsupported", b"ray::",
)  # fmt: skip


class Gate:
    """A search for all markers at once."""

    def __init__(self) -> None:
        self._search = BytesAhoCorasick(list(MARKERS), matchkind=MatchKind.LeftmostFirst)

    def hits(self, data: bytes) -> list[int]:
        """The offsets of the markers in `data`, ascending."""
        return [start for _, start, _ in self._search.find_matches_as_indexes(data)]
