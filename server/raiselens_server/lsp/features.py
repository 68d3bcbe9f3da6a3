"""What the server can do, in one table."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInternalError

from raiselens_server.lsp import (
    code_action,
    code_lens,
    configuration,
    diagnostics,
    document_link,
    hover,
    lifecycle,
    synchronize,
)
from raiselens_server.lsp.commands import (
    debug_information,
    explain_text,
    search_catalog,
    show_record,
    verify,
)
from raiselens_server.lsp.server import RaiselensServer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

logger = logging.getLogger(__name__)


def create_server() -> RaiselensServer:
    """A server with every method and command in place."""
    server = RaiselensServer()
    requests: dict[str, tuple[Callable[[RaiselensServer, Any], Awaitable[Any]], Any]] = {
        types.TEXT_DOCUMENT_DIAGNOSTIC: (diagnostics.pull, diagnostics.OPTIONS),
        types.TEXT_DOCUMENT_HOVER: (hover.hover, None),
        types.TEXT_DOCUMENT_CODE_ACTION: (code_action.actions, code_action.OPTIONS),
        types.CODE_ACTION_RESOLVE: (code_action.resolve, None),
        types.TEXT_DOCUMENT_CODE_LENS: (code_lens.lenses, None),
        types.TEXT_DOCUMENT_DOCUMENT_LINK: (document_link.links, None),
    }
    for method, (answer, options) in requests.items():
        server.feature(method, options)(_request(server, method, answer))
    notifications: dict[str, Callable[[RaiselensServer, Any], None]] = {
        types.INITIALIZE: lifecycle.initialize,
        types.INITIALIZED: lifecycle.initialized,
        types.SHUTDOWN: lifecycle.shutdown,
        types.TEXT_DOCUMENT_DID_OPEN: synchronize.opened,
        types.TEXT_DOCUMENT_DID_CHANGE: synchronize.changed,
        types.TEXT_DOCUMENT_DID_CLOSE: synchronize.closed,
        types.TEXT_DOCUMENT_DID_SAVE: synchronize.saved,
        types.WORKSPACE_DID_CHANGE_CONFIGURATION: configuration.changed,
        types.WORKSPACE_DID_CHANGE_WATCHED_FILES: configuration.files_changed,
        types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: configuration.folders_changed,
    }
    for method, take in notifications.items():
        server.feature(method)(_notification(server, take))
    commands: dict[str, Callable[[RaiselensServer, dict[str, Any], types.ProgressToken | None], Awaitable[Any]]] = {
        "raiselens.verify": verify.run,
        "raiselens.explainText": explain_text.run,
        "raiselens.showRecord": show_record.run,
        "raiselens.searchCatalog": search_catalog.run,
        "raiselens.debugInformation": debug_information.run,
    }
    for name, run in commands.items():
        server.command(name)(_command(server, name, run))
    return server


def _request(
    server: RaiselensServer, method: str, answer: Callable[[RaiselensServer, Any], Awaitable[Any]]
) -> Callable[[Any], Awaitable[Any]]:
    """The one place that turns a fault of ours into an answer: one line to the client, the traceback to the log."""

    async def guarded(params: Any) -> Any:
        return await _guard(method, answer(server, params))

    return guarded


def _command(
    server: RaiselensServer,
    name: str,
    run: Callable[[RaiselensServer, dict[str, Any], types.ProgressToken | None], Awaitable[Any]],
) -> Callable[[dict[str, Any], types.ProgressToken | None], Awaitable[Any]]:
    async def guarded(argument: dict[str, Any], token: types.ProgressToken | None) -> Any:
        return await _guard(name, run(server, argument, token))

    return guarded


def _notification(server: RaiselensServer, take: Callable[[RaiselensServer, Any], None]) -> Callable[[Any], None]:
    def taken(params: Any) -> None:
        take(server, params)

    return taken


async def _guard(name: str, answer: Awaitable[Any]) -> Any:
    try:
        return await answer
    except (asyncio.CancelledError, JsonRpcException):
        raise
    except Exception as error:
        logger.exception("%s failed", name)
        first = (str(error).splitlines() or [""])[0]
        raise JsonRpcInternalError(f"{name}: {type(error).__name__}: {first}") from error
