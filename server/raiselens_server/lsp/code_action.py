"""`textDocument/codeAction` and its resolve: the repairs of findings, one by one or all safe ones at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from raiselens_server.error import Edit, Foreseen, Place, Span
from raiselens_server.fix import choose
from raiselens_server.lsp.convert import SOURCE, workspace_edit
from raiselens_server.lsp.features import FIX_ALL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raiselens_server.error import Diagnosis
    from raiselens_server.lsp.server import RaiselensServer, Snapshot


async def actions(server: RaiselensServer, params: types.CodeActionParams) -> list[types.CodeAction]:
    """The actions for a range. Their edits are worked out when one is chosen, if the client can ask for them."""
    only = params.context.only

    def look() -> list[types.CodeAction]:
        snapshot = server.snapshot(params.text_document.uri)
        if snapshot is None or not snapshot.is_python:
            return []
        found = [item for item in _findings(server, snapshot) if _overlaps(snapshot, item, params.range)]
        offered: list[types.CodeAction] = []
        for diagnosis in found if _wanted(only, types.CodeActionKind.QuickFix.value) else ():
            offered += _fixes(server, snapshot, diagnosis, params.context.diagnostics)
        if _wanted(only, FIX_ALL) and (found or only):
            offered += _fix_all(server, snapshot)
        return offered

    return await server.worker.ask(look)


async def resolve(server: RaiselensServer, action: types.CodeAction) -> types.CodeAction:
    """The action with its edit, for the text as it is now."""
    data = action.data
    if not isinstance(data, dict) or not isinstance(data.get("uri"), str):
        raise JsonRpcInvalidParams("codeAction/resolve: this action is not ours")

    def look() -> types.CodeAction:
        snapshot = server.snapshot(data["uri"])
        edit = None if snapshot is None else _edit_of(server, snapshot, data)
        if edit is None:
            raise JsonRpcInvalidParams("codeAction/resolve: the text has changed; ask for actions anew")
        action.edit = edit
        return action

    return await server.worker.ask(look)


def _fixes(
    server: RaiselensServer, snapshot: Snapshot, diagnosis: Diagnosis, shown: list[types.Diagnostic] | Any
) -> Iterator[types.CodeAction]:
    own = _shown(snapshot, diagnosis, shown)
    for repair in diagnosis.repairs:
        yield _action(
            server,
            snapshot,
            repair.title if repair.safe else f"{repair.title} (unsafe)",
            data={"fix": repair.title, "rule": diagnosis.rule, "line": _line(diagnosis)},
            diagnostics=own,
            is_preferred=(repair.safe and repair.preferred) or None,
        )
    yield _action(
        server,
        snapshot,
        f"Ignore {diagnosis.rule} here",
        data={"ignore": diagnosis.rule, "line": _line(diagnosis)},
        diagnostics=own,
    )


def _fix_all(server: RaiselensServer, snapshot: Snapshot) -> Iterator[types.CodeAction]:
    unsafe = server.session().room(snapshot.near).settings.unsafe_fixes
    if any(choose(item, unsafe=unsafe) for item in _findings(server, snapshot)):
        title = f"Apply all {'' if unsafe else 'safe '}repairs (Raiselens)"
        yield _action(server, snapshot, title, data={"all": True}, kind=FIX_ALL)


def _action(
    server: RaiselensServer,
    snapshot: Snapshot,
    title: str,
    *,
    data: dict[str, Any],
    kind: str = types.CodeActionKind.QuickFix.value,
    diagnostics: list[types.Diagnostic] | None = None,
    is_preferred: bool | None = None,
) -> types.CodeAction:
    data = {**data, "uri": snapshot.uri}
    action = types.CodeAction(
        title,
        kind=kind,
        diagnostics=diagnostics,
        is_preferred=is_preferred,
    )
    if _resolves(server):
        action.data = data
    else:
        action.edit = _edit_of(server, snapshot, data)
    return action


def _edit_of(server: RaiselensServer, snapshot: Snapshot, data: dict[str, Any]) -> types.WorkspaceEdit | None:
    locate = server.locator(snapshot)
    if data.get("all"):
        fixed = server.session().fixed(snapshot.path, snapshot.text)
        return types.WorkspaceEdit(changes=_changes_to(snapshot, fixed))
    for diagnosis in _findings(server, snapshot):
        if _line(diagnosis) != data.get("line"):
            continue
        if data.get("ignore") == diagnosis.rule:
            return workspace_edit([_ignoring(snapshot, diagnosis)], locate)
        if data.get("rule") == diagnosis.rule:
            repair = next((repair for repair in diagnosis.repairs if repair.title == data.get("fix")), None)
            if repair is not None:
                return workspace_edit(repair.edits, locate)
    return None


def _changes_to(snapshot: Snapshot, fixed: str) -> dict[str, list[types.TextEdit]]:
    """The edits that make the document's text into `fixed`; in a notebook, those of each cell."""
    if snapshot.notebook is None:
        return {snapshot.uri: snapshot.table.changes_to(fixed)}
    lines = fixed.split("\n")
    if len(lines) != snapshot.text.count("\n") + 1:
        # Which cell a new line belongs to is not told.
        return {}
    changes = {}
    for cell in snapshot.notebook.cells:
        written = "".join(cell.table.lines).split("\n")
        before, after = cell.text.split("\n"), lines[cell.table.before : cell.last]
        # Only what a repair changed is changed: magics stay as they were written.
        now = [own if old == new else new for own, old, new in zip(written, before, after, strict=False)]
        if now != written:
            changes[cell.uri] = cell.table.changes_to("\n".join(now))
    return changes


