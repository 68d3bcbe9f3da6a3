r"""Documents as the protocol counts their lines: at `\n`, `\r\n` and `\r`, and nowhere else.

`str.splitlines` splits at form feeds, `\x85`, U+2028 and more besides, all of which occur in logs and in strings, and
would put every edit behind them in the wrong place.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from pygls.workspace import TextDocument, Workspace

from raiselens_server.lsp.lines import Encoding, LineTable, split_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lsprotocol import types

logger = logging.getLogger(__name__)


class Document(TextDocument):
    """An open document whose lines are kept split, so that a keystroke touches only the lines it is in."""

    def __init__(self, *arguments: Any, encoding: Encoding, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.encoding = encoding
        self.lock = threading.Lock()
        """Held while the text changes, and while another thread takes a snapshot of it."""
        self._table: LineTable | None = None
        self._text: str | None = None

    @property
    def table(self) -> LineTable:
        """The lines, with conversions between the protocol's positions and ours."""
        if self._table is None:
            self._table = LineTable(split_lines(super().source), self.encoding)
        return self._table

    @property
    def lines(self) -> Sequence[str]:
        """The lines with their ends."""
        return self.table.lines

    @property
    def source(self) -> str:
        """The text as the client has it."""
        if self._text is None:
            self._text = "".join(self.table.lines)
        return self._text

    def apply_change(self, change: types.TextDocumentContentChangeEvent) -> None:
        """Apply one change of an incremental or a full update."""
        where = getattr(change, "range", None)
        with self.lock:
            if where is None:
                self._table = LineTable(split_lines(change.text), self.encoding)
            else:
                self._splice(where, change.text)
            self._text = None

    def _splice(self, where: types.Range, text: str) -> None:
        lines = self.table.lines
        (first, start), (last, end) = self.table.index_of(where.start), self.table.index_of(where.end)
        if (last, end) < (first, start):
            (first, start), (last, end) = (last, end), (first, start)
        head = lines[first][:start] if first < len(lines) else ""
        tail = lines[last][end:] if last < len(lines) else ""
        # A lone `\r` and a `\n` that come together are one line end.
        if first > 0 and lines[first - 1].endswith("\r"):
            first -= 1
            head = lines[first] + head
        if last + 1 < len(lines) and lines[last + 1].startswith("\n"):
            last += 1
            tail += lines[last]
        lines[first : last + 1] = split_lines(head + text + tail)


class Documents(Workspace):
    """The open documents of a client, by URI."""

    def _create_text_document(
        self, doc_uri: str, source: str | None = None, version: int | None = None, language_id: str | None = None
    ) -> Document:
        return Document(
            doc_uri,
            source=source,
            version=version,
            language_id=language_id,
            sync_kind=self._sync_kind,
            position_codec=self._position_codec,
            encoding=Encoding.of(self.position_encoding),
        )

    def update_text_document(
        self, text_doc: types.VersionedTextDocumentIdentifier, change: types.TextDocumentContentChangeEvent
    ) -> None:
        """Apply a change; what is not open has no text that could change."""
        if unquote(text_doc.uri) not in self._text_documents:
            logger.warning("a change of %s, which is not open, is left out", text_doc.uri)
            return
        super().update_text_document(text_doc, change)

    def update_notebook_document(self, params: types.DidChangeNotebookDocumentParams) -> None:
        """Apply a change of a notebook; one that is not open has no cells that could change."""
        if self.get_notebook_document(notebook_uri=params.notebook_document.uri) is None:
            logger.warning("a change of %s, which is not open, is left out", params.notebook_document.uri)
            return
        super().update_notebook_document(params)
