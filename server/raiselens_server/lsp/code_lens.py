"""`textDocument/codeLens`: above a finding, to verify it and to read about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from raiselens_server.error import Foreseen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raiselens_server.error import Diagnosis
    from raiselens_server.lsp.server import RaiselensServer, Snapshot


async def lenses(server: RaiselensServer, params: types.CodeLensParams) -> list[types.CodeLens]:
    """The lenses of a Python document."""

    def look() -> list[types.CodeLens]:
        snapshot = server.snapshot(params.text_document.uri)
        if snapshot is None or not snapshot.is_python:
            return []
        found = server.session().findings(snapshot.path, snapshot.text)
        return [lens for diagnosis in found for lens in _lenses(server, snapshot, diagnosis)]

    return await server.worker.ask(look)


def _lenses(server: RaiselensServer, snapshot: Snapshot, diagnosis: Diagnosis) -> Iterator[types.CodeLens]:
    origin = diagnosis.error.origin
    if not isinstance(origin, Foreseen) or not snapshot.holds(origin.place.span):
        return
    start = snapshot.table.position(origin.place.span.line, origin.place.span.column)
    where = types.Range(start, start)
    # Verifying starts the workspace's interpreter, which an untrusted workspace must not bring about.
    if server.trusted and diagnosis.error.class_name:
        argument = {"uri": snapshot.uri, "position": {"line": start.line, "character": start.character}}
        yield types.CodeLens(where, types.Command("verify on GPU", "raiselens.verify", arguments=[argument]))
    if diagnosis.record is not None:
        argument = {"id": diagnosis.record.record_id}
        yield types.CodeLens(where, types.Command("explain", "raiselens.showRecord", arguments=[argument]))
