"""`raiselens.searchCatalog {query}`: records by words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raiselens_server.lsp.commands.arguments import optional, required

if TYPE_CHECKING:
    from lsprotocol import types

    from raiselens_server.lsp.server import RaiselensServer

NAME = "raiselens.searchCatalog"
DEFAULT_LIMIT = 50


async def run(
    server: RaiselensServer, argument: dict[str, Any], token: types.ProgressToken | None
) -> list[dict[str, Any]]:
    """Best first; what a list needs of each, `raiselens.showRecord` gives the rest."""
    del token
    query = required(argument, "query", str, NAME)
    limit = optional(argument, "limit", int, NAME) or DEFAULT_LIMIT
    near = server.root / "record"

    def look() -> list[dict[str, Any]]:
        return [
            {
                "id": entry.record.id,
                "slug": entry.record.slug,
                "class": entry.record.error_class or "",
                "message": entry.record.error_message,
                "repo": entry.record.repo,
            }
            for entry in server.session().room(near).catalog.search(query, limit)
        ]

    return await server.worker.ask(look)
