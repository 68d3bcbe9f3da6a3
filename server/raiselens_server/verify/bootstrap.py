"""What a Python on the other side runs first. It travels as source, so it uses the standard library alone.

It writes the kernel package to a fresh folder (`@triton.jit` refuses code that is in no file), runs the verification
there, and removes the folder. While that runs it says so on stderr once a second: when nobody reads any more, because
the connection or the server is gone, it ends everything it started. Python 3.7 must be able to parse it, to be told
that it is too old.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

_OLDEST = (3, 10)
_INTERRUPTED = 130


def main(packed: str, request: str) -> int:
    """Verify `request` (JSON) with the sources in `packed`, and return the exit status."""
    if sys.version_info[:2] < _OLDEST:
        reason = f"{sys.executable} is Python {sys.version.split()[0]}; verifying needs 3.10 or later"
        failure = {"schema": 1, "ok": False, "error": {"kind": "not-possible", "reason": reason}}
        sys.stdout.write(json.dumps(failure) + "\n")
        return 2
    with contextlib.suppress(OSError):  # where it already leads its group
        os.setpgid(0, 0)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="raiselens-"))
    status = None
    try:
        _unpack(packed, folder)
        status = _run(folder, request)
    except KeyboardInterrupt:
        pass
    finally:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        shutil.rmtree(folder, ignore_errors=True)
        if status is None and os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)
    if status is None:
        return _INTERRUPTED
    return status if status >= 0 else 128 - status  # as a shell reports a signal


def _unpack(packed: str, folder: Path) -> None:
    sources = json.loads(zlib.decompress(base64.b64decode(packed)).decode("utf-8"))
    for name, source in sources.items():
        path = folder.joinpath(*name.split("/"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")


def _run(folder: Path, request: str) -> int | None:
    """The verification's exit status; `None` once nobody listens, or its time is over."""
    deadline = time.monotonic() + json.loads(request)["time_limit"]
    command = [sys.executable, "-m", "raiselens_kernel.verify"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, cwd=str(folder)) as child:
        if child.stdin is not None:
            child.stdin.write(request.encode("utf-8"))
            child.stdin.close()
        while _listened_to() and time.monotonic() < deadline:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return child.wait(1)
        child.kill()
    return None


def _listened_to() -> bool:
    try:
        sys.stderr.write("raiselens: alive\n")
        sys.stderr.flush()
    except OSError:
        return False
    return True
