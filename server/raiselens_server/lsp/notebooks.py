"""Notebooks as one text: the code cells below each other, run from top to bottom.

Findings are of the whole text. Each cell sees it through a table of its own, which counts from the cell's first line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from lsprotocol import types

from raiselens_server.lsp.lines import FrozenTable, path_of
from raiselens_server.lsp.tasks import spawn
from raiselens_server.lsp.text import Document

if TYPE_CHECKING:
    from collections.abc import Iterable

    from raiselens_server.error import Span
    from raiselens_server.lsp.lines import Encoding
    from raiselens_server.lsp.server import RaiselensServer

SYNC = types.NotebookDocumentSyncOptions(
    notebook_selector=[
        types.NotebookDocumentFilterWithNotebook(notebook="*", cells=[types.NotebookCellLanguage("python")])
    ]
)

# Of a cell that begins with another magic the rest is in another language, or is run elsewhere.
PYTHON_MAGICS = ("%%time", "%%timeit", "%%capture", "%%prun")


class CellTable(FrozenTable):
    """The lines of a cell that `before` lines of its notebook stand above."""

    def __init__(self, lines: list[str], encoding: Encoding, before: int) -> None:
        super().__init__(lines, encoding)
        self.before = before

    def point(self, position: types.Position) -> tuple[int, int]:
        """A position in the cell as line and column of the notebook."""
        line, column = super().point(position)
        return line + self.before, column

    def position(self, line: int, column: int) -> types.Position:
        """Line and column of the notebook as a position in the cell, moved into it where it lies outside."""
        return super().position(line - self.before, column)


@dataclass(frozen=True, slots=True)
class Cell:
    """One code cell: `last` is its last line in the notebook's text."""

    uri: str
    table: CellTable
    text: str
    version: int | None
    last: int


@dataclass(frozen=True, slots=True)
class Notebook:
    """The code cells of a notebook at one moment, and their texts as one."""

    path: str
    cells: tuple[Cell, ...]

    @property
    def text(self) -> str:
        """The one text."""
        return "".join(cell.text for cell in self.cells)

    def cell_of(self, line: int) -> Cell:
        """The cell that a line of the text stands in; a notebook that is asked has one."""
        return next((cell for cell in self.cells if line <= cell.last), self.cells[-1])

    def locate(self, span: Span) -> types.Location:
        """A span of the text, in its cell."""
        cell = self.cell_of(span.line)
        return types.Location(cell.uri, cell.table.range(span))


def notebook_of(server: RaiselensServer, cell_uri: str) -> Notebook | None:
    """The notebook that a document is a cell of, as it is now."""
    workspace = server.workspace
    notebook = workspace.get_notebook_document(cell_uri=cell_uri)
    if notebook is None:
        return None
    documents = (workspace.text_documents.get(unquote(cell.document)) for cell in notebook.cells)
    return compose(path_of(notebook.uri, server.root), (item for item in documents if isinstance(item, Document)))


def compose(path: str, documents: Iterable[Document]) -> Notebook:
    """The notebook of these cells."""
    cells: list[Cell] = []
    before = 0
    for document in documents:
        if document.language_id != "python":
            continue
        with document.lock:
            source, version, table = document.source, document.version, document.table.frozen()
        text = plain_python(source) + "\n"
        count = text.count("\n")
        cells.append(
            Cell(document.uri, CellTable(table.lines, document.encoding, before), text, version, before + count)
        )
        before += count
    return Notebook(path, tuple(cells))


def plain_python(source: str) -> str:
    """A cell's text with what only IPython understands taken out; all else stays on its line."""
    first, _, rest = source.partition("\n")
    if first.startswith("%%"):
        lines = rest.count("\n") + 1 if rest or source.endswith("\n") else 0
        body = plain_python(rest) if first.split(" ")[0].rstrip() in PYTHON_MAGICS else "\n" * max(lines - 1, 0)
        return "\n" + body if lines else ""
    return "\n".join(_plain_line(line) for line in source.split("\n"))


def _plain_line(line: str) -> str:
    bare = line.lstrip()
    return f"{line[: len(line) - len(bare)]}pass" if bare.startswith(("%", "!")) else line


def opened(server: RaiselensServer, params: types.DidOpenNotebookDocumentParams) -> None:
    """Look at all cells."""
    _look(server, [cell.uri for cell in params.cell_text_documents])


def changed(server: RaiselensServer, params: types.DidChangeNotebookDocumentParams) -> None:
    """Look at all cells again: what one defines, the others use."""
    from raiselens_server.lsp import diagnostics

    cells = params.change.cells
    structure = cells.structure if cells is not None else None
    for closed_cell in (structure.did_close if structure is not None else None) or ():
        diagnostics.withdraw(server, closed_cell.uri)
    notebook = server.workspace.get_notebook_document(notebook_uri=params.notebook_document.uri)
    _look(server, [cell.document for cell in notebook.cells] if notebook is not None else [])
    diagnostics.refresh_soon(server)


def closed(server: RaiselensServer, params: types.DidCloseNotebookDocumentParams) -> None:
    """Forget the text, and take back what was told of it."""
    from raiselens_server.lsp import diagnostics

    path = path_of(params.notebook_document.uri, server.root)
    spawn(server.worker.ask(lambda: server.session().close(path)))
    for cell in params.cell_text_documents:
        diagnostics.withdraw(server, cell.uri)


def _look(server: RaiselensServer, uris: list[str]) -> None:
    from raiselens_server.lsp import diagnostics

    server.touched.update(uris)
    for uri in uris:
        spawn(diagnostics.publish(server, uri))
