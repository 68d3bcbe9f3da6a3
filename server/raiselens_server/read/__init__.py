"""Text to errors: the exceptions that a log, a terminal or a paste holds, and the one to look at first.

    reading = read_text(log)                      # a whole text
    reading = read_chunks(iter_decoded(file))     # a text of any size, in constant memory
    reading = read_message("…", "TypeError")      # one message, nothing around it

    reader = Reader()                             # a text that is still growing
    for chunk in pipe:                            # any pieces: lines, blocks, half lines
        for error in reader.feed(chunk): ...      # each error once, when it is complete
    for error in reader.finish(): ...
    reading = reader.reading()                    # all of them folded, with the primary one

Nothing here does IO, raises on any text, or takes more than linear time. Lines end at `\\n` only. Each error has
`origin=Observed(...)`; errors are listed in the order of their lines. Also here, and as pure: `paths` (a frame's file
to a file of the workspace) and `mask` (what must not be pasted into an issue).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from raiselens_server.error import RaisedError

__all__ = ["Reader", "Reading", "read_chunks", "read_message", "read_text"]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text holds.

    `errors` are in the order of their lines, the same error of several ranks or logged again folded into its first
    occurrence. `primary` is the index of the one to look at first, `None` where there is no error, or only warnings.
    `why` says in one sentence why the primary is not the last error of the text; empty where it is.
    """

    errors: tuple[RaisedError, ...] = ()
    primary: int | None = None
    why: str = ""


class Reader:
    """Reads a text piece by piece: constant memory, linear time, each error as soon as it is complete."""

    def feed(self, text: str) -> tuple[RaisedError, ...]:
        """Take the next piece of the text; return the errors that it completed, first occurrences only."""
        del text
        return ()

    def settle(self) -> tuple[RaisedError, ...]:
        """Return the errors that are complete if nothing follows: for a stream that is idle. Reading may go on."""
        return ()

    def finish(self) -> tuple[RaisedError, ...]:
        """End the text; return the errors that its end completed."""
        return ()

    def reading(self) -> Reading:
        """Everything read so far, folded, with the primary error chosen."""
        return Reading()


def read_chunks(chunks: Iterable[str]) -> Reading:
    """Read a text given in pieces of any size; only what the errors hold is kept in memory."""
    reader = Reader()
    for chunk in chunks:
        reader.feed(chunk)
    reader.finish()
    return reader.reading()


def read_text(text: str) -> Reading:
    """Read a whole text."""
    return read_chunks((text,))


def read_message(text: str, class_name: str | None = None) -> Reading:
    """Read what `--message` gives: with a class, `text` is the whole message; without, it is read as a log.

    A text in which no error is found is one message of the unknown class `""`.
    """
    del class_name
    return read_text(text)
