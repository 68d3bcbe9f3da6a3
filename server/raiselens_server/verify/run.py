"""Run one verification in the user's interpreter, and hold it to its limits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeAlias

from raiselens_server.verify.report import VerifyFailure, VerifyReport
from raiselens_server.verify.request import VerifyRequest

Cancel: TypeAlias = threading.Event
Progress: TypeAlias = Callable[[str], None]


def run_verify(
    request: VerifyRequest,
    *,
    interpreter: str,
    launcher: str | None = None,
    timeout: float = 600.0,
    cancel: Cancel | None = None,
    progress: Progress | None = None,
) -> VerifyReport | VerifyFailure:
    """Run `request` in `interpreter`, behind `launcher` if there is one, for at most `timeout` seconds.

    Blocks until the run has ended; set `cancel` from another thread to kill it whole. `progress` is called, in this
    thread, with one short line for each step.
    """
    raise NotImplementedError
