"""Our values as the protocol's: diagnostics and edits. Places are converted by `lines.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from raiselens_server.error import Observed, Place, Role, Severity, Span
from raiselens_server.lsp.lines import uri_of
from raiselens_server.present.headline import headline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from raiselens_server.error import Diagnosis, Edit, Foreseen
    from raiselens_server.lsp.lines import FrozenTable

SOURCE = "raiselens"

SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
}

ROLE_SEVERITIES = {
    Role.ROOT: types.DiagnosticSeverity.Error,
    Role.GROUP_MEMBER: types.DiagnosticSeverity.Error,
    Role.CAUSE: types.DiagnosticSeverity.Warning,
    Role.CONTEXT: types.DiagnosticSeverity.Information,
    Role.SUMMARY: types.DiagnosticSeverity.Information,
    Role.WARNING: types.DiagnosticSeverity.Warning,
}

MOST_FRAMES = 5
"""Frames of a log's error that are offered as places to go to."""


def finding_diagnostic(
    diagnosis: Diagnosis, origin: Foreseen, locate: Callable[[Place], types.Location], href: str | None
) -> types.Diagnostic:
    """A foreseen error. `locate` gives a place as the client knows it."""
    when = f" (where {origin.when})" if origin.when is not None else ""
    return types.Diagnostic(
        range=locate(origin.place).range,
        message=headline(diagnosis.error) + when,
        severity=SEVERITIES[origin.severity],
        source=SOURCE,
        code=diagnosis.rule,
        code_description=None if href is None else types.CodeDescription(href),
        related_information=list(_related(diagnosis, origin, locate)) or None,
    )


def observed_diagnostic(
    diagnosis: Diagnosis,
    table: FrozenTable,
    href: str | None,
    local: Mapping[str, str],
    *,
    primary: bool,
) -> types.Diagnostic | None:
    """An error of a log, on the line that names it; the primary one is what to look at, the others lead there."""
    origin = diagnosis.error.origin
    if not isinstance(origin, Observed):
        return None
    severity = types.DiagnosticSeverity.Error if primary else ROLE_SEVERITIES[origin.role]
    ranks = f" ({', '.join(origin.ranks)})" if origin.ranks else ""
    code = diagnosis.rule or diagnosis.error.class_name or None
    return types.Diagnostic(
        range=table.rest_of_line(origin.line, origin.column),
        message=headline(diagnosis.error) + ranks,
        severity=severity,
        source=SOURCE,
        code=code,
        code_description=None if href is None or code is None else types.CodeDescription(href),
        related_information=list(_frames(diagnosis, local)) or None,
    )


def _frames(diagnosis: Diagnosis, local: Mapping[str, str]) -> Iterable[types.DiagnosticRelatedInformation]:
    """The innermost frames whose files are on this machine."""
    here = [frame for frame in diagnosis.error.frames if frame.file in local]
    for frame in reversed(here[-MOST_FRAMES:]):
        start = types.Position(max(frame.line - 1, 0), 0)
        location = types.Location(uri_of(local[frame.file]), types.Range(start, start))
        yield types.DiagnosticRelatedInformation(location, f"in {frame.function}")


def _related(
    diagnosis: Diagnosis, origin: Foreseen, locate: Callable[[Place], types.Location]
) -> Iterable[types.DiagnosticRelatedInformation]:
    for related in origin.related:
        yield types.DiagnosticRelatedInformation(locate(related.place), related.message)
    if diagnosis.error.frames and origin.condition:
        guard = diagnosis.error.frames[-1]
        if (guard.file, guard.line) != (origin.place.file, origin.place.span.line):
            line = max(guard.line, 1)
            location = locate(Place(guard.file, Span(line, 1, line, 1)))
            yield types.DiagnosticRelatedInformation(location, f"raised in {guard.function}: {origin.condition}")


def workspace_edit(edits: Iterable[Edit], locate: Callable[[Place], types.Location]) -> types.WorkspaceEdit:
    """Edits, by document."""
    changes: dict[str, list[types.TextEdit]] = {}
    for edit in edits:
        location = locate(edit.place)
        changes.setdefault(location.uri, []).append(types.TextEdit(location.range, edit.text))
    return types.WorkspaceEdit(changes=changes)
