"""What the server can do, in one table."""

from __future__ import annotations

import asyncio
import importlib
import logging
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInternalError

from raiselens_server.lsp.server import RaiselensServer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

logger = logging.getLogger(__name__)


Handler: TypeAlias = "Callable[..., Any]"

FIX_ALL = "source.fixAll.raiselens"

DIAGNOSTIC = types.DiagnosticOptions(identifier="raiselens", inter_file_dependencies=True, workspace_diagnostics=False)
# pygls advertises no resolve by itself; and never bare `source`, which every save would ask for.
CODE_ACTION = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix, FIX_ALL], resolve_provider=True)

REQUESTS: dict[str, tuple[str, Any]] = {
    types.TEXT_DOCUMENT_DIAGNOSTIC: ("diagnostics.pull", DIAGNOSTIC),
    types.TEXT_DOCUMENT_HOVER: ("hover.hover", None),
    types.TEXT_DOCUMENT_CODE_ACTION: ("code_action.actions", CODE_ACTION),
    types.CODE_ACTION_RESOLVE: ("code_action.resolve", None),
    types.TEXT_DOCUMENT_CODE_LENS: ("code_lens.lenses", None),
    types.TEXT_DOCUMENT_DOCUMENT_LINK: ("document_link.links", None),
    types.TEXT_DOCUMENT_INLAY_HINT: ("inlay_hint.hints", None),
}
"""Method → the coroutine that answers it, and the options it is advertised with."""

NOTIFICATIONS: dict[str, str] = {
    types.INITIALIZE: "lifecycle.initialize",
    types.INITIALIZED: "lifecycle.initialized",
    types.SHUTDOWN: "lifecycle.shutdown",
    types.TEXT_DOCUMENT_DID_OPEN: "synchronize.opened",
    types.TEXT_DOCUMENT_DID_CHANGE: "synchronize.changed",
    types.TEXT_DOCUMENT_DID_CLOSE: "synchronize.closed",
    types.NOTEBOOK_DOCUMENT_DID_OPEN: "notebooks.opened",
    types.NOTEBOOK_DOCUMENT_DID_CHANGE: "notebooks.changed",
    types.NOTEBOOK_DOCUMENT_DID_CLOSE: "notebooks.closed",
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: "configuration.changed",
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES: "configuration.files_changed",
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: "configuration.folders_changed",
}

COMMANDS: dict[str, str] = {
    "raiselens.verify": "commands.verify.run",
    "raiselens.explainText": "commands.explain_text.run",
    "raiselens.showRecord": "commands.show_record.run",
    "raiselens.searchCatalog": "commands.search_catalog.run",
    "raiselens.buildCatalog": "commands.build_catalog.run",
    "raiselens.debugInformation": "commands.debug_information.run",
}


def create_server() -> RaiselensServer:
    """A server with every method and command in place; each is imported when it is first asked for."""
    server = RaiselensServer()
    for method, (name, options) in REQUESTS.items():
        server.feature(method, options)(_request(server, method, name))
    for method, name in NOTIFICATIONS.items():
        server.feature(method)(_notification(server, name))
    for command, name in COMMANDS.items():
        server.command(command)(_command(server, command, name))
    return server


def _request(server: RaiselensServer, method: str, name: str) -> Handler:
    """The one place that turns a fault of ours into an answer: one line to the client, the traceback to the log."""

    async def guarded(params: Any) -> Any:
        return await _guard(method, _handler(name)(server, params))

    return guarded


def _command(server: RaiselensServer, command: str, name: str) -> Handler:
    async def guarded(argument: dict[str, Any], token: types.ProgressToken | None) -> Any:
        return await _guard(command, _handler(name)(server, argument, token))

    return guarded


def _notification(server: RaiselensServer, name: str) -> Handler:
    def taken(params: Any) -> None:
        _handler(name)(server, params)

    return taken


@cache
def _handler(name: str) -> Handler:
    module, _, function = name.rpartition(".")
    handler: Handler = getattr(importlib.import_module(f"raiselens_server.lsp.{module}"), function)
    return handler


async def _guard(name: str, answer: Awaitable[Any]) -> Any:
    try:
        return await answer
    except (asyncio.CancelledError, JsonRpcException):
        raise
    except Exception as error:
        logger.exception("%s failed", name)
        first = (str(error).splitlines() or [""])[0]
        raise JsonRpcInternalError(f"{name}: {type(error).__name__}: {first}") from error
