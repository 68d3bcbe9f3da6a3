"""`raiselens.explainText {text, uri?}`: the explain object of a log or paste."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from raiselens_server.lsp.commands.arguments import optional, required
from raiselens_server.lsp.lines import path_of
from raiselens_server.present.objects import explain_object

if TYPE_CHECKING:
    from lsprotocol import types

    from raiselens_server.lsp.server import RaiselensServer

NAME = "raiselens.explainText"


async def run(server: RaiselensServer, argument: dict[str, Any], token: types.ProgressToken | None) -> dict[str, Any]:
    """What `raiselens explain --format json` prints for the text."""
    del token
    text = required(argument, "text", str, NAME)
    uri = optional(argument, "uri", str, NAME)
    near = Path(path_of(uri, server.root)) if uri is not None else server.root / "log"

    def look() -> dict[str, Any]:
        explained = server.session().explain(text, near)
        return explain_object(explained)

    return await server.worker.ask(look)
