"""`raiselens.debugInformation`: what is in force, for people who ask why."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from raiselens_server import __version__
from raiselens_server.lsp.commands.arguments import optional
from raiselens_server.lsp.lines import path_of

if TYPE_CHECKING:
    from lsprotocol import types

    from raiselens_server.lsp.server import RaiselensServer

NAME = "raiselens.debugInformation"


async def run(server: RaiselensServer, argument: dict[str, Any], token: types.ProgressToken | None) -> dict[str, Any]:
    """The server, the client, and what counts for the document `uri` or the first folder."""
    del token
    from pathlib import Path

    uri = optional(argument, "uri", str, NAME)
    path = Path(path_of(uri, server.root)) if uri is not None else server.root / "main.py"
    encoding = server.workspace.position_encoding
    about = {
        "version": __version__,
        "server_python": sys.executable,
        "server_python_version": sys.version.split()[0],
        "position_encoding": str(getattr(encoding, "value", encoding)),
        "folders": [str(folder) for folder in server.folders],
    }
    facts = await server.worker.ask(lambda: server.session().facts(path))
    return about | facts