def _ignoring(snapshot: Snapshot, diagnosis: Diagnosis) -> Edit:
    """An ignore comment behind the statement's last line: there it can be in no string and break no line."""
    origin = diagnosis.error.origin
    line = origin.place.span.end_line if isinstance(origin, Foreseen) else 1
    text = snapshot.text.split("\n")[line - 1].rstrip("\r")
    column = len(text.rstrip()) + 1
    span = Span(line, column, line, len(text) + 1)
    return Edit(Place(snapshot.path, span), f"  # raiselens: ignore[{diagnosis.rule}]")


def _findings(server: RaiselensServer, snapshot: Snapshot) -> list[Diagnosis]:
    session = server.session()
    found = session.findings(snapshot.path, snapshot.text)
    return [session.with_repairs(snapshot.path, diagnosis) for diagnosis in found]


def _overlaps(snapshot: Snapshot, diagnosis: Diagnosis, where: types.Range) -> bool:
    from raiselens_server.session import places_of

    begin, end = snapshot.table.point(where.start), snapshot.table.point(where.end)
    return any(
        (place.span.line, place.span.column) <= end and begin <= (place.span.end_line, place.span.end_column)
        for place in places_of(diagnosis)
    )


def _shown(snapshot: Snapshot, diagnosis: Diagnosis, shown: list[types.Diagnostic] | Any) -> list[types.Diagnostic]:
    """The client's own copies of a finding's diagnostic; those of other tools are none of our business."""
    return [
        item
        for item in shown
        if item.source == SOURCE
        and item.code == diagnosis.rule
        and snapshot.table.point(item.range.start)[0] == _line(diagnosis)
    ]


def _line(diagnosis: Diagnosis) -> int:
    origin = diagnosis.error.origin
    return origin.place.span.line if isinstance(origin, Foreseen) else 0


def _wanted(only: Any, kind: str) -> bool:
    """Whether the client asks for this kind: it may name the kind or one above it."""
    return not only or any(kind == wanted or kind.startswith(f"{wanted}.") for wanted in map(_value, only))


def _value(kind: Any) -> str:
    return str(getattr(kind, "value", kind))


def _resolves(server: RaiselensServer) -> bool:
    document = server.client_capabilities.text_document
    action = document.code_action if document is not None else None
    support = action.resolve_support if action is not None else None
    return support is not None and "edit" in support.properties and bool(action and action.data_support)
