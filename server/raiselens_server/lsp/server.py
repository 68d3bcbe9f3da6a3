"""The server object: what all methods share."""

from __future__ import annotations

import asyncio
import logging
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import default_converter

from raiselens_server import __version__
from raiselens_server.lsp.lines import Encoding, FrozenTable, path_of, range_of, split_lines, uri_of
from raiselens_server.lsp.notebooks import SYNC, notebook_of
from raiselens_server.lsp.protocol import Protocol
from raiselens_server.lsp.text import Document
from raiselens_server.lsp.worker import Worker, in_thread

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping

    from raiselens_server.error import Place, Span
    from raiselens_server.lsp.notebooks import Notebook
    from raiselens_server.lsp.sweep import Sweep
    from raiselens_server.session import Session

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

LOG_LANGUAGES = frozenset({"log", "plaintext"})


class Snapshot:
    """A document at one moment: what a question is about, safe on any thread."""

    def __init__(self, document: Document, path: str, notebook: Notebook | None = None) -> None:
        self.uri = document.uri
        self.notebook = notebook
        self.path = path
        self.near = Path(path)
        self.language = document.language_id or ""
        with document.lock:
            self.version = document.version
            self.text = document.source
            self.table = document.table.frozen()
        if notebook is not None:
            # A cell speaks of its notebook's text, counted from its own first line.
            own = next((cell for cell in notebook.cells if cell.uri == document.uri), None)
            self.path, self.near, self.text = notebook.path, Path(notebook.path), notebook.text
            if own is not None:
                self.table = own.table

    def holds(self, span: Span) -> bool:
        """Whether a span of the text is this document's to show; of a notebook each cell shows its own."""
        return self.shows(span.line)

    def shows(self, line: int) -> bool:
        """Whether a line of the text is this document's to show."""
        return self.notebook is None or self.notebook.cell_of(line).uri == self.uri

    def locate(self, span: Span) -> types.Location:
        """A span of the text, under the URI that the client uses."""
        if self.notebook is not None:
            return self.notebook.locate(span)
        return types.Location(self.uri, self.table.range(span))

    @property
    def is_python(self) -> bool:
        """Whether foreseeing reads it."""
        return self.language == "python"

    @property
    def is_log(self) -> bool:
        """Whether it may hold tracebacks."""
        return self.language in LOG_LANGUAGES


