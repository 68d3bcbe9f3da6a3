"""All repairs of one foreseen error, each re-checked on the edited text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import assert_never

from raiselens_server.error import Edit, Place, Repair
from raiselens_server.repair import binding, dtype, operation, place, shape
from raiselens_server.repair.consumers import other_consumers
from raiselens_server.repair.guards import wants_of
from raiselens_server.repair.reach import roots_concerned
from raiselens_server.repair.recheck import Verdict, verdict
from raiselens_server.repair.subject import subject_of
from raiselens_server.repair.wants import (
    WantContiguous,
    WantDevice,
    WantDType,
    WantRank,
    WantShapeOf,
    WantSize,
    WantTensor,
    WantValue,
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
    found: list[tuple[Proposal, Verdict, tuple[str, ...]]] = []
    path = finding.call.frame.module.path
    before: dict[frozenset[int] | None, FileReport] = {}
    tried: set[tuple[tuple[str, int, int, str], ...]] = set()
    for proposal in _proposals(project, finding):
        key = tuple((c.module.path, c.start, c.end, c.text) for c in proposal.changes)
        if key in tried or all(c.module.text(c.start, c.end) == c.text for c in proposal.changes):
            continue
        tried.add(key)
        if len(tried) > MAX_TRIED or len(found) >= MAX_OFFERED:
            break
        roots = _roots_concerned(finding, proposal)
        if roots not in before:
            before[roots] = project.check_edited(path, {}, roots)
        judged = verdict(before[roots], _after(project, finding, proposal, roots), error, proposal)
        # What one operation raises instead was no guard that this one hid.
        if judged is Verdict.NO_HELP or (
            judged is not Verdict.CLEAN and finding.raising.implicit not in {None, "binding"}
        ):
            continue
        found.append((proposal, judged, _unknown_consumers(project, finding, proposal)))
    # Where one edit lets the call pass, another that only leads to its next guard is no repair.
    if any(judged is Verdict.CLEAN for _, judged, _ in found):
        found = [item for item in found if item[1] is Verdict.CLEAN]
    offered = [
        (proposal, not (unknown or proposal.doubtful or judged is Verdict.NEXT_GUARD_BY_IT), unknown)
        for proposal, judged, unknown in found
    ]
    offered.sort(key=lambda item: not item[1])
    return tuple(_repair(*item, first=index == 0) for index, item in enumerate(offered))


def _unknown_consumers(project: Project, finding: Finding, proposal: Proposal) -> tuple[str, ...]:
    changed = proposal.changed
    if changed is None:
        return ()
    alike = sorted(project.findings_like(finding), key=lambda other: other is not finding)
    calls = [
        other.call.node
        for other in alike
        if other.call.node is not None
        and other.call.frame.module.path == changed.module.path
        and other.call.frame.base == changed.base
    ]
    return other_consumers(project, changed, calls)


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
    if finding.raising.implicit == "binding":
        yield from binding.proposals(project, finding)
        return
    for want in wants_of(finding, run):
        yield from _for_want(project, finding, want)
    if finding.raising.implicit is not None:
        yield from operation.proposals(project, finding)


def _for_want(project: Project, finding: Finding, want: Want) -> Iterator[Proposal]:
    subject = subject_of(finding, want.subject)
    if subject is None:
        return
    match want:
        case WantDType(name=name):
            yield from dtype.proposals(project, subject, name, finding.call.node)
        case WantRank(rank=rank):
            yield from shape.rank_proposals(project, subject, rank)
        case WantSize():
            yield from shape.size_proposals(project, subject, want)
        case WantDevice(other=other):
            reference = None if other is None else subject_of(finding, other)
            yield from place.device_proposals(project, subject, want, reference)
        case WantContiguous():
            yield from place.contiguous_proposals(subject)
        case WantValue(allowed=allowed):
            yield from place.value_proposals(subject, allowed)
        case WantShapeOf(other=other):
            like = subject_of(finding, other)
            if like is not None:
                yield from shape.same_shape_proposals(subject, like)
        case WantTensor():
            yield from place.tensor_proposals(subject)
        case _:
            assert_never(want)


def _roots_concerned(finding: Finding, proposal: Proposal) -> frozenset[int] | None:
    """What to run again: whatever may see the edit or raise the finding."""
    module = finding.call.frame.module
    if any(change.module is not module for change in proposal.changes):
        return None
    return roots_concerned(module, [module.layout.offset(finding.call.at), *(c.start for c in proposal.changes)])


def _after(project: Project, finding: Finding, proposal: Proposal, roots: frozenset[int] | None) -> FileReport:
    texts: dict[str, bytes] = {}
    for change in sorted(proposal.changes, key=lambda c: c.start, reverse=True):
        source = texts.get(change.module.path, change.module.source)
        texts[change.module.path] = source[: change.start] + change.text.encode() + source[change.end :]
    decoded = {path: text.decode("utf-8", "surrogatepass") for path, text in texts.items()}
    return project.check_edited(finding.call.frame.module.path, decoded, roots)
