"""The whole story with a real client: open, diagnostic, hover, code action, edit, gone, verify; and logs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pytest_lsp import LanguageClient
from tests.lsp.client import PUSH, Editor, position, start, stop

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

RULE = "kv-canary-scatter-req-token-ids-pool-out-must-be-int32"
RECORD = "77c238349aca21f2"
MESSAGE = "TypeError: kv-canary: scatter_req_token_ids pool_out must be int32, got torch.int64"

# The letters in front take two UTF-16 units each, so that a server that counts characters is found out.
SCRIPT = """\
import torch
from sglang.kernels.ops.kv_canary.scatter_req_token_ids import launch_scatter_req_token_ids_kernel as scatter

name = "𝛼𝛽"; pool = torch.zeros((8, 16), dtype=torch.int64)
ids, starts, rows = torch.arange(10), torch.tensor([0, 4, 10]), torch.tensor([2, 5])
"𝛼𝛽𝛾"; scatter(flat_in=ids, offsets=starts, req_pool_indices=rows, pool_out=pool)
"""

LOG = """\
[rank0]: Traceback (most recent call last):
[rank0]:   File "{here}", line 6, in <module>
[rank0]:     scatter(flat_in=ids, offsets=starts, req_pool_indices=rows, pool_out=pool)
[rank0]: TypeError: kv-canary: scatter_req_token_ids pool_out must be int32, got torch.int64
"""


@pytest.fixture
async def editor(tmp_path: Path) -> AsyncIterator[Editor]:
    found, _ = await start(tmp_path, trusted=True)
    yield found
    await stop(found)


def place(text: str, piece: str) -> types.Range:
    begin = text.index(piece)
    return types.Range(position(text, begin), position(text, begin + len(piece)))


async def test_from_the_finding_to_the_verified_repair(editor: Editor, tmp_path: Path) -> None:
    uri = editor.open(tmp_path / "main.py", SCRIPT)
    (found,) = await editor.diagnostics(uri)
    call = "scatter(flat_in=ids, offsets=starts, req_pool_indices=rows, pool_out=pool)"
    assert found.range == place(SCRIPT, call)
    assert (found.message, found.severity) == (MESSAGE, types.DiagnosticSeverity.Error)
    assert (found.source, found.code) == ("raiselens", RULE)
    assert found.code_description is not None
    assert "scatter_req_token_ids.py#L" in found.code_description.href
    allocation, guard = found.related_information or ()
    assert allocation.location == types.Location(uri, place(SCRIPT, "torch.zeros((8, 16), dtype=torch.int64)"))
    assert guard.message == "raised in launch_scatter_req_token_ids_kernel: pool_out.dtype != torch.int32"

    page = await editor.hover(uri, found.range.start)
    assert MESSAGE in page
    assert "Fix: Allocate `pool` as torch.int32" in page
    assert "stores 32-bit words" in page
    assert RECORD in page
    assert await editor.hover(uri, types.Position(0, 0)) == ""

    actions = await editor.actions(uri, found.range, [found])
    preferred = [action for action in actions if action.is_preferred]
    assert [action.title for action in preferred] == ["Allocate `pool` as torch.int32"]
    assert preferred[0].diagnostics == (found,)
    assert preferred[0].edit is not None
    assert not any(action.is_preferred for action in actions if "unsafe" in action.title)
    editor.apply(preferred[0].edit)
    assert editor.texts[uri] == SCRIPT.replace("torch.int64", "torch.int32")
    assert await editor.diagnostics(uri) == []

    editor.type(uri, "torch.int32", "torch.int64")
    (again,) = await editor.diagnostics(uri)
    assert again == found
    report = await editor.command(
        "raiselens.verify",
        {"uri": uri, "position": {"line": found.range.start.line, "character": 0}, "device": "cpu"},
    )
    before, after = report["before"], report["after"]
    assert (before["as_predicted"], before["message"]) == (True, MESSAGE.partition(": ")[2])
    assert (after["ok"], after["mismatches"]) == (True, 0)
    assert report["device"]["kind"] == "interpreter"


async def test_all_safe_repairs_at_once(editor: Editor, tmp_path: Path) -> None:
    text = f"{SCRIPT}starts = torch.tensor([0, 4], dtype=torch.int32)\n{SCRIPT.splitlines()[-1]}\n"
    uri = editor.open(tmp_path / "main.py", text)
    found = await editor.diagnostics(uri)
    assert len(found) == 2
    everything = types.Range(types.Position(0, 0), types.Position(99, 0))
    (action,) = await editor.actions(uri, everything, found, "source.fixAll")
    assert action.kind == "source.fixAll.raiselens"
    assert action.edit is not None
    editor.apply(action.edit)
    fixed = text.replace("torch.int32", "torch.int64").replace(
        "(8, 16), dtype=torch.int64", "(8, 16), dtype=torch.int32"
    )
    assert editor.texts[uri] == fixed
    # Two starts are too few for two requests: no safe repair is known for that, so it stays.
    assert [item.message for item in await editor.diagnostics(uri)] == [
        "ValueError: kv-canary: scatter_req_token_ids offsets length 2 != bs+1 (3)"
    ]
    assert await editor.actions(uri, everything, [], "source.organizeImports") == []


async def test_ignoring_a_finding_where_it_stands(editor: Editor, tmp_path: Path) -> None:
    uri = editor.open(tmp_path / "main.py", SCRIPT)
    (found,) = await editor.diagnostics(uri)
    ignore = next(a for a in await editor.actions(uri, found.range, [found]) if a.title == f"Ignore {RULE} here")
    assert ignore.edit is not None
    editor.apply(ignore.edit)
    assert editor.texts[uri].endswith(f"pool_out=pool)  # raiselens: ignore[{RULE}]\n")
    assert await editor.diagnostics(uri) == []
    editor.type(uri, "torch.int64", "torch.int32")
    (unused,) = await editor.diagnostics(uri)
    assert (unused.code, unused.severity) == ("unused-ignore", types.DiagnosticSeverity.Warning)


async def test_a_log_is_the_same_rule_with_the_same_page(editor: Editor, tmp_path: Path) -> None:
    script = tmp_path / "main.py"
    script.write_text(SCRIPT)
    text = "10%\r100%\n" + LOG.format(here=script)
    uri = editor.open(tmp_path / "run.log", text, "log")
    (found,) = await editor.diagnostics(uri)
    assert (found.code, found.message) == (RULE, f"{MESSAGE} (rank0)")
    # The progress bar's `\r` ends a line for the editor; the range counts it.
    assert found.range == types.Range(types.Position(5, 9), types.Position(5, 9 + len(MESSAGE)))
    assert RECORD in await editor.hover(uri, types.Position(5, 20))
    assert RECORD in await editor.hover(uri, types.Position(3, 20))
    links = await editor.client.text_document_document_link_async(
        types.DocumentLinkParams(types.TextDocumentIdentifier(uri))
    )
    assert [link.target for link in links or []] == [f"{script.as_uri()}#L6"]
    plain = editor.open(tmp_path / "notes.txt", "no error in here\n", "plaintext")
    assert await editor.diagnostics(plain) == []


async def test_a_file_that_is_called_is_looked_at_again(editor: Editor, tmp_path: Path) -> None:
    text = "def need(x):\n    if x != 1:\n        raise ValueError('one')\n"
    (tmp_path / "helper.py").write_text(text)
    helper = editor.open(tmp_path / "helper.py", text)
    main = editor.open(tmp_path / "main.py", "from helper import need\n\nneed(2)\n")
    (found,) = await editor.diagnostics(main)
    assert found.message == "ValueError: one"
    editor.type(helper, "x != 1", "x != 2")
    assert await editor.diagnostics(main) == []
    await asyncio.sleep(1.0)
    assert editor.client.diagnostic_refresh_count >= 1


async def test_commands(editor: Editor, tmp_path: Path) -> None:
    explained = await editor.command("raiselens.explainText", {"text": LOG.format(here="/srv/main.py")})
    assert explained["primary"] == 0
    assert explained["errors"][0]["record"]["id"] == RECORD
    assert explained["errors"][0]["ranks"] == ["rank0"]
    page = await editor.command("raiselens.showRecord", {"id": RECORD})
    assert page.startswith("# kv-canary: scatter_req_token_ids pool_out must be int32, got")
    (hit,) = await editor.command("raiselens.searchCatalog", {"query": "pool_out int32"})
    assert hit["id"] == RECORD
    library = tmp_path / "library" / "pkg"
    library.mkdir(parents=True)
    (library / "__init__.py").write_text(
        "def f(x):\n    if x < 9:\n        raise ValueError(f'nine at least, got {x}')\n"
    )
    report = await editor.command("raiselens.buildCatalog", {"targets": [str(library.parent)]})
    assert (report["raises"], report["records"]) == (1, 1)
    (mined,) = await editor.command("raiselens.searchCatalog", {"query": "nine at least"})
    assert mined["class"] == "ValueError"
    facts = await editor.command("raiselens.debugInformation", {})
    assert facts["folders"] == [str(tmp_path)]


@pytest.mark.parametrize(
    ("command", "argument", "said"),
    [
        ("raiselens.showRecord", {}, "raiselens.showRecord: 'id' is missing"),
        ("raiselens.showRecord", {"id": 3}, "raiselens.showRecord: 'id' must be of type str"),
        ("raiselens.showRecord", {"id": "no-such"}, "no record has the id or slug 'no-such'"),
        ("raiselens.verify", {"uri": "file:///a.py"}, "raiselens.verify: 'position' is missing"),
        ("raiselens.verify", {"scatter": True, "device": "gpu"}, "raiselens.verify: 'device' is 'gpu': must be auto"),
        ("raiselens.buildCatalog", {"targets": ["no-such-library"]}, "no-such-library"),
        ("raiselens.nonsense", {}, "unknown command 'raiselens.nonsense'"),
        ("raiselens.showRecord", ["x"], "its argument must be an object"),
    ],
)
async def test_a_wrong_argument_is_one_clear_line(editor: Editor, command: str, argument: Any, said: str) -> None:
    with pytest.raises(JsonRpcException) as refused:
        await editor.command(command, argument)
    assert said in str(refused.value)
    assert "Traceback" not in str(refused.value)


async def test_cancelling_a_verification_kills_its_process(editor: Editor, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    slow = tmp_path / "slow"
    slow.write_text(f"#!/bin/sh\necho $$ > {pid_file}\nsleep 600\n")
    slow.chmod(0o755)
    running = asyncio.ensure_future(
        editor.command("raiselens.verify", {"scatter": True, "launcher": str(slow)}, token="verify-1")  # noqa: S106 - a progress token
    )
    while not (pid_file.exists() and pid_file.read_text().strip()):  # noqa: ASYNC110 - another process writes it
        await asyncio.sleep(0.05)
    editor.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams("verify-1"))
    with pytest.raises(JsonRpcException, match="cancelled"):
        await asyncio.wait_for(running, 20)
    pid = int(pid_file.read_text())
    for _ in range(200):
        if not _lives(pid):
            return
        await asyncio.sleep(0.05)
    pytest.fail("the cancelled verification still runs")


async def test_an_untrusted_workspace_runs_nothing_of_its_own(tmp_path: Path) -> None:
    started = tmp_path / "started"
    python = tmp_path / "evil"
    python.write_text(f"#!/bin/sh\ntouch {started}\n")
    python.chmod(0o755)
    (tmp_path / "pyproject.toml").write_text(f"[tool.raiselens]\npython = '{python}'\nlauncher = '{python}'\n")
    editor, _ = await start(tmp_path)
    uri = editor.open(tmp_path / "main.py", SCRIPT)
    assert len(await editor.diagnostics(uri)) == 1
    with pytest.raises(JsonRpcException, match="not trusted"):
        await editor.command("raiselens.verify", {"scatter": True})
    lenses = await editor.client.text_document_code_lens_async(types.CodeLensParams(types.TextDocumentIdentifier(uri)))
    assert [lens.command.title for lens in lenses or [] if lens.command] == ["explain"]
    await stop(editor)
    assert not started.exists()


async def test_a_client_that_does_not_ask_is_told_with_versions(tmp_path: Path) -> None:
    client = LanguageClient()
    told: list[types.PublishDiagnosticsParams] = []
    arrived = asyncio.Event()

    @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def _(params: types.PublishDiagnosticsParams) -> None:
        told.append(params)
        arrived.set()

    async def next_told() -> types.PublishDiagnosticsParams:
        await asyncio.wait_for(arrived.wait(), 30)
        arrived.clear()
        return told[-1]

    editor, _ = await start(tmp_path, PUSH, client, trusted=True)
    uri = editor.open(tmp_path / "main.py", SCRIPT)
    first = await next_told()
    assert (first.version, [item.code for item in first.diagnostics]) == (1, [RULE])
    editor.type(uri, "torch.int64", "torch.int32")
    second = await next_told()
    assert (second.version, list(second.diagnostics)) == (2, [])
    await stop(editor)


async def test_what_the_server_says_of_itself(tmp_path: Path) -> None:
    editor, result = await start(tmp_path)
    able = result.capabilities
    assert able.position_encoding == types.PositionEncodingKind.Utf16
    assert isinstance(able.diagnostic_provider, types.DiagnosticOptions)
    assert able.diagnostic_provider.inter_file_dependencies
    assert isinstance(able.code_action_provider, types.CodeActionOptions)
    assert able.code_action_provider.resolve_provider
    assert list(able.code_action_provider.code_action_kinds or []) == ["quickfix", "source.fixAll.raiselens"]
    assert able.execute_command_provider is not None
    assert set(able.execute_command_provider.commands) == {
        "raiselens.verify",
        "raiselens.explainText",
        "raiselens.showRecord",
        "raiselens.searchCatalog",
        "raiselens.buildCatalog",
        "raiselens.debugInformation",
    }
    await stop(editor)


def _lives(pid: int) -> bool:
    import os

    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
