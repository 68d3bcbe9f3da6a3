"""Standard output and error as scripts use them: a pipe that nobody reads any more, a full disk, no stream at all."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from typing_extensions import Buffer


class OutputError(Exception):
    """Results that could not be written; the text says why."""


class Output(io.RawIOBase):
    """A stream to write to. Once it has failed, what is written goes nowhere.

    A reader that has seen enough (`| head`) ends the printing and not the command, whose exit code still counts.
    """

    def __init__(self, descriptor: int, *, quiet: bool = False) -> None:
        """Write to `descriptor`; a `quiet` stream keeps its failures to itself."""
        self._descriptor = descriptor
        self._quiet = quiet
        self.failed = False

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def write(self, data: Buffer, /) -> int:
        if not self.failed:
            try:
                return os.write(self._descriptor, data)
            except BrokenPipeError:
                self.failed = True
            except OSError as error:
                self.failed = True
                if not self._quiet:
                    raise OutputError(error.strerror or str(error)) from error
        return memoryview(data).nbytes


def guard_streams() -> None:
    """Replace the standard streams of this process."""
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115 - open until the process ends
    sys.stdout = _guarded(sys.stdout, quiet=False)
    sys.stderr = _guarded(sys.stderr, quiet=True)


def is_unread() -> bool:
    """Whether nobody reads standard output any more."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return isinstance(raw, Output) and raw.failed


def _guarded(stream: TextIO | None, *, quiet: bool) -> io.TextIOWrapper:
    # A stream that was closed before the start is None.
    descriptor = os.open(os.devnull, os.O_WRONLY) if stream is None else stream.fileno()
    raw = Output(descriptor, quiet=quiet)
    # A log may hold what the terminal's encoding cannot write; a character less is better than no answer.
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding="utf-8" if stream is None else stream.encoding,
        errors="backslashreplace",
        line_buffering=quiet or raw.isatty(),
    )
