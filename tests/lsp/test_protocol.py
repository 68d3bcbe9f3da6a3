"""The protocol byte by byte: framing, refusals, the end of a session. What a client library would hide."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMAND = [sys.executable, "-m", "raiselens_server.cli.main", "server"]
INITIALIZE = {"processId": None, "rootUri": None, "capabilities": {}}


class Raw:
    """A server process, spoken to in frames."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def send(self, message: Any, header: str = "Content-Length") -> None:
        body = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(f"{header}: {len(body)}\r\n\r\n".encode() + body)
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        length = 0
        while line := self.process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name == b"Content-Length":
                length = int(value)
        found: dict[str, Any] = json.loads(self.process.stdout.read(length))
        return found

    def answer(self, key: int) -> dict[str, Any]:
        """The answer to one request; notifications on the way are passed over."""
        while (found := self.receive()).get("id") != key:
            pass
        return found

    def initialize(self, **more: Any) -> None:
        self.send({"id": 0, "method": "initialize", "params": {**INITIALIZE, **more}})
        assert "result" in self.answer(0)
        self.send({"method": "initialized", "params": {}})


@pytest.fixture
def server() -> Iterator[Raw]:
    raw = Raw()
    yield raw
    if raw.process.poll() is None:
        raw.process.kill()
    raw.process.communicate()


class TestFraming:
    def test_header_names_match_in_any_case(self, server: Raw) -> None:
        body = {"id": 1, "method": "initialize", "params": INITIALIZE}
        server.send(body, header="content-type: x\r\ncontent-length")
        assert "result" in server.answer(1)

    def test_what_is_no_json_is_answered_and_the_session_goes_on(self, server: Raw) -> None:
        server.send(b"{not json")
        refused = server.receive()
        assert (refused["id"], refused["error"]["code"]) == (None, -32700)
        server.initialize()

    def test_pasted_text_may_look_like_a_message(self, server: Raw) -> None:
        server.initialize()
        trap = {"jsonrpc": "2.0", "id": 7, "method": "exit"}
        server.send(
            {
                "id": 1,
                "method": "workspace/executeCommand",
                "params": {"command": "raiselens.explainText", "arguments": [{"text": json.dumps(trap), "more": trap}]},
            }
        )
        assert server.answer(1)["result"]["errors"] == []

    def test_stdout_holds_messages_and_nothing_else(self, server: Raw) -> None:
        server.initialize()
        server.send({"id": 9, "method": "shutdown"})
        assert server.answer(9)["result"] is None


class TestRefusals:
    def test_before_initialize(self, server: Raw) -> None:
        server.send({"id": 1, "method": "textDocument/hover", "params": {}})
        assert server.answer(1)["error"]["code"] == -32002

    def test_after_shutdown(self, server: Raw) -> None:
        server.initialize()
        server.send({"id": 1, "method": "shutdown"})
        server.answer(1)
        server.send({"id": 2, "method": "textDocument/hover", "params": {}})
        assert server.answer(2)["error"]["code"] == -32600

    def test_wrong_parameters(self, server: Raw) -> None:
        server.initialize()
        server.send({"id": 1, "method": "textDocument/hover", "params": {"textDocument": 3}})
        assert server.answer(1)["error"]["code"] == -32602

    def test_unknown_method(self, server: Raw) -> None:
        server.initialize()
        server.send({"id": 1, "method": "textDocument/nonsense", "params": {}})
        assert server.answer(1)["error"]["code"] == -32601

    def test_a_document_that_is_not_open_has_nothing(self, server: Raw) -> None:
        server.initialize()
        document = {"textDocument": {"uri": "file:///nowhere.py"}}
        server.send(
            {"id": 1, "method": "textDocument/hover", "params": {**document, "position": {"line": 0, "character": 0}}}
        )
        assert server.answer(1)["result"] is None
        server.send({"id": 2, "method": "textDocument/diagnostic", "params": document})
        assert server.answer(2)["result"]["items"] == []


class TestEnding:
    def test_exit_after_shutdown(self, server: Raw) -> None:
        server.initialize()
        server.send({"id": 1, "method": "shutdown"})
        server.answer(1)
        server.send({"method": "exit"})
        assert server.process.wait(timeout=30) == 0
        _, told = server.process.communicate()
        assert told == b""

    def test_exit_without_shutdown(self, server: Raw) -> None:
        server.initialize()
        server.send({"method": "exit"})
        assert server.process.wait(timeout=30) == 1

    def test_a_client_that_goes_away(self, server: Raw) -> None:
        server.initialize()
        assert server.process.stdin is not None
        server.process.stdin.close()
        server.process.stdin = None
        assert server.process.wait(timeout=30) == 1

    @pytest.mark.skipif(os.name == "nt", reason="a process cannot be asked for there")
    def test_a_client_that_died_with_its_pipe_held_open(self, server: Raw) -> None:
        gone = subprocess.Popen([sys.executable, "-c", ""])
        gone.wait()
        server.initialize(processId=gone.pid)
        assert server.process.wait(timeout=30) == 1


def test_a_socket_in_place_of_the_pipes() -> None:
    process = subprocess.Popen([*COMMAND, "--tcp", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    port = int(process.stderr.readline().rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        for message in (
            {"id": 1, "method": "initialize", "params": INITIALIZE},
            {"id": 2, "method": "shutdown"},
            {"method": "exit"},
        ):
            body = json.dumps({"jsonrpc": "2.0", **message}).encode()
            client.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        received = b""
        while data := client.recv(1 << 16):
            received += data
    assert b'"positionEncoding": "utf-16"' in received
    assert process.wait(timeout=30) == 0


def test_an_address_that_cannot_be_used_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        busy = f"127.0.0.1:{taken.getsockname()[1]}"
        for address, said in (("nowhere", "must be HOST:PORT"), (busy, f"--tcp {busy}: Address already in use")):
            done = subprocess.run([*COMMAND, "--tcp", address], capture_output=True, text=True, check=False, timeout=60)
            assert done.returncode == 2
            assert said in done.stderr
            assert done.stderr.count("\n") == 1
