"""All repairs of one foreseen error, each re-checked on the edited text."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from typing_extensions import assert_never

from raiselens_server.error import Edit, Foreseen, Place, Repair
from raiselens_server.repair import dtype, operation, place, shape
from raiselens_server.repair.consumers import other_consumers
from raiselens_server.repair.subject import subject_of
from raiselens_server.repair.wants import (
    WantContiguous,
    WantDevice,
    WantDType,
    WantRank,
    WantSize,
    WantValue,
    wants_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raiselens_server.error import RaisedError
    from raiselens_server.foresee import FileReport, Project
    from raiselens_server.foresee.report import Finding
    from raiselens_server.repair.proposal import Proposal
    from raiselens_server.repair.wants import Want

MAX_TRIED = 12
MAX_OFFERED = 4


def repairs_for(project: Project, error: RaisedError) -> tuple[Repair, ...]:
    """The repairs of an error that the project foresaw in the last check of its file; best first."""
    finding = project.finding(error)
    if finding is None:
        return ()
    found: list[tuple[Proposal, bool, tuple[str, ...]]] = []
    clean: list[Proposal] = []
    before = project.check_edited(finding.call.frame.module.path, {})
    tried: set[tuple[tuple[str, int, int, str], ...]] = set()
    for proposal in _proposals(project, finding):
        key = tuple((c.module.path, c.start, c.end, c.text) for c in proposal.changes)
        if key in tried:
            continue
        tried.add(key)
        if len(tried) > MAX_TRIED or len(found) >= MAX_OFFERED:
            break
        after = _after(project, finding, proposal)
        if after is None:
            continue
        if helps(before, after, error, next_guard=False):
            clean.append(proposal)
        elif finding.raising.implicit is not None or not helps(before, after, error, next_guard=True):
            continue
        unknown: tuple[str, ...] = ()
        if proposal.changed is not None:
            here = proposal.changed.module is finding.call.frame.module
            followed = _followed_before(after, proposal) if here else frozenset()
            unknown = other_consumers(proposal.changed, finding.call.node if here else None, followed).unknown
        found.append((proposal, not unknown and not proposal.doubtful, unknown))
    # Where one edit lets the call pass, another that only leads to its next guard is no repair.
    found = [item for item in found if not clean or item[0] in clean]
    found.sort(key=lambda item: not item[1])
    return tuple(_repair(*item, first=index == 0) for index, item in enumerate(found))


def _followed_before(after: FileReport, proposal: Proposal) -> frozenset[int]:
    """The offsets of the calls that the re-check followed, as they were before the proposal's changes."""
    assert proposal.changed is not None  # noqa: S101 states what the caller has checked
    path = proposal.changed.module.path
    changes = sorted((c for c in proposal.changes if c.module.path == path), key=lambda c: c.start)
    found: set[int] = set()
    for offset in after.followed:
        longer = 0
        for change in changes:
            text = change.text.encode()
            if offset >= change.start + longer + len(text):
                longer += len(text) - (change.end - change.start)
        found.add(offset - longer)
    return frozenset(found)


def _repair(proposal: Proposal, safe: bool, unknown: tuple[str, ...], *, first: bool) -> Repair:
    title = proposal.title
    if unknown:
        title += f" (also used by {', '.join(unknown[:3])}{' and others' if len(unknown) > 3 else ''})"
    edits = tuple(Edit(Place(c.module.path, c.module.span(c.start, c.end)), c.text) for c in proposal.changes)
    return Repair(title, proposal.kind, safe, safe and first, edits)


def _proposals(project: Project, finding: Finding) -> Iterator[Proposal]:
    run = project.scopes.static
    if run is None:
        return
    if finding.raising.implicit is not None:
        yield from operation.proposals(finding)
        return
    for want in wants_of(finding, run):
        yield from _for_want(project, finding, want)


def _for_want(project: Project, finding: Finding, want: Want) -> Iterator[Proposal]:
    subject = subject_of(finding, want.subject)
    if subject is None:
        return
    match want:
        case WantDType(name=name):
            yield from dtype.proposals(project, subject, name)
        case WantRank(rank=rank):
            yield from shape.rank_proposals(project, subject, rank)
        case WantSize(axis=axis, more=more):
            yield from shape.size_proposals(project, subject, axis, more)
        case WantDevice(other=other):
            reference = None if other is None else subject_of(finding, other)
            yield from place.device_proposals(project, subject, want, reference)
        case WantContiguous():
            yield from place.contiguous_proposals(subject)
        case WantValue(allowed=allowed):
            yield from place.value_proposals(subject, allowed)
        case _:
            assert_never(want)


def _after(project: Project, finding: Finding, proposal: Proposal) -> FileReport | None:
    texts: dict[str, bytes] = {}
    for change in sorted(proposal.changes, key=lambda c: c.start, reverse=True):
        source = texts.get(change.module.path, change.module.source)
        texts[change.module.path] = source[: change.start] + change.text.encode() + source[change.end :]
    decoded = {path: text.decode("utf-8", "surrogatepass") for path, text in texts.items()}
    return project.check_edited(finding.call.frame.module.path, decoded)


def helps(before: FileReport, after: FileReport, error: RaisedError, *, next_guard: bool) -> bool:
    """Whether the finding is gone and no new one came.

    With `next_guard`, what the same call raises next was hidden by this guard: it is not new. What one operation raises
    instead is.
    """
    before_keys = Counter(_key(other) for other in before.errors)
    after_keys = Counter(_key(other) for other in after.errors)
    here = _key(error)
    if after_keys[here] >= before_keys[here]:
        return False
    added = after_keys - before_keys
    return all(next_guard and _same_call(other, error) for other in after.errors if added[_key(other)])


def _key(error: RaisedError) -> tuple[str, str, str, int]:
    assert isinstance(error.origin, Foreseen)  # noqa: S101 states what the caller has checked
    guard = error.frames[-1]
    # The user's own lines may move with the edit, so a raise in the file itself is told by its condition.
    return error.class_name, error.origin.callee, error.origin.condition, guard.line if len(error.frames) > 1 else 0


def _same_call(other: RaisedError, error: RaisedError) -> bool:
    match other.origin, error.origin:
        case (Foreseen(place=a, callee=x), Foreseen(place=b, callee=y)):
            return a.file == b.file and x == y and abs(a.span.line - b.span.line) <= 1
        case _:
            return False
