"""`textDocument/documentLink`: from the frames of a log's traceback to the lines they name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from raiselens_server.lsp.lines import uri_of

if TYPE_CHECKING:
    from raiselens_server.lsp.server import RaiselensServer


async def links(server: RaiselensServer, params: types.DocumentLinkParams) -> list[types.DocumentLink]:
    """The frames whose files are on this machine."""

    def look() -> list[types.DocumentLink]:
        snapshot = server.snapshot(params.text_document.uri)
        if snapshot is None or not snapshot.is_log:
            return []
        explained = server.session().explain(snapshot.text, snapshot.near)
        frames = [frame for diagnosis in explained.diagnoses for frame in diagnosis.error.frames]
        return [
            types.DocumentLink(
                snapshot.table.range(frame.place), f"{uri_of(explained.local[frame.file])}#L{frame.line}"
            )
            for frame in frames
            if frame.place is not None and frame.file in explained.local
        ]

    return await server.worker.ask(look)
