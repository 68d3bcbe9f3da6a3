"""`raiselens.buildCatalog {targets}`: records mined from installed libraries into the built layer."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pygls.exceptions import JsonRpcInvalidParams, JsonRpcRequestCancelled

from raiselens_catalog import CatalogError
from raiselens_catalog.build import Report, build
from raiselens_server.lsp import diagnostics
from raiselens_server.lsp.commands.arguments import required
from raiselens_server.lsp.progress import Progress

if TYPE_CHECKING:
    from lsprotocol import types

    from raiselens_server.lsp.server import RaiselensServer

NAME = "raiselens.buildCatalog"
EVERY = 25
"""Files between two lines of progress."""


class CancelledError(Exception):
    """Leaves a build from within; its transaction takes everything back."""


async def run(server: RaiselensServer, argument: dict[str, Any], token: types.ProgressToken | None) -> dict[str, Any]:
    """The build's report; what was found counts from then on."""
    targets = required(argument, "targets", list, NAME)
    if not targets or not all(isinstance(target, str) for target in targets):
        raise JsonRpcInvalidParams(f"{NAME}: 'targets' must be a list of names")
    near = server.root / "main.py"
    paths = await server.worker.ask(lambda: server.session().room(near).interpreter.paths)
    cancel = threading.Event()
    progress = await Progress.begin(server, token, "Raiselens: building the catalog", on_cancel=cancel.set)

    def told(done: int, total: int, path: str) -> None:
        if cancel.is_set():
            raise CancelledError
        if done % EVERY == 0:
            progress.report(f"{done}/{total} {path}")

    def work() -> Report:
        return build(targets, search_path=[Path(path) for path in paths], progress=told)

    try:
        report = await server.cancellable(work, cancel, "raiselens-build")
    except CancelledError as error:
        raise JsonRpcRequestCancelled(f"{NAME}: cancelled") from error
    except CatalogError as error:
        raise JsonRpcInvalidParams(f"{NAME}: {error}") from error
    finally:
        progress.end("done")
    await server.worker.ask(lambda: server.session().forget())
    diagnostics.refresh_soon(server)
    return dict(report.to_json())
