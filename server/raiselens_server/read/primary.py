"""Which error a person should look at first, and why it is not the last one."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from raiselens_server.error import Role
from raiselens_server.read.fold import raised
from raiselens_server.read.names import last_part
from raiselens_server.read.roles import is_follower, passes_on

if TYPE_CHECKING:
    from raiselens_server.read.draft import Draft, Unit

# Errors this many lines apart are different incidents: a request that failed an hour before the crash is not its cause.
_APART = 500
_MIN_QUOTED = 24


@dataclass(frozen=True, slots=True)
class Choice:
    """The primary error, and one sentence that says why it is preferred to what comes after it."""

    draft: Draft
    why: str


def choose(units: list[Unit]) -> Choice | None:
    """The primary error of a text; None where there are only warnings."""
    ranked = [(_rank(unit), unit) for unit in units if raised(unit).role is not Role.WARNING]
    if not ranked:
        return None
    best = min(rank for rank, _ in ranked)
    candidates = sorted((unit for rank, unit in ranked if rank == best), key=lambda unit: raised(unit).line)
    interrupted = next((unit for unit in candidates if raised(unit).interrupted), None)
    if interrupted is not None:
        return Choice(raised(interrupted), "it stopped the run; the others are failures of single tests")
    unit = _first_of_last_incident(candidates)
    unit = _quoted(unit, candidates) or unit
    inner = _within(unit)
    if inner.why:
        return inner
    if best == 0 and any(rank for rank, _ in ranked):
        return Choice(inner.draft, "later errors only report it, or follow from it")
    return Choice(inner.draft, "it came first; what comes after may follow from it")


def _rank(unit: Unit) -> int:
    """0 for a cause, then diagnostics without a class, consequences, summaries."""
    error = raised(unit)
    if any(draft.embedded for draft in unit.errors):
        return 0
    if error.role is Role.SUMMARY:
        # Which command failed says more than that a child did.
        return 3 if last_part(error.class_name) == "CalledProcessError" else 4
    if error.native or error.logged:
        return 1
    return 2 if is_follower(error) else 0


def _first_of_last_incident(units: list[Unit]) -> Unit:
    first = units[0]
    for before, after in pairwise(units):
        if raised(after).line - raised(before).line > _APART:
            first = after
    return first


def _quoted(unit: Unit, units: list[Unit]) -> Unit | None:
    """The unit whose whole message stands in this one's."""
    text = raised(unit).text()
    for other in units:
        part = raised(other).text()
        if other is not unit and not raised(other).native and _MIN_QUOTED <= len(part) < len(text) and part in text:
            return other
    return None


def _within(unit: Unit) -> Choice:
    """The error of a unit to look at: down its groups, its quotations and the wrappers of its chain."""
    error = raised(unit)
    members = [
        draft for draft in unit.errors if draft.role is Role.GROUP_MEMBER and "ExceptionGroup" not in draft.class_name
    ]
    if members and "ExceptionGroup" in error.class_name:
        return Choice(members[0], "the group only collects its members; this is the first of them")
    start = unit.errors.index(error)
    quoted = [draft for draft in unit.errors[start + 1 :] if draft.embedded]
    if quoted:
        return Choice(quoted[-1], "it is what was raised in the worker; the errors around it only pass it on")
    chain = [draft for draft in unit.errors if not draft.embedded and draft.role is not Role.GROUP_MEMBER]
    at = chain.index(error) if error in chain else 0
    while at and passes_on(chain[at], chain[at - 1]):
        at -= 1
    if chain and chain[at] is not error:
        return Choice(chain[at], "the error raised from it only passes it on")
    return Choice(error, "")
