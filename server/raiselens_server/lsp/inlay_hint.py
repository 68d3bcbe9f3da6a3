"""`textDocument/inlayHint`: what is known of the tensors that are bound to names. Off until a setting asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from raiselens_server.lsp.server import RaiselensServer


async def hints(server: RaiselensServer, params: types.InlayHintParams) -> list[types.InlayHint]:
    """The hints of the lines in view."""

    def look() -> list[types.InlayHint]:
        snapshot = server.snapshot(params.text_document.uri)
        if snapshot is None or not snapshot.is_python:
            return []
        session = server.session()
        if not session.room(snapshot.near).settings.inlay_hints:
            return []
        first, last = snapshot.table.point(params.range.start)[0], snapshot.table.point(params.range.end)[0]
        return [
            types.InlayHint(
                snapshot.table.position(fact.line, fact.column),
                f": {fact.text}",
                kind=types.InlayHintKind.Type,
                tooltip="What this tensor is known to be (Raiselens)",
            )
            for fact in session.facts_of(snapshot.path, snapshot.text, first, last)
            if snapshot.shows(fact.line)
        ]

    return await server.worker.ask(look)
