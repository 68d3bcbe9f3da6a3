"""`raiselens.showRecord {id}`: a record's whole page as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pygls.exceptions import JsonRpcInvalidParams

from raiselens_catalog import markdown
from raiselens_server.lsp.commands.arguments import required

if TYPE_CHECKING:
    from lsprotocol import types

    from raiselens_server.lsp.server import RaiselensServer

NAME = "raiselens.showRecord"


async def run(server: RaiselensServer, argument: dict[str, Any], token: types.ProgressToken | None) -> str:
    """The page, with the source as it is installed."""
    del token
    key = required(argument, "id", str, NAME)
    near = server.root / "record"

    def look() -> str:
        session = server.session()
        entry = session.record(key, near)
        if entry is None:
            raise JsonRpcInvalidParams(f"{NAME}: no record has the id or slug {key!r}")
        return markdown(entry, session.room(near).catalog)

    return await server.worker.ask(look)
