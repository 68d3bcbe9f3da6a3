"""The one line that says what an error is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raiselens_server.error import Foreseen, Hole, Observed, Severity

if TYPE_CHECKING:
    from raiselens_server.error import RaisedError


def headline(error: RaisedError) -> str:
    """`Class: message` as Python prints it; the condition stands in for a message that is empty or not known."""
    condition = condition_of(error)
    if condition and error.class_name and _is_unknown(error):
        return f"{error.class_name} (guard: {condition})"
    said = error.message or condition
    if not error.class_name:
        return said
    return f"{error.class_name}: {said}" if said else error.class_name


def _is_unknown(error: RaisedError) -> bool:
    match error.origin:
        case Foreseen(holes=(Hole(start=0, end=end),)):
            return end == len(error.message)
        case _:
            return False


def condition_of(error: RaisedError) -> str:
    """The guard's condition as written, empty where it is not known."""
    match error.origin:
        case Foreseen(condition=condition):
            return condition
        case Observed():
            return ""


def severity_of(error: RaisedError) -> Severity:
    """How sure it is; what a run has printed is certain."""
    match error.origin:
        case Foreseen(severity=severity):
            return severity
        case Observed():
            return Severity.ERROR
