"""Findings in files that are not open, where `diagnostic-mode` is `workspace`: looked for in the background.

A sweep has a session and a thread of its own, so that no question about an open file waits for it; both go when it has
ended. It rests as long as it works. Its findings are pushed, also to clients that pull those of open files.
"""

from __future__ import annotations

import asyncio
import logging
import time
from functools import partial
from typing import TYPE_CHECKING

from lsprotocol import types

from raiselens_server.error import Foreseen
from raiselens_server.lsp.convert import finding_diagnostic
from raiselens_server.lsp.lines import Encoding, FrozenTable, range_of, split_lines, uri_of
from raiselens_server.lsp.progress import Progress
from raiselens_server.lsp.tasks import spawn
from raiselens_server.lsp.worker import Worker

if TYPE_CHECKING:
    from pathlib import Path

    from raiselens_server.error import Place
    from raiselens_server.lsp.server import RaiselensServer
    from raiselens_server.session import Session

logger = logging.getLogger(__name__)

QUIET_SECONDS = 1.0
"""Time without a change before a sweep begins."""
REST = 4.0
"""How many times as long as the last sweep took to wait at least before the next."""


class Sweep:
    """The sweeps of one server. All methods are for the protocol's thread."""

    def __init__(self, server: RaiselensServer) -> None:
        self._server = server
        self._shown: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._running: asyncio.Task[None] | None = None
        self._took = 0.0

    def soon(self) -> None:
        """Something has changed: sweep after a quiet moment, in place of a sweep that is under way."""
        self.cancel()
        wait = max(QUIET_SECONDS, REST * self._took)
        self._timer = asyncio.get_running_loop().call_later(wait, self._begin)

    def cancel(self) -> None:
        """Let go of what is planned or under way; what was found so far stays."""
        if self._timer is not None:
            self._timer.cancel()
        if self._running is not None:
            self._running.cancel()
            self._running = None

    def opened(self, uri: str) -> None:
        """A file is open now: what is found in it is told otherwise from here on."""
        self._publish(uri, [])

    def _begin(self) -> None:
        self._running = spawn(self._sweep())

    async def _sweep(self) -> None:
        server = self._server
        files = await server.worker.ask(
            lambda: [file for folder in server.folders for file in server.session().files_of(folder)]
        )
        progress = None
        if files:
            title = "Raiselens: checking the workspace"
            progress = await Progress.begin(server, None, title, on_cancel=self.cancel)
        try:
            await self._look_at(files, progress)
        finally:
            if progress is not None:
                progress.end("")

    async def _look_at(self, files: list[Path], progress: Progress | None) -> None:
        server, took = self._server, 0.0
        for uri in self._shown - {uri_of(str(file)) for file in files}:
            self._publish(uri, [])
        if not files:
            return
        worker = Worker()
        try:
            session = await worker.ask(server.another_session)
            for number, file in enumerate(files):
                uri = uri_of(str(file))
                if server.snapshot(uri) is not None:
                    continue
                if progress is not None:
                    progress.report(f"{number + 1}/{len(files)} {file.name}")
                at = time.monotonic()
                found = await worker.ask(partial(_found, server, session, file))
                if server.snapshot(uri) is None:
                    self._publish(uri, found)
                rest = time.monotonic() - at
                took += rest
                await asyncio.sleep(rest)
            self._took = took
        finally:
            worker.end()

    def _publish(self, uri: str, found: list[types.Diagnostic]) -> None:
        if found or uri in self._shown:
            self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found))
        if found:
            self._shown.add(uri)
        else:
            self._shown.discard(uri)


def _found(server: RaiselensServer, session: Session, file: Path) -> list[types.Diagnostic]:
    from raiselens_server.source.files import SourceError

    try:
        text, found = session.findings_on_disk(file)
    except (OSError, SourceError) as error:
        logger.info("%s: %s", file, error)
        return []
    table = FrozenTable(split_lines(text), Encoding.of(server.workspace.position_encoding))

    def locate(place: Place) -> types.Location:
        lines = table if place.file == str(file) else server.table_of(place.file)
        return types.Location(uri_of(place.file), range_of(place.span, lines))

    return [
        finding_diagnostic(item, item.error.origin, locate, session.link(item, file))
        for item in found
        if isinstance(item.error.origin, Foreseen)
    ]
