"""Settings that change what a document shows: hints, excluded files, unsafe repairs, the whole workspace."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from lsprotocol import types
from pytest_lsp import LanguageClient
from tests.lsp.client import PULL, PUSH, Editor, start, stop

if TYPE_CHECKING:
    from pathlib import Path

BAD = "import torch\n\nx = torch.zeros(2, 3) @ torch.zeros(2, 3)\n"
FOUND = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"


def set_to(editor: Editor, **settings: Any) -> None:
    """Tell the server of new settings."""
    editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams({"raiselens": settings}))


async def hints(editor: Editor, uri: str, first: int = 0, last: int = 1000) -> list[tuple[int, int, str]]:
    lines = types.Range(types.Position(first, 0), types.Position(last, 0))
    answer = await editor.client.text_document_inlay_hint_async(
        types.InlayHintParams(types.TextDocumentIdentifier(uri), lines)
    )
    return [(hint.position.line, hint.position.character, str(hint.label)) for hint in answer or []]


async def test_hints_say_what_tensors_are_known_to_be(tmp_path: Path) -> None:
    editor, result = await start(tmp_path, settings={})
    assert result.capabilities.inlay_hint_provider is not None
    text = 'import torch\n\n"𝛼"; pool = torch.zeros((8, 16), dtype=torch.int64)\n\n\ndef f(x):\n    y = x.shape\n    z = torch.ones(y[0] + 1, 4, device="cuda:1")\n'
    uri = editor.open(tmp_path / "main.py", text)
    assert await hints(editor, uri) == []
    set_to(editor, inlayHints=True)
    assert await hints(editor, uri) == [
        (2, 10, ": int64[8, 16] cpu"),
        (7, 5, ": floating[x.shape[0] + 1, 4] cuda:1"),
    ]
    assert await hints(editor, uri, 5, 9) == [(7, 5, ": floating[x.shape[0] + 1, 4] cuda:1")]
    log = editor.open(tmp_path / "run.log", text, "log")
    assert await hints(editor, log) == []
    await stop(editor)


async def test_excluded_files_show_nothing(tmp_path: Path) -> None:
    editor, _ = await start(tmp_path, settings={"exclude": ["generated/", "*_pb2.py"]})
    (tmp_path / "generated").mkdir()
    for name, shown in (("main.py", 1), ("generated/a.py", 0), ("x_pb2.py", 0)):
        uri = editor.open(tmp_path / name, BAD)
        assert len(await editor.diagnostics(uri)) == shown, name
    await stop(editor)


async def test_all_repairs_at_once_include_unsafe_ones_where_that_is_set(tmp_path: Path) -> None:
    text = "def need(x):\n    if x not in ('a', 'b'):\n        raise ValueError('a or b')\n\n\nneed('c')\n"
    editor, _ = await start(tmp_path, settings={})
    uri = editor.open(tmp_path / "main.py", text)
    (found,) = await editor.diagnostics(uri)
    offered = [action.title for action in await editor.actions(uri, found.range, [found])]
    assert any(title.endswith("(unsafe)") for title in offered), offered
    assert await editor.actions(uri, found.range, [found], "source.fixAll") == []
    set_to(editor, unsafeFixes=True)
    (action,) = await editor.actions(uri, found.range, [found], "source.fixAll")
    assert action.title == "Apply all repairs (Raiselens)"
    assert action.edit is not None
    editor.apply(action.edit)
    assert await editor.diagnostics(uri) == []
    await stop(editor)


class Told:
    """A client that keeps what it is told of each file, and waits for a change of it."""

    def __init__(self) -> None:
        self.client = LanguageClient()
        self.messages: dict[str, list[str]] = {}
        self._changed = asyncio.Event()

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def _(params: types.PublishDiagnosticsParams) -> None:
            self.messages[params.uri.rpartition("/")[2]] = [item.message for item in params.diagnostics]
            self._changed.set()

        @self.client.feature(types.WINDOW_WORK_DONE_PROGRESS_CREATE)
        def _created(params: types.WorkDoneProgressCreateParams) -> None:
            pass

        @self.client.feature(types.WORKSPACE_DIAGNOSTIC_REFRESH)
        def _refreshed(_: None) -> None:
            pass

    async def until(self, **expected: list[str]) -> None:
        """Wait until what was told of some files is this."""

        async def told() -> None:
            while any(self.messages.get(f"{name}.py", []) != messages for name, messages in expected.items()):
                self._changed.clear()
                await self._changed.wait()

        try:
            await asyncio.wait_for(told(), 60)
        except asyncio.TimeoutError:
            pytest.fail(f"told {self.messages}, not {expected}")


@pytest.mark.parametrize("capabilities", [PULL, PUSH], ids=["pull", "push"])
async def test_the_whole_workspace(tmp_path: Path, capabilities: types.ClientCapabilities) -> None:
    (tmp_path / "bad.py").write_text(BAD)
    (tmp_path / "helper.py").write_text("def need(x):\n    if x != 1:\n        raise ValueError('one')\n")
    (tmp_path / "main.py").write_text("from helper import need\n\nneed(2)\n")
    (tmp_path / "binary.py").write_bytes(b"\0\1\2")
    (tmp_path / ".gitignore").write_text("ignored.py\n")
    (tmp_path / ".git").mkdir()
    (tmp_path / "ignored.py").write_text(BAD)
    told = Told()
    editor, _ = await start(tmp_path, capabilities, told.client, settings={"diagnosticMode": "workspace"})
    await told.until(bad=[FOUND], main=["ValueError: one"])
    assert "ignored.py" not in told.messages

    # An open file is its document's; what its text changes shows in others.
    helper = editor.open(tmp_path / "helper.py", (tmp_path / "helper.py").read_text())
    bad = editor.open(tmp_path / "bad.py", "x = 1\n")
    await told.until(bad=[])
    editor.type(helper, "x != 1", "x != 2")
    await told.until(main=[])
    editor.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(bad)))
    editor.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(helper)))
    await told.until(bad=[FOUND], main=["ValueError: one"])

    (tmp_path / "bad.py").unlink()
    gone = types.FileEvent(bad, types.FileChangeType.Deleted)
    editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([gone]))
    await told.until(bad=[], main=["ValueError: one"])
    set_to(editor, diagnosticMode="open-files")
    await told.until(main=[])
    await stop(editor)
