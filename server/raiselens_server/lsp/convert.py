"""Our values as the protocol's: diagnostics and edits. Places are converted by `lines.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from raiselens_server.error import Observed, Role, Severity
from raiselens_server.lsp.lines import uri_of
from raiselens_server.present.headline import headline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from raiselens_server.error import Diagnosis, Edit, Foreseen, Place
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
    diagnosis: Diagnosis, origin: Foreseen, table_of: Callable[[str], FrozenTable | None], href: str | None
) -> types.Diagnostic:
    """A foreseen error. `table_of` gives the lines of a file, where it can be read."""
    when = f" (where {origin.when})" if origin.when is not None else ""
    table = table_of(origin.place.file)
    return types.Diagnostic(
        range=_range(origin.place, table),
        message=headline(diagnosis.error) + when,
        severity=SEVERITIES[origin.severity],
        source=SOURCE,
        code=diagnosis.rule,
        code_description=None if href is None else types.CodeDescription(href),
        related_information=list(_related(diagnosis, origin, table_of)) or None,
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
    diagnosis: Diagnosis, origin: Foreseen, table_of: Callable[[str], FrozenTable | None]
) -> Iterable[types.DiagnosticRelatedInformation]:
    for related in origin.related:
        place = _range(related.place, table_of(related.place.file))
        location = types.Location(uri_of(related.place.file), place)
        yield types.DiagnosticRelatedInformation(location, related.message)
    if diagnosis.error.frames and origin.condition:
        guard = diagnosis.error.frames[-1]
        if (guard.file, guard.line) != (origin.place.file, origin.place.span.line):
            start = types.Position(max(guard.line - 1, 0), 0)
            location = types.Location(uri_of(guard.file), types.Range(start, start))
            yield types.DiagnosticRelatedInformation(location, f"raised in {guard.function}: {origin.condition}")


def _range(place: Place, table: FrozenTable | None) -> types.Range:
    if table is not None:
        return table.range(place.span)
    # Without the text every character counts for one.
    span = place.span
    return types.Range(
        types.Position(span.line - 1, span.column - 1), types.Position(span.end_line - 1, span.end_column - 1)
    )


def workspace_edit(edits: Iterable[Edit], table_of: Callable[[str], FrozenTable | None]) -> types.WorkspaceEdit:
    """Edits, by document."""
    changes: dict[str, list[types.TextEdit]] = {}
    for edit in edits:
        place = edit.place
        changes.setdefault(uri_of(place.file), []).append(
            types.TextEdit(_range(place, table_of(place.file)), edit.text)
        )
    return types.WorkspaceEdit(changes=changes)
