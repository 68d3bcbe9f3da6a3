"""Names of exception classes: what may stand before the colon, and what is known of some of them.

A line of a traceback that stands where the class must stand needs only to look like a dotted name. A line on its own
needs more: its last part must be named as exceptions are, since `note: text` is prose.
"""

from __future__ import annotations

import re

# Bounded, so that a line of a million dots costs no more than a short one.
_NAME = re.compile(r"[^\W\d]\w{0,120}(?:\.(?:[^\W\d]\w{0,120}|<locals>)){0,16}(?:\([\w.]{1,200}\))?")

_SUFFIXES = ("Error", "Exception", "Interrupt", "Exit", "ExceptionGroup", "RemoteTraceback")
_WARNING_SUFFIX = "Warning"

# Exceptions of Python and of the libraries of this field whose names do not end as exceptions' names do.
_KNOWN = frozenset({
    "StopIteration", "StopAsyncIteration", "Unsupported", "BackendCompilerFailed", "OutOfResources", "TimeoutExpired",
    "RayTaskError", "CancelledError", "UserErrorException", "OutOfMemory", "Skipped", "Failed", "Empty", "Full",
})  # fmt: skip
_KNOWN_LONE = frozenset({"BackendCompilerFailed", "OutOfResources", "TimeoutExpired", "Unsupported"})

# Words that stand before a colon at the start of a line without being a class.
_NEVER = frozenset({
    "DEBUG", "INFO", "NOTICE", "WARNING", "WARN", "ERROR", "CRITICAL", "FATAL", "TRACE", "Note", "NOTE", "Usage",
    "Hint", "Warning", "Killed", "Aborted", "Terminated", "Done", "Failures", "Errors", "Warnings", "Traceback", "Process", "Thread", "File",
    "Cell", "Input", "True", "False", "None", "Success", "Failed", "Skipped", "Finished", "Started", "Stopped",
})  # fmt: skip


def split_class(text: str) -> tuple[str, str] | None:
    """`Class: message` or `Class`, taken apart; None where the text does not look so."""
    match = _NAME.match(text)
    if match is None:
        return None
    end = match.end()
    rest = text[end : end + 2]
    if not rest.strip():
        return (match.group(), "") if not text[end:].strip() else None
    if rest in {": ", ":"}:
        return match.group(), text[end + 2 :]
    return None


def last_part(name: str) -> str:
    """The class's own name: without module, and without what Ray puts in parentheses."""
    return name.partition("(")[0].rpartition(".")[2]


def is_warning_class(name: str) -> bool:
    """Whether the class is a warning category."""
    return last_part(name).endswith(_WARNING_SUFFIX)


def is_exception_class(name: str) -> bool:
    """Whether the name says by itself that it is an exception's."""
    last = last_part(name)
    if last in _NEVER and "." not in name:
        return False
    return last.endswith((*_SUFFIXES, _WARNING_SUFFIX)) or last in _KNOWN


def is_plausible_class(name: str, source: str) -> bool:
    """Whether the name may be a class where a traceback prints one; `source` is the line that raised."""
    if is_exception_class(name):
        return True
    last = last_part(name)
    if f"raise {last}" in source or f"{last}(" in source:
        return True
    if name in _NEVER:
        return False
    return "." in name or last[:1].isupper()


def is_lone_class(name: str) -> bool:
    """Whether `name: message` is an error with nothing around it. A bare `Error:` is how programs without one speak."""
    last = last_part(name)
    if name in {"Error", "Exit"} or last == "SystemExit":
        return False
    return last.endswith(_SUFFIXES) or last in _KNOWN_LONE
