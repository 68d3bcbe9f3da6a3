"""Notebooks: one text from top to bottom, shown and edited cell by cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import pytest
from lsprotocol import types
from tests.lsp.client import PULL, Editor, start, stop

from raiselens_server.lsp.notebooks import plain_python

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

IMPORTS = """\
%matplotlib inline
import torch
from sglang.kernels.ops.kv_canary.scatter_req_token_ids import launch_scatter_req_token_ids_kernel"""
ALLOCATION = "pool = torch.zeros((8, 16), dtype=torch.int64)"
CALL = """\
launch_scatter_req_token_ids_kernel(
    flat_in=torch.arange(10), offsets=torch.tensor([0, 4, 10]), req_pool_indices=torch.tensor([2, 5]), pool_out=pool)"""
MESSAGE = "TypeError: kv-canary: scatter_req_token_ids pool_out must be int32, got torch.int64"


def open_notebook(editor: Editor, path: Path, *texts: str) -> list[str]:
    """Open a notebook with code cells; their URIs."""
    uris = [f"vscode-notebook-cell:{path}#W{number}sZmlsZQ%3D%3D" for number in range(len(texts))]
    for uri, text in zip(uris, texts, strict=True):
        editor.texts[uri], editor.versions[uri] = text, 1
    cells = [types.NotebookCell(types.NotebookCellKind.Code, uri) for uri in uris]
    notebook = types.NotebookDocument(path.as_uri(), "jupyter-notebook", 1, cells)
    items = [types.TextDocumentItem(uri, "python", 1, text) for uri, text in zip(uris, texts, strict=True)]
    editor.client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(notebook, items))
    return uris


def change_cell(editor: Editor, path: Path, uri: str, text: str) -> None:
    """Replace the text of one cell."""
    editor.texts[uri] = text
    editor.versions[uri] += 1
    identifier = types.VersionedTextDocumentIdentifier(editor.versions[uri], uri)
    content = types.NotebookDocumentCellContentChanges(identifier, [types.TextDocumentContentChangeWholeDocument(text)])
    event = types.NotebookDocumentChangeEvent(cells=types.NotebookDocumentCellChanges(text_content=[content]))
    changed = types.VersionedNotebookDocumentIdentifier(2, path.as_uri())
    editor.client.notebook_document_did_change(types.DidChangeNotebookDocumentParams(changed, event))


@pytest.fixture
async def editor(tmp_path: Path) -> AsyncIterator[Editor]:
    able = types.NotebookDocumentClientCapabilities(types.NotebookDocumentSyncClientCapabilities())
    started, result = await start(tmp_path, attrs.evolve(PULL, notebook_document=able), trusted=True)
    assert result.capabilities.notebook_document_sync is not None
    yield started
    await stop(started)


async def test_a_finding_shows_in_its_cell_and_is_mended_in_another(editor: Editor, tmp_path: Path) -> None:
    path = tmp_path / "demo.ipynb"
    imports, allocation, call = open_notebook(editor, path, IMPORTS, ALLOCATION, CALL)
    assert await editor.diagnostics(imports) == []
    assert await editor.diagnostics(allocation) == []
    (found,) = await editor.diagnostics(call)
    assert found.message == MESSAGE
    assert found.range.start == types.Position(0, 0)
    assert found.related_information is not None
    made = found.related_information[0]
    column = ALLOCATION.index("torch.zeros")
    assert made.location == types.Location(
        allocation, types.Range(types.Position(0, column), types.Position(0, len(ALLOCATION)))
    )

    assert "stores 32-bit words" in await editor.hover(call, types.Position(0, 3))
    lenses = await editor.client.text_document_code_lens_async(types.CodeLensParams(types.TextDocumentIdentifier(call)))
    assert [lens.range.start.line for lens in lenses or []] == [0, 0]
    none = await editor.client.text_document_code_lens_async(
        types.CodeLensParams(types.TextDocumentIdentifier(allocation))
    )
    assert not none

    actions = await editor.actions(call, found.range, [found])
    fix = next(action for action in actions if action.is_preferred)
    assert fix.edit is not None
    assert fix.edit.changes is not None
    (edit,) = fix.edit.changes[allocation]
    assert (edit.new_text, edit.range.start.line) == ("torch.int32", 0)

    change_cell(editor, path, allocation, ALLOCATION.replace("int64", "int32"))
    assert await editor.diagnostics(call) == []


async def test_all_safe_repairs_leave_magics_alone(editor: Editor, tmp_path: Path) -> None:
    text = f"{ALLOCATION}\n%timeit pool.sum()\n{ALLOCATION.replace('pool', 'other')}"
    calls = f"{CALL}\n{CALL.replace('=pool', '=other')}"
    _, allocation, call = open_notebook(editor, tmp_path / "demo.ipynb", IMPORTS, text, calls)
    found = await editor.diagnostics(call)
    assert len(found) == 2
    everything = types.Range(types.Position(0, 0), types.Position(9, 0))
    (action,) = await editor.actions(call, everything, found, "source.fixAll.raiselens")
    assert action.edit is not None
    assert action.edit.changes is not None
    assert list(action.edit.changes) == [allocation]
    (edit,) = action.edit.changes[allocation]
    assert edit.new_text.count("int32") == 2
    assert "%timeit pool.sum()" in edit.new_text


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        ("x = 1\ny = 2", "x = 1\ny = 2"),
        ("%pip install torch\nx = 1", "pass\nx = 1"),
        ("for x in y:\n    !ls {x}", "for x in y:\n    pass"),
        ("%%time\nx = 1\n%load y", "\nx = 1\npass"),
        ("%%bash\nls\nexit 1", "\n\n"),
        ("%%bash", ""),
        ("x = a % b", "x = a % b"),
    ],
)
def test_what_only_ipython_understands_is_taken_out_line_by_line(cell: str, python: str) -> None:
    assert plain_python(cell) == python
    assert plain_python(cell).count("\n") == cell.count("\n")
