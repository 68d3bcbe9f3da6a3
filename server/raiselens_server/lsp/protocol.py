"""What we change of pygls' protocol: documents, commands with progress, and how a session ends."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.protocol import LanguageServerProtocol, lsp_method

from raiselens_server.lsp.text import Documents

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygls.workspace import Workspace

logger = logging.getLogger(__name__)

NOT_INITIALIZED = -32002
INVALID_REQUEST = -32600
PARSE_ERROR = -32700


class Protocol(LanguageServerProtocol):
    """The protocol as this server speaks it. `on_exit` is called once, with the exit code of the process."""

    on_exit: Callable[[int], None]

    _documents: Documents | None = None

    @property
    def workspace(self) -> Workspace:
        """The open documents, which count lines as the protocol does."""
        if self._documents is None:
            given = super().workspace
            self._documents = Documents(
                given.root_uri,
                types.TextDocumentSyncKind.Incremental,
                list(given.folders.values()),
                given.position_encoding,
            )
        return self._documents

    def receive(self, data: Any) -> None:
        """Handle one decoded message; what cannot be handled is answered, never raised."""
        if not isinstance(data, dict):
            self._refuse(None, INVALID_REQUEST, "a message must be an object")
            return
        method, key = data.get("method"), data.get("id")
        if method is not None and key is not None:
            if self._workspace is None and method != types.INITIALIZE:
                self._refuse(key, NOT_INITIALIZED, "the server is not initialized")
                return
            if self._shutdown:
                self._refuse(key, INVALID_REQUEST, "the server is shutting down")
                return
        elif method is not None and self._workspace is None and method != types.EXIT:
            return
        try:
            # Only the message itself is structured: pasted text may hold objects that look like messages.
            message = self.structure_message(data)
        except JsonRpcException as error:
            if method is not None and key is not None:
                self._refuse(key, error.code, str(error))
            return
        self.handle_message(message)

    def refuse_json(self, reason: str) -> None:
        """Answer a body that is no JSON."""
        self._refuse(None, PARSE_ERROR, reason)

    def _refuse(self, key: Any, code: int, reason: str) -> None:
        self._send_data({"jsonrpc": self.VERSION, "id": key, "error": {"code": code, "message": reason}})

    @lsp_method(types.EXIT)
    def lsp_exit(self, *_arguments: Any) -> None:  # type: ignore[override]
        """End the process: 0 after `shutdown`, 1 without."""
        self.on_exit(0 if self._shutdown else 1)

    @lsp_method(types.WORKSPACE_EXECUTE_COMMAND)
    async def lsp_workspace__execute_command(  # type: ignore[override]
        self, params: types.ExecuteCommandParams
    ) -> Any:
        """Run a command with its first argument, an object, and the client's progress token.

        A coroutine, so that cancelling the request cancels the command.
        """
        handler = self.fm.commands.get(params.command)
        if handler is None:
            raise JsonRpcInvalidParams(f"unknown command {params.command!r}")
        argument = params.arguments[0] if params.arguments else {}
        if not isinstance(argument, dict):
            raise JsonRpcInvalidParams(f"{params.command}: its argument must be an object")
        return await handler(argument, params.work_done_token)