class RaiselensServer(LanguageServer):
    """Holds the protocol, the worker thread and the session that only this thread touches."""

    protocol: Protocol

    def __init__(self) -> None:
        super().__init__(
            "raiselens",
            __version__,
            protocol_cls=Protocol,
            converter_factory=default_converter,
            notebook_document_sync=SYNC,
        )
        self.worker = Worker()
        self.trusted = False
        self.editor: dict[str, Any] = {}
        self.folder_settings: dict[str, dict[str, Any]] = {}
        """By folder URI; what a folder has of its own counts there in place of `editor`."""
        self.touched: set[str] = set()
        """Documents whose text the session has not seen yet: another file may be asked about before they are."""
        self.running: set[threading.Event] = set()
        self.end: Callable[[int], None] = lambda _code: None
        """Ends the process with a code; from any thread, once the loop runs."""
        self.on_loop: Callable[[Callable[[], None]], None] = lambda action: action()
        """Does something on the protocol's thread; from any thread, once the loop runs."""
        self.refresh: asyncio.TimerHandle | None = None
        self._session: Session | None = None

    def stop(self) -> None:
        """Cancel what runs in child processes; they are killed by the threads that wait for them."""
        for cancel in self.running:
            cancel.set()

    async def cancellable(self, work: Callable[[], Result], cancel: threading.Event, name: str) -> Result:
        """Run a long task on a thread of its own; `cancel`, which it watches, is set when nobody waits any more.

        It counts as running until the thread has ended: the process must not end before its children are killed.
        """

        def whole() -> Result:
            try:
                return work()
            finally:
                self.on_loop(lambda: self.running.discard(cancel))

        self.running.add(cancel)
        try:
            return await in_thread(whole, name)
        except asyncio.CancelledError:
            cancel.set()
            raise

    @property
    def folders(self) -> list[Path]:
        """The workspace folders that are on this machine's disk."""
        found = [path_of(folder.uri, Path.cwd()) for folder in self.workspace.folders.values()]
        if not found and self.workspace.root_path:
            found = [self.workspace.root_path]
        return [Path(path) for path in found]

    @property
    def root(self) -> Path:
        """Where documents without a file are thought to lie."""
        return next(iter(self.folders), Path.cwd())

    def session(self) -> Session:
        """The session, with all texts as the editor has them now; on the worker's thread only.

        Made late, so that `initialize` is answered at once.
        """
        if self._session is None:
            from raiselens_server.session import Session

            self._session = Session(
                self.folders, self.editor, by_folder=self._by_folder(), trusted=self.trusted, tell=self.warn
            )
        while self.touched:
            snapshot = self.snapshot(self.touched.pop())
            if snapshot is not None and snapshot.is_python:
                self._session.open(snapshot.path, snapshot.text)
        return self._session

    @cached_property
    def sweep(self) -> Sweep:
        """The search in files that are not open; made late, as the session is."""
        from raiselens_server.lsp.sweep import Sweep

        return Sweep(self)

    def another_session(self) -> Session:
        """A session for a thread of its own, over all files of the folders; problems of settings were told already."""
        from raiselens_server.session import Session

        session = Session(self.folders, self.editor, by_folder=self._by_folder(), trusted=self.trusted, whole=True)
        for uri in list(self.workspace.text_documents):
            snapshot = self.snapshot(uri)
            if snapshot is not None and snapshot.is_python and snapshot.notebook is None:
                session.open(snapshot.path, snapshot.text)
        return session

    def configure(self, editor: Mapping[str, Any], folders: Mapping[str, Any]) -> Callable[[], None]:
        """Take new settings, the whole window's and those by folder URI; the question to give to the worker."""
        self.editor = dict(editor)
        self.folder_settings = {uri: dict(own) for uri, own in folders.items() if isinstance(own, dict)}
        roots, by_folder = self.folders, self._by_folder()
        return lambda: self.session().configure(roots, self.editor, by_folder=by_folder, trusted=self.trusted)

    def _by_folder(self) -> dict[Path, dict[str, Any]]:
        return {Path(path_of(uri, Path.cwd())): own for uri, own in self.folder_settings.items()}

    def snapshot(self, uri: str) -> Snapshot | None:
        """An open document as it is now; `None` where it is not open."""
        document = self.workspace.text_documents.get(unquote(uri))
        if not isinstance(document, Document):
            return None
        return Snapshot(document, path_of(document.uri, self.root), notebook_of(self, document.uri))

    def locator(self, snapshot: Snapshot) -> Callable[[Place], types.Location]:
        """Places for the client; those of `snapshot`'s own text are converted by the text that they were found in."""
        return lambda place: (
            snapshot.locate(place.span)
            if place.file == snapshot.path
            else types.Location(uri_of(place.file), range_of(place.span, self.table_of(place.file)))
        )

    def table_of(self, path: str) -> FrozenTable | None:
        """The lines of a file, as its document or the disk has them; `None` where neither can be read."""
        snapshot = self.snapshot(uri_of(path))
        if snapshot is not None:
            return snapshot.table
        from raiselens_server.source.files import SourceError, read_source

        try:
            text = read_source(path).text
        except (OSError, SourceError):
            return None
        return FrozenTable(split_lines(text), Encoding.of(self.workspace.position_encoding))

    def report_server_error(self, error: Exception, source: object) -> None:
        """Write a fault that answers no request to the log: a message to the user would come with every keystroke."""
        logger.error("%s: %s", getattr(source, "__name__", source), error)

    def warn(self, text: str) -> None:
        """Show one problem to the user; from any thread."""
        params = types.ShowMessageParams(types.MessageType.Warning, f"Raiselens: {text}")
        self.on_loop(lambda: self.window_show_message(params))
