"""Settings of single workspace folders over those of the window, at the start and when they change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types
from tests.lsp.client import start, stop

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """\
def need(x):
    if x != 1:
        raise ValueError('one')

need(2)
"""


async def test_a_folder_has_settings_of_its_own(tmp_path: Path) -> None:
    own = tmp_path.as_uri()
    editor, _ = await start(tmp_path, trusted=True, settings={}, folders={own: {"ignore": ["one"]}})
    uri = editor.open(tmp_path / "main.py", SCRIPT)
    assert await editor.diagnostics(uri) == []
    settings = {"raiselens": {"ignore": ["one"]}, "folders": {own: {"ignore": []}}}
    editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings))
    (found,) = await editor.diagnostics(uri)
    assert found.code == "one"
    settings = {"raiselens": {"ignore": ["one"]}, "folders": {}}
    editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings))
    assert await editor.diagnostics(uri) == []
    await stop(editor)
