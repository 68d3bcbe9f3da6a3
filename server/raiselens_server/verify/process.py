"""A process that is held to limits: its own session, a wall limit, capped output, killed whole."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

_LONGEST_OUTPUT = 8 << 20
_READ_SIZE = 64 << 10
_GRACE_SECONDS = 3.0
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Ended:
    """The process ended by itself; a negative status is the signal that killed it."""

    status: int
    output: bytes
    errors: bytes


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The process was killed at the wall limit."""

    errors: bytes


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The process was killed because the caller no longer wants it."""


@dataclass(frozen=True, slots=True)
class NotStarted:
    """The process could not be started, for this reason."""

    reason: str


Outcome: TypeAlias = Ended | TimedOut | Cancelled | NotStarted


def run_limited(
    command: list[str],
    stdin: bytes,
    *,
    timeout: float,
    cancel: threading.Event | None,
    on_error_line: Callable[[str], None],
) -> Outcome:
    """Run `command` to its end, its limit, or until `cancel` is set; no process of its group is left behind.

    `on_error_line` is called in this thread with each line of stderr while the process runs. Of stdout and stderr the
    first 8 MiB are kept, the rest is read and dropped.
    """
    if cancel is not None and cancel.is_set():
        return Cancelled()
    # In a folder of its own: an interpreter started in the user's would put it on its path.
    with tempfile.TemporaryDirectory(prefix="raiselens-") as folder:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                start_new_session=True,
            )
        except OSError as error:
            return NotStarted(f"{command[0]} cannot be started: {error.strerror or error}")
        try:
            return _attend(process, stdin, timeout=timeout, cancel=cancel, on_error_line=on_error_line)
        finally:
            _kill_group(process)


def _attend(
    process: subprocess.Popen[bytes],
    stdin: bytes,
    *,
    timeout: float,
    cancel: threading.Event | None,
    on_error_line: Callable[[str], None],
) -> Outcome:
    output, errors = _Reader(process.stdout), _Reader(process.stderr)
    threading.Thread(target=_write, args=(process.stdin, stdin), daemon=True).start()
    deadline = time.monotonic() + timeout
    told = 0
    try:
        while True:
            try:
                process.wait(_POLL_SECONDS)
                ended = True
            except subprocess.TimeoutExpired:
                ended = False
            told = _tell(errors, told, on_error_line)
            if cancel is not None and cancel.is_set():
                return Cancelled()
            if ended:
                break
            if time.monotonic() > deadline:
                return TimedOut(errors.content())
        # What the process started may hold the pipes open; it has nothing more to say that is wanted.
        _kill_group(process)
        output.finish()
        errors.finish()
        _tell(errors, told, on_error_line)
        return Ended(process.returncode, output.content(), errors.content())
    finally:
        # A pipe that is still open tells the other side that somebody reads.
        output.close()
        errors.close()


class _Reader:
    """Reads a pipe to its end in a thread of its own, keeping the first part."""

    def __init__(self, pipe: IO[bytes] | None) -> None:
        self._pipe = pipe
        self._content = bytearray()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def content(self) -> bytes:
        return bytes(self._content)

    def finish(self) -> None:
        """Wait for the pipe's end, but not for long."""
        self._thread.join(_GRACE_SECONDS)

    def close(self) -> None:
        """Read no more, and close the pipe."""
        self._closing.set()
        self._thread.join(_GRACE_SECONDS)
        if self._pipe is not None and not self._thread.is_alive():
            self._pipe.close()

    def _read(self) -> None:
        if self._pipe is None:
            return
        with contextlib.suppress(OSError, ValueError):
            while not self._closing.is_set():
                # Elsewhere `select` takes sockets only, and the thread stays in `read` until the process is gone.
                if os.name == "posix" and not select.select([self._pipe], [], [], _POLL_SECONDS)[0]:
                    continue
                chunk = os.read(self._pipe.fileno(), _READ_SIZE)
                if not chunk:
                    return
                self._content += chunk[: max(0, _LONGEST_OUTPUT - len(self._content))]


def _write(pipe: IO[bytes] | None, content: bytes) -> None:
    if pipe is None:
        return
    # A process that dies early leaves the pipe broken; how it ended says more than that.
    with contextlib.suppress(OSError):
        pipe.write(content)
    with contextlib.suppress(OSError):
        pipe.close()


def _tell(errors: _Reader, told: int, on_error_line: Callable[[str], None]) -> int:
    """Hand on the whole lines of stderr that are new, and return how far that reached."""
    fresh = errors.content()[told:]
    whole = fresh.rfind(b"\n") + 1
    for line in fresh[:whole].splitlines():
        on_error_line(line.decode("utf-8", "replace"))
    return told + whole


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """End the process's group: asked first, so that the other side can remove its files, then killed."""
    if os.name != "posix":
        process.kill()
        process.wait()
        return
    if process.poll() is None:
        _signal_group(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_SECONDS)
    _signal_group(process.pid, signal.SIGKILL)
    process.wait()


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
