"""Diagnoses as the JSON objects that INTERFACE promises. Keys may be added, never renamed or dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raiselens_server.error import Foreseen, Observed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from raiselens_server.diagnose import Explained
    from raiselens_server.error import Diagnosis, Edit, Frame, Repair
    from raiselens_server.foresee import Statistics
    from raiselens_server.source.files import Skipped

SCHEMA = 1


def check_object(
    findings: Iterable[dict[str, Any]],
    *,
    files: int,
    seconds: float,
    skipped: Iterable[Skipped] = (),
    statistics: Statistics | None = None,
) -> dict[str, Any]:
    """What `raiselens check --format json` prints."""
    shown: dict[str, Any] = {
        "schema": SCHEMA,
        "files": files,
        "seconds": round(seconds, 3),
        "skipped": [{"file": item.file, "reason": item.reason} for item in skipped],
        "findings": list(findings),
    }
    return shown if statistics is None else shown | {"statistics": statistics_object(statistics)}


def statistics_object(statistics: Statistics) -> dict[str, Any]:
    """How far foreseeing reached."""
    return {
        "calls": statistics.calls,
        "resolved": statistics.resolved,
        "guards_reached": statistics.guards_reached,
        "guards_decided": statistics.guards_decided,
        "undecided": dict(statistics.undecided.most_common()),
    }


def finding_object(diagnosis: Diagnosis, shown: Callable[[str], str]) -> dict[str, Any]:
    """One foreseen error. `shown` writes paths as the user gave them."""
    error, origin = diagnosis.error, diagnosis.error.origin
    if not isinstance(origin, Foreseen):
        raise TypeError("a finding is foreseen; an observed error is an object of `explain`")
    span = origin.place.span
    finding: dict[str, Any] = {
        "file": shown(origin.place.file),
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
        "severity": origin.severity.value,
        "rule": diagnosis.rule,
        "record_id": None if diagnosis.record is None else diagnosis.record.record_id,
        "class": error.class_name,
        "message": error.message,
        "condition": origin.condition,
        "holes": [[hole.start, hole.end, hole.expr] for hole in origin.holes],
        "callee": origin.callee,
        "param": origin.param,
        "frames": [_frame(frame, shown) for frame in error.frames],
        "related": [
            {
                "file": shown(related.place.file),
                "line": related.place.span.line,
                "column": related.place.span.column,
                "end_line": related.place.span.end_line,
                "end_column": related.place.span.end_column,
                "message": related.message,
            }
            for related in origin.related
        ],
        "repairs": [repair_object(repair, shown) for repair in diagnosis.repairs],
    }
    if origin.when is not None:
        finding["when"] = origin.when
    if not origin.message_certain:
        finding["message_certain"] = False
    return finding


def explain_object(explained: Explained) -> dict[str, Any]:
    """What `raiselens explain --format json` prints, and what the editor gets for a text."""
    errors = [_observed_object(diagnosis, explained.local) for diagnosis in explained.diagnoses]
    return {"schema": SCHEMA, "primary": explained.primary, "why": explained.why, "errors": errors}


def _observed_object(diagnosis: Diagnosis, local: Mapping[str, str]) -> dict[str, Any]:
    error, origin, record = diagnosis.error, diagnosis.error.origin, diagnosis.record
    if not isinstance(origin, Observed):
        raise TypeError("`explain` lists observed errors; a foreseen one is a finding")
    return {
        "class": error.class_name,
        "message": error.message,
        "line": origin.line,
        "column": origin.column,
        "role": origin.role.value,
        "frames": [_observed_frame(frame, local) for frame in error.frames],
        "ranks": list(origin.ranks),
        "count": origin.count,
        "prefix": origin.prefix,
        "record": None
        if record is None
        else {"id": record.record_id, "slug": record.slug, "how": record.how, "captures": dict(record.captures)},
        "repairs": [repair_object(repair, str) for repair in diagnosis.repairs],
    }


def repair_object(repair: Repair, shown: Callable[[str], str]) -> dict[str, Any]:
    """One repair with its edits."""
    return {
        "title": repair.title,
        "kind": repair.kind.value,
        "safe": repair.safe,
        "preferred": repair.preferred,
        "edits": [_edit(edit, shown) for edit in repair.edits],
    }


def _edit(edit: Edit, shown: Callable[[str], str]) -> dict[str, Any]:
    span = edit.place.span
    return {
        "file": shown(edit.place.file),
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
        "text": edit.text,
    }


def _frame(frame: Frame, shown: Callable[[str], str]) -> dict[str, Any]:
    return {"file": shown(frame.file), "line": frame.line, "function": frame.function}


def _observed_frame(frame: Frame, local: Mapping[str, str]) -> dict[str, Any]:
    """A frame as printed, and where its file is on this machine if it goes by another path here."""
    here = local.get(frame.file, frame.file)
    shown = _frame(frame, str)
    return shown if here == frame.file else shown | {"local": here}
