"""What we change of pygls' protocol: documents, commands with progress, and how a session ends."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInternalError, JsonRpcInvalidParams, JsonRpcRequestCancelled
from pygls.protocol import LanguageServerProtocol, lsp_method

from raiselens_server.lsp.text import Documents

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

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
        if data.get("jsonrpc") != self.VERSION or (method is not None and not isinstance(method, str)):
            if method is not None and key is not None:
                self._refuse(key, INVALID_REQUEST, 'a message must say "jsonrpc": "2.0" and name its method')
            return
        if method is not None and key is not None:
            if self._workspace is None and method != types.INITIALIZE:
                self._refuse(key, NOT_INITIALIZED, "the server is not initialized")
                return
            if self._workspace is not None and method == types.INITIALIZE:
                self._refuse(key, INVALID_REQUEST, "the server is initialized already")
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

    def _execute_handler(self, msg_id: Any, *arguments: Any, **named: Any) -> None:
        super()._execute_handler(msg_id, *arguments, **named)
        # pygls keeps the future of each notification that it takes itself, two a keystroke, for good.
        future = self._request_futures.get(msg_id)
        if future is not None and future.done():
            del self._request_futures[msg_id]

    def _send_handler_result(self, future: Future[Any], *, msg_id: Any) -> None:
        """Answer a request. What was asked wrongly is the client's to know, and no fault for the log."""
        self._request_futures.pop(msg_id, None)
        if future.cancelled():
            self._send_response(msg_id, error=JsonRpcRequestCancelled("cancelled").to_response_error())
            return
        match future.exception():
            case None:
                self._send_response(msg_id, result=future.result())
            case JsonRpcException() as error:
                self._send_response(msg_id, error=error.to_response_error())
            case error:
                logger.error("a request failed", exc_info=error)
                self._send_response(msg_id, error=JsonRpcInternalError(str(error)).to_response_error())

    def _handle_cancel_notification(self, msg_id: Any) -> None:
        # An answer and the notice that it is not wanted any more pass each other all the time.
        if msg_id in self._request_futures:
            super()._handle_cancel_notification(msg_id)

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
