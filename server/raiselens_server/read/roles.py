"""What is known of errors that only report others, and of those that follow from others.

Both lists are facts about libraries: the words with which they say that the cause is elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raiselens_server.error import Role
from raiselens_server.read.names import last_part

if TYPE_CHECKING:
    from raiselens_server.read.draft import Draft, Unit

_SUMMARY_CLASSES = frozenset({
    "ChildFailedError", "EngineDeadError", "AsyncEngineDeadError", "MQEngineDeadError", "ProcessExitedException",
    "BrokenProcessPool", "TerminatedWorkerError", "PapermillExecutionError", "CellExecutionError",
    "WorkerCrashedError", "MultipleObjectsReturnedFromWorkers",
})  # fmt: skip
_SUMMARY_WORDS = (
    "See root cause above", "see root cause above", "See stack trace (above)", "see the stack trace above",
    "Engine core initialization failed", "Engine process failed to start", "Background loop has errored",
    "Background loop is stopped", "Engine loop is not running", "EngineCore encountered an issue",
    "Initialization failed. Please see the error messages above", "Please see the error messages above",
    "scheduler is dead", "scheduler died", "died unexpectedly", "Worker proc", "Server process failed",
    "WorkerProc initialization failed due to an exception", "see the logs above", "check the logs above",
)  # fmt: skip
_LAUNCHERS = ("python", "torchrun", "accelerate", "deepspeed", "pytest")

_FOLLOWER_CLASSES = frozenset({
    "KeyboardInterrupt", "SystemExit", "CancelledError", "BrokenPipeError", "ConnectionResetError", "EOFError",
    "ConnectionAbortedError", "Fatal Python error", "GeneratorExit",
})  # fmt: skip
_FOLLOWER_WORDS = (
    "Connection closed by peer", "Connection reset by peer", "remote process exited", "communicator was aborted",
    "Watchdog caught collective operation timeout", "Broken pipe", "Socket Timeout", "DataLoader worker (pid",
    "please check the stack trace above for the root cause", "remote error", "Rank is missing", "peer closed",
)  # fmt: skip

_GENERIC = frozenset({"Exception", "BaseException", "RuntimeError"})
_WINDOW = 4096


def mark_roles(unit: Unit) -> None:
    """Give the unit's errors the roles that their words and their logger's level imply."""
    if unit.level == "WARNING" or all(draft.noise for draft in unit.errors):
        for draft in unit.errors:
            draft.role = Role.WARNING
        return
    for draft in unit.errors:
        if draft.role is Role.ROOT and is_summary(draft):
            draft.role = Role.SUMMARY


def is_summary(draft: Draft) -> bool:
    """Whether the error only reports that something else failed."""
    name, text = last_part(draft.class_name), draft.text()[:_WINDOW]
    if name in _SUMMARY_CLASSES:
        return True
    if name == "CalledProcessError":
        return any(word in text[:400] for word in _LAUNCHERS)
    return any(word in text for word in _SUMMARY_WORDS)


def is_follower(draft: Draft) -> bool:
    """Whether the error is what a failure elsewhere does to a process that waits for it."""
    if last_part(draft.class_name) in _FOLLOWER_CLASSES or draft.class_name in _FOLLOWER_CLASSES:
        return True
    text = draft.text()[:_WINDOW]
    return any(word in text for word in _FOLLOWER_WORDS)


def passes_on(outer: Draft, inner: Draft) -> bool:
    """Whether `outer` says no more than `inner`: an excerpt with nothing but a caret, or a generic class around it."""
    text = outer.text()
    if last_part(outer.class_name) == "CompilationError":
        return text.startswith("at ") and text.rsplit("\n", 1)[-1].strip() == "^"
    first = inner.text().split("\n", 1)[0].strip()
    return last_part(outer.class_name) in _GENERIC and len(first) >= 20 and first.count(" ") >= 2 and first in text
