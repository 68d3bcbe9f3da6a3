"""Whether a repair helps: what foreseeing says of the edited text.

The finding must be gone and no new error may stand anywhere. One thing looks new and is not: what the same call raises
next, because this guard hid it. It is told from an error that the repair has made by where its guard stands (later in the
callee), by what it asks (another parameter, or another property of this one), and by what decided the property (not the
repair). Otherwise two repairs of one call could undo each other for ever.
"""

from __future__ import annotations

import enum
import re
from collections import Counter
from typing import TYPE_CHECKING

from raiselens_server.error import Foreseen, RepairKind

if TYPE_CHECKING:
    from raiselens_server.error import Place, RaisedError
    from raiselens_server.foresee import FileReport
    from raiselens_server.repair.proposal import Change, Proposal


class Verdict(enum.Enum):
    """What an edited text is worth."""

    CLEAN = "clean"
    NEXT_GUARD = "next guard"
    NEXT_GUARD_BY_IT = "next guard, which may look at what was changed"
    NO_HELP = "no help"


class _Property(enum.Enum):
    DTYPE = "dtype"
    DEVICE = "device"
    LAYOUT = "layout"
    SHAPE = "shape"
    VALUE = "value"


_CHANGED = {
    RepairKind.CHANGE_DTYPE_AT_ALLOCATION: _Property.DTYPE,
    RepairKind.CAST_AT_CALL: _Property.DTYPE,
    RepairKind.MOVE_DEVICE: _Property.DEVICE,
    RepairKind.CONTIGUOUS: _Property.LAYOUT,
    RepairKind.RESHAPE: _Property.SHAPE,
    RepairKind.CHANGE_SHAPE_AT_ALLOCATION: _Property.SHAPE,
    RepairKind.CHANGE_ARGUMENT: _Property.VALUE,
}


def verdict(before: FileReport, after: FileReport, error: RaisedError, proposal: Proposal) -> Verdict:
    """Judge the text that `proposal`, a repair of `error`, leads to."""
    before_keys = Counter(_key(other) for other in before.errors)
    after_keys = Counter(_key(other) for other in after.errors)
    here = _key(error)
    if after_keys[here] >= before_keys[here]:
        return Verdict.NO_HELP
    added = after_keys - before_keys
    if not added:
        return Verdict.CLEAN
    stood = Counter((_key(other), _line_after(other, proposal)) for other in before.errors)
    fresh: list[RaisedError] = []
    for other in after.errors:
        place = (_key(other), _place(other).span.line)
        stood[place] -= 1
        if added[_key(other)] and stood[place] < 0:
            fresh.append(other)
    if all(_was_hidden(other, error, proposal) for other in fresh):
        return (
            Verdict.NEXT_GUARD_BY_IT
            if any(_looks_at(other, error, proposal) for other in fresh)
            else Verdict.NEXT_GUARD
        )
    return Verdict.NO_HELP


def _place(error: RaisedError) -> Place:
    assert isinstance(error.origin, Foreseen)  # noqa: S101 states what the caller has checked
    return error.origin.place


def _line_after(error: RaisedError, proposal: Proposal) -> int:
    """Where the statement of an error stands in the edited text."""
    place = _place(error)
    return place.span.line + _lines_added(proposal.changes, place)


def _looks_at(other: RaisedError, error: RaisedError, proposal: Proposal) -> bool:
    """Whether a later guard may fail for what was changed: sizes are compared with each other, dtypes by name."""
    match other.origin, error.origin:
        case Foreseen() as theirs, Foreseen() as ours:
            if _property(theirs.condition) is not _CHANGED[proposal.kind]:
                return False
            return _CHANGED[proposal.kind] is not _Property.DTYPE or _names(ours.param, theirs.condition)
        case _:
            return True


def _names(param: str | None, condition: str) -> bool:
    return param is None or re.search(rf"\b{re.escape(param)}\b", condition) is not None


def _key(error: RaisedError) -> tuple[str, str, str, int]:
    assert isinstance(error.origin, Foreseen)  # noqa: S101 states what the caller has checked
    guard = error.frames[-1]
    # The user's own lines may move with the edit, so a raise in the file itself is told by its condition.
    return error.class_name, error.origin.callee, error.origin.condition, guard.line if len(error.frames) > 1 else 0


def _was_hidden(other: RaisedError, error: RaisedError, proposal: Proposal) -> bool:
    match other.origin, error.origin:
        case Foreseen() as theirs, Foreseen() as ours:
            same_call = theirs.place.file == ours.place.file and theirs.callee == ours.callee
            if not same_call or theirs.place.span.line != _line_after(error, proposal):
                return False
            asked, changed = _property(theirs.condition), _CHANGED[proposal.kind]
            if theirs.param == ours.param and asked == _property(ours.condition):
                return False
            made = asked == changed and any(_overlaps(proposal.changes, related.place) for related in theirs.related)
            return not made and _stands_later(other, error)
        case _:
            return False


def _stands_later(other: RaisedError, error: RaisedError) -> bool:
    """Whether a guard is reached after another: by the lines of the frames that the call entered."""
    ours = [(frame.file, frame.line) for frame in error.frames]
    theirs = [(frame.file, frame.line) for frame in other.frames]
    callee = error.origin.callee if isinstance(error.origin, Foreseen) else ""
    entered = next((i for i, f in enumerate(error.frames) if i and callee.endswith(f".{f.function}")), 1)
    for (file, line), (their_file, their_line) in zip(ours[entered:], theirs[entered:], strict=False):
        if file != their_file:
            break
        if line != their_line:
            return their_line > line
    # One line asks both: a loop over pairs, or one condition on two parameters.
    return True


def _property(condition: str) -> _Property:
    for sign, found in (
        ("dtype", _Property.DTYPE),
        ("floating_point", _Property.DTYPE),
        ("device", _Property.DEVICE),
        ("is_cuda", _Property.DEVICE),
        ("contiguous", _Property.LAYOUT),
        ("stride", _Property.LAYOUT),
    ):
        if sign in condition:
            return found
    if any(sign in condition for sign in ("shape", "dim", "size", "numel", "len(", "unpack")):
        return _Property.SHAPE
    return _Property.VALUE


def _lines_added(changes: tuple[Change, ...], place: Place) -> int:
    return sum(
        change.text.count("\n") - change.module.text(change.start, change.end).count("\n")
        for change in changes
        if change.module.path == place.file and change.module.line_of(change.start) < place.span.line
    )


def _overlaps(changes: tuple[Change, ...], place: Place) -> bool:
    """Whether an edit lies in an expression, whose lines are those of the edited text."""
    for change in changes:
        if change.module.path != place.file:
            continue
        first = change.module.line_of(change.start)
        last = first + change.text.count("\n")
        if place.span.line <= last and first <= place.span.end_line:
            return True
    return False
