"""Run one verification in the user's interpreter, and hold it to its limits."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from raiselens_server.verify.process import Cancelled, Ended, NotStarted, TimedOut, run_limited
from raiselens_server.verify.report import FailureKind, VerifyFailure, VerifyReport
from raiselens_server.verify.transport import command, script
from raiselens_server.verify.wire import decode_report, encode_request

if TYPE_CHECKING:
    from raiselens_server.verify.request import VerifyRequest

Cancel: TypeAlias = threading.Event
Progress: TypeAlias = Callable[[str], None]

_STEP = "raiselens: step: "
_OURS = "raiselens: "
_SHOWN_OUTPUT = 4_000


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
    try:
        words = command(interpreter, launcher)
    except ValueError as error:
        return VerifyFailure(FailureKind.NOT_STARTED, f"the launcher {launcher!r} cannot be split into words: {error}")
    steps: list[str] = []

    def on_error_line(line: str) -> None:
        if line.startswith(_STEP):
            steps.append(line.removeprefix(_STEP))
            if progress is not None:
                progress(steps[-1])

    outcome = run_limited(
        words,
        script(encode_request(request, time_limit=timeout)),
        timeout=timeout,
        cancel=cancel,
        on_error_line=on_error_line,
    )
    match outcome:
        case NotStarted(reason=reason):
            return VerifyFailure(FailureKind.NOT_STARTED, reason)
        case Cancelled():
            return VerifyFailure(FailureKind.CANCELLED, "cancelled")
        case TimedOut(errors=errors):
            step = f", while {steps[-1]}" if steps else ""
            return VerifyFailure(FailureKind.TIMED_OUT, f"not done after {timeout:g} s{step}; killed", _tail(errors))
        case Ended():
            return _read(outcome, " ".join(words[:-1]))


def _read(ended: Ended, what: str) -> VerifyReport | VerifyFailure:
    answer = _last_object(ended.output)
    if answer is not None:
        try:
            return decode_report(answer)
        except (KeyError, TypeError, ValueError):
            pass
    errors = _tail(ended.errors)
    if ended.status < 0:
        return VerifyFailure(FailureKind.KILLED, f"{what} was killed by {_signal_name(-ended.status)}", errors)
    lines = [line for line in errors.splitlines() if line.strip()]
    if ended.status > 0:
        reason = f"{what} ended with status {ended.status}"
        return VerifyFailure(FailureKind.BAD_ANSWER, f"{reason}: {lines[-1]}" if lines else reason, errors)
    if not ended.output.strip():
        reason = f"{what} printed nothing; a launcher must pass stdin on (`docker exec` and `kubectl exec` need -i)"
        return VerifyFailure(FailureKind.BAD_ANSWER, reason, errors)
    first = ended.output.decode("utf-8", "replace").strip().splitlines()[0][:200]
    return VerifyFailure(FailureKind.BAD_ANSWER, f"{what} printed no report but {first!r}", errors)


def _last_object(output: bytes) -> dict[str, Any] | None:
    """The last line that is a JSON object; a login shell may have printed its greeting before it."""
    for line in reversed(output.splitlines()):
        if line.startswith(b'{"schema"'):
            try:
                answer = json.loads(line)
            except ValueError:
                continue
            if isinstance(answer, dict):
                return answer
    return None


def _tail(errors: bytes) -> str:
    lines = errors.decode("utf-8", "replace").splitlines()
    return "\n".join(line for line in lines if not line.startswith(_OURS))[-_SHOWN_OUTPUT:]


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
