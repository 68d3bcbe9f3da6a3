"""Work-done progress of one long command, on the client's token or on one of our own."""

from __future__ import annotations

import logging
import uuid
from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future
    from typing import Any

    from raiselens_server.lsp.server import RaiselensServer

logger = logging.getLogger(__name__)


class Progress:
    """Tells the client how a command goes; `report` may be called from any thread. Silent without a token."""

    def __init__(self, server: RaiselensServer, token: types.ProgressToken | None) -> None:
        self._server = server
        self._token = token
        self._ended = False

    @classmethod
    async def begin(
        cls,
        server: RaiselensServer,
        token: types.ProgressToken | None,
        title: str,
        *,
        on_cancel: Callable[[], None],
    ) -> Progress:
        """Begin; `on_cancel` is called when the user cancels."""
        window = server.client_capabilities.window
        if token is None and window is not None and window.work_done_progress:
            token = str(uuid.uuid4())
            try:
                await server.work_done_progress.create_async(token)
            except Exception as error:  # noqa: BLE001 - a client may refuse, and the work goes on without
                logger.warning("the client refused a progress token: %s", error)
                token = None
        progress = cls(server, token)
        if token is not None:
            server.work_done_progress.begin(token, types.WorkDoneProgressBegin(title=title, cancellable=True))

            def watch(future: Future[Any]) -> None:
                if future.cancelled():
                    on_cancel()

            server.work_done_progress.tokens[token].add_done_callback(watch)
        return progress

    def report(self, text: str) -> None:
        """Say what is being done now."""
        if self._token is not None:
            self._server.on_loop(lambda: self._report(text))

    def end(self, text: str) -> None:
        """Say how it ended; on the protocol's thread."""
        self._ended = True
        if self._token is not None:
            self._server.work_done_progress.end(self._token, types.WorkDoneProgressEnd(message=text))
            self._server.work_done_progress.tokens.pop(self._token, None)

    def _report(self, text: str) -> None:
        # A line that was on its way when the work ended would revive a progress bar that is gone.
        if not self._ended and self._token is not None:
            self._server.work_done_progress.report(self._token, types.WorkDoneProgressReport(message=text))
