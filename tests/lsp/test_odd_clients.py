"""Clients that do what they should not: each is answered or passed over, nothing is logged as a fault of ours."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.lsp.test_protocol import INITIALIZE, Raw

from raiselens_server.lsp.features import create_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TEXT = "import torch\nx = torch.zeros(2, 3) @ torch.zeros(2, 3)\n"
NOWHERE = {"uri": "file:///nowhere.py"}
EVERYWHERE = {"start": {"line": 7, "character": 9}, "end": {"line": 4_000_000, "character": 4_000_000}}


class Odd(Raw):
    """A server process; what it wrote to its log is read at the end."""

    key = 100

    def ask(self, method: str, params: Any) -> dict[str, Any]:
        self.key += 1
        self.send({"id": self.key, "method": method, "params": params})
        return self.answer(self.key)

    def tell(self, method: str, params: Any) -> None:
        self.send({"method": method, "params": params})

    def open(self, text: str = TEXT, uri: str = "file:///odd.py") -> dict[str, str]:
        item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": item})
        return {"uri": uri}

    def log(self) -> str:
        """End the session; what the server wrote to stderr."""
        self.ask("shutdown", None)
        self.tell("exit", None)
        assert self.process.wait(timeout=30) == 0
        return self.process.communicate()[1].decode()


@pytest.fixture
def server() -> Iterator[Odd]:
    odd = Odd()
    odd.initialize()
    yield odd
    if odd.process.poll() is None:
        odd.process.kill()
    odd.process.communicate()


def asked_of(document: dict[str, str]) -> list[tuple[str, Any]]:
    """Every request about a document."""
    here = {"line": 1, "character": 5}
    return [
        ("textDocument/diagnostic", {"textDocument": document}),
        ("textDocument/hover", {"textDocument": document, "position": here}),
        (
            "textDocument/codeAction",
            {"textDocument": document, "range": {"start": here, "end": here}, "context": {"diagnostics": []}},
        ),
        ("textDocument/codeLens", {"textDocument": document}),
        ("textDocument/documentLink", {"textDocument": document}),
    ]


def test_changes_of_what_is_not_open_are_left_out(server: Odd) -> None:
    change = {"textDocument": {**NOWHERE, "version": 2}, "contentChanges": [{"text": "x"}]}
    server.tell("textDocument/didChange", change)
    server.tell("textDocument/didClose", {"textDocument": NOWHERE})
    notebook = {"uri": "file:///nowhere.ipynb", "version": 2}
    server.tell("notebookDocument/didChange", {"notebookDocument": notebook, "change": {}})
    closed = {"notebookDocument": {"uri": notebook["uri"]}, "cellTextDocuments": [NOWHERE]}
    server.tell("notebookDocument/didClose", closed)
    for method, params in asked_of(NOWHERE):
        assert "error" not in server.ask(method, params), method
    said = server.log().splitlines()
    assert len(said) == 2
    assert all("which is not open, is left out" in line for line in said)


def test_a_document_opened_twice_and_closed_twice(server: Odd) -> None:
    server.open("x = 1\n")
    document = server.open()
    (found,) = server.ask("textDocument/diagnostic", {"textDocument": document})["result"]["items"]
    assert found["message"].startswith("RuntimeError: mat1 and mat2 shapes cannot be multiplied")
    server.tell("textDocument/didClose", {"textDocument": document})
    server.tell("textDocument/didClose", {"textDocument": document})
    assert server.ask("textDocument/diagnostic", {"textDocument": document})["result"]["items"] == []
    assert server.log() == ""


def test_places_outside_the_text_are_moved_into_it(server: Odd) -> None:
    document = server.open()
    far = EVERYWHERE["end"]
    assert server.ask("textDocument/hover", {"textDocument": document, "position": far})["result"] is None
    context: dict[str, Any] = {"diagnostics": []}
    actions = server.ask("textDocument/codeAction", {"textDocument": document, "range": EVERYWHERE, "context": context})
    assert actions["result"] == []
    change = {"range": EVERYWHERE, "text": "y = torch.zeros(2, 3) @ torch.zeros(2, 3)\n"}
    versioned = {**document, "version": 2}
    server.tell("textDocument/didChange", {"textDocument": versioned, "contentChanges": [change]})
    found = server.ask("textDocument/diagnostic", {"textDocument": document})["result"]["items"]
    assert [item["range"]["start"]["line"] for item in found] == [1, 2]
    backwards = {"start": {"line": 2, "character": 50}, "end": {"line": 1, "character": 0}}
    change = {"range": backwards, "text": ""}
    server.tell("textDocument/didChange", {"textDocument": versioned, "contentChanges": [change]})
    assert server.ask("textDocument/diagnostic", {"textDocument": document})["result"]["items"] == []
    assert server.log() == ""


def test_cancelled_requests_are_answered_once(server: Odd) -> None:
    document = server.open()
    asked = [(1000 + number, *request) for number, request in enumerate(asked_of(document) * 20)]
    for key, method, params in asked:
        server.send({"id": key, "method": method, "params": params})
        server.tell("$/cancelRequest", {"id": key})
    server.tell("$/cancelRequest", {"id": "never-asked"})
    answers = [server.receive() for _ in asked]
    answers = [answer for answer in answers if "id" in answer]
    while len(answers) < len(asked):
        answers.append(server.receive())
    assert sorted(answer["id"] for answer in answers) == [key for key, *_ in asked]
    assert {answer["error"]["code"] for answer in answers if "error" in answer} == {-32800}
    assert server.log() == ""


def test_messages_that_are_none(server: Odd) -> None:
    server.send(json.dumps({"id": 1, "method": "shutdown"}).encode())
    assert server.answer(1)["error"]["code"] == -32600
    server.send({"id": 2, "method": ["shutdown"]})
    assert server.answer(2)["error"]["code"] == -32600
    assert server.ask("initialize", INITIALIZE)["error"]["code"] == -32600
    server.send({"id": "unknown", "result": {"a": 1}})
    server.send({"id": "unknown", "error": {"code": 1, "message": "no"}})
    server.tell("$/setTrace", {"value": "verbose"})
    server.tell("no/such/notification", {})
    position = {"line": -1, "character": 0}
    refused = server.ask("workspace/executeCommand", verify_at(position))
    assert refused["error"]["message"] == "raiselens.verify: 'position' counts from 0"
    assert "Traceback" not in server.log()


def verify_at(position: dict[str, int]) -> dict[str, Any]:
    return {"command": "raiselens.verify", "arguments": [{"uri": "file:///odd.py", "position": position}]}


@pytest.mark.parametrize("polite", [True, False], ids=["shutdown", "gone"])
def test_the_end_of_a_session_kills_what_it_runs(server: Odd, tmp_path: Path, polite: bool) -> None:
    pid_file = tmp_path / "pid"
    slow = tmp_path / "slow"
    slow.write_text(f"#!/bin/sh\necho $$ > {pid_file}\nexec sleep 600\n")
    slow.chmod(0o755)
    argument = {"scatter": True, "launcher": str(slow), "python": "python3"}
    verify = {"command": "raiselens.verify", "arguments": [argument]}
    server.send({"id": 1, "method": "workspace/executeCommand", "params": verify})
    while not (pid_file.exists() and pid_file.read_text().strip()):
        time.sleep(0.05)
    pid = int(pid_file.read_text())
    if polite:
        server.send({"id": 2, "method": "shutdown"})
        assert server.answer(1)["error"]["code"] == -32800
        server.tell("exit", None)
    else:
        assert server.process.stdin is not None
        server.process.stdin.close()
        server.process.stdin = None
    assert server.process.wait(timeout=30) == (0 if polite else 1)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_two_servers_side_by_side(server: Odd) -> None:
    other = Odd()
    other.initialize()
    document = other.open(), server.open()
    for one, opened in zip((other, server), document, strict=True):
        assert len(one.ask("textDocument/diagnostic", {"textDocument": opened})["result"]["items"]) == 1
    assert other.log() == ""
    assert server.log() == ""


def test_typing_leaves_nothing_behind() -> None:
    server = create_server()
    written: list[bytes] = []

    class Writer:
        def write(self, data: bytes) -> None:
            written.append(data)

        def close(self) -> None:
            pass

    server.protocol.set_writer(Writer())

    def tell(method: str, params: Any, **more: Any) -> None:
        server.protocol.receive({"jsonrpc": "2.0", "method": method, "params": params, **more})

    tell("initialize", INITIALIZE, id=1)
    for number in range(50):
        tell("$/setTrace", {"value": "off" if number % 2 else "messages"})
    assert len(written) == 1
    assert server.protocol._request_futures == {}
