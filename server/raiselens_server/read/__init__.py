r"""Text to errors: the exceptions that a log, a terminal or a paste holds, and the one to look at first.

    reading = read_text(log)                      # a whole text
    reading = read_chunks(iter_decoded(file))     # a text of any size, in constant memory
    reading = read_message("…", "TypeError")      # one message, nothing around it

    reader = Reader()                             # a text that is still growing
    for chunk in pipe:                            # any pieces: lines, blocks, half lines
        for error in reader.feed(chunk): ...      # each error once, when it is complete
    for error in reader.finish(): ...
    reading = reader.reading()                    # all of them folded, with the primary one

Nothing here does IO, raises on any text, or takes more than linear time. Lines end at `\n` only. Each error has
`origin=Observed(...)`; errors are listed in the order of their lines. Also here, and as pure: `paths` (a frame's file
to a file of the workspace) and `mask` (what must not be pasted into an issue).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raiselens_server.error import Observed, RaisedError, Role
from raiselens_server.read.reader import Reader
from raiselens_server.read.reading import Reading

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Reader", "Reading", "read_chunks", "read_message", "read_text"]


def read_chunks(chunks: Iterable[str] | Iterable[bytes]) -> Reading:
    """Read a text given in pieces of any size, UTF-8 if bytes; only what the errors hold is kept in memory."""
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
    if class_name is None:
        reading = read_text(text)
        if reading.primary is not None or not text.strip():
            return reading
    message = text.rstrip()
    error = RaisedError(class_name or "", message, (), Observed(line=1, column=1, role=Role.ROOT))
    return Reading((error,), 0)
