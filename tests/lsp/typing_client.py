"""A client that types: it puts a function into a file and edits one line of it back and forth.

Any language server on stdio can be asked, so that ours is timed as others are. Only the standard library is used.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
import time
from pathlib import Path
from queue import Empty, Queue
from typing import TYPE_CHECKING, Any

from typing_extensions import Self

if TYPE_CHECKING:
    from types import TracebackType

PATIENCE = 20.0
PAUSE = 0.05
SCATTER = "sglang.kernels.ops.kv_canary.scatter_req_token_ids"
STORY = [
    "def _typed_story(n: int) -> None:",
    "    import torch",
    f"    from {SCATTER} import launch_scatter_req_token_ids_kernel as _launch",
    "    _pool = torch.empty((n, 8), dtype=torch.int32)",
    "    _offsets = torch.zeros(4, dtype=torch.int64)",
    "    _launch(flat_in=torch.arange(10), offsets=_offsets, req_pool_indices=torch.arange(3), pool_out=_pool)",
]
NAME = ["def _typed_name():", "    return 1"]


class TypingClient:
    """A server, started on the folder of `path`, with that file open."""

    def __init__(self, command: list[str], path: Path) -> None:
        self.path = path
        self.memory = 0.0
        """The server's greatest memory in MiB, once it has ended."""
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=path.parent
        )
        self._answers: Queue[dict[str, Any]] = Queue()
        self._pushed: Queue[dict[str, Any]] = Queue()
        self._last = 0
        self._version = 1
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> Self:
        root = self.path.parent
        capabilities = {
            "general": {"positionEncodings": ["utf-16"]},
            "textDocument": {
                "publishDiagnostics": {"versionSupport": True, "relatedInformation": True},
                "diagnostic": {"dynamicRegistration": False},
            },
        }
        answer = self.request(
            "initialize",
            {
                "processId": None,
                "rootUri": root.as_uri(),
                "capabilities": capabilities,
                "workspaceFolders": [{"uri": root.as_uri(), "name": root.name}],
            },
        )
        self._pulls = bool(answer["capabilities"].get("diagnosticProvider"))
        self.notify("initialized", {})
        text = self.path.read_text(encoding="utf-8")
        self.notify(
            "textDocument/didOpen",
            {"textDocument": {"uri": self.uri, "languageId": "python", "version": 1, "text": text}},
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.memory = _peak(self._process.pid)
        self._process.kill()
        self._process.wait()

    @property
    def uri(self) -> str:
        """The open document."""
        return self.path.as_uri()

    def toggle(self, edits: int, *, undefined: bool = False) -> list[float | None]:
        """Milliseconds from each edit to an answer that has, or no longer has, a finding on the watched line.

        The pool of a scatter call is int32 or int64; `undefined`: a returned name is defined or not, which linters tell.
        None where no such answer came.
        """
        added, edited, watched = (NAME, 1, 1) if undefined else (STORY, 3, 5)
        right = added[edited]
        wrong = right.replace("1", "_typed_undefined") if undefined else right.replace("int32", "int64")
        lines = self.path.read_text(encoding="utf-8").split("\n")
        starts = ("def ", "class ", "@", "async def ")
        middle = next(i for i in range(len(lines) // 2, len(lines)) if lines[i].startswith(starts))
        self._change(middle, 0, middle, 0, "\n".join([*added, "", ""]))
        self._settle(middle + watched, present=False)
        times: list[float | None] = []
        current = right
        for _ in range(edits):
            time.sleep(PAUSE)
            new = wrong if current == right else right
            began = time.perf_counter()
            self._change(middle + edited, 0, middle + edited, len(current), new)
            settled = self._settle(middle + watched, present=new == wrong)
            times.append((time.perf_counter() - began) * 1000 if settled else None)
            current = new
        return times

    def _change(self, line: int, column: int, end_line: int, end_column: int, text: str) -> None:
        self._version += 1
        place = {
            "start": {"line": line, "character": column},
            "end": {"line": end_line, "character": end_column},
        }
        self.notify(
            "textDocument/didChange",
            {
                "textDocument": {"uri": self.uri, "version": self._version},
                "contentChanges": [{"range": place, "text": text}],
            },
        )

    def _settle(self, line: int, *, present: bool) -> bool:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found = self._diagnostics(end)
            if found is not None and present == any(item["range"]["start"]["line"] == line for item in found):
                return True
        return False

    def _diagnostics(self, end: float) -> list[dict[str, Any]] | None:
        if self._pulls:
            answer = self.request("textDocument/diagnostic", {"textDocument": {"uri": self.uri}})
            items: list[dict[str, Any]] = answer.get("items", [])
            return items
        with contextlib.suppress(Empty):
            pushed = self._pushed.get(timeout=max(0.0, end - time.monotonic()))
            if pushed["uri"] == self.uri and pushed.get("version") in {None, self._version}:
                told: list[dict[str, Any]] = pushed["diagnostics"]
                return told
        return None

    def request(self, method: str, params: Any) -> dict[str, Any]:
        """The result of one request; they are asked one at a time. Raises Empty where no answer comes."""
        self._last += 1
        self._send({"id": self._last, "method": method, "params": params})
        while True:
            answer = self._answers.get(timeout=PATIENCE)
            if answer["id"] == self._last:
                return answer.get("result") or {}

    def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._process.stdin.flush()

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        while True:
            size = 0
            while (line := stream.readline()) not in {b"\r\n", b""}:
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    size = int(value)
            if not size:
                return
            message = json.loads(stream.read(size))
            if "method" not in message:
                self._answers.put(message)
            elif "id" in message:
                asked = message["method"] == "workspace/configuration"
                result = [None] * len(message["params"]["items"]) if asked else None
                self._send({"id": message["id"], "result": result})
            elif message["method"] == "textDocument/publishDiagnostics":
                self._pushed.put(message["params"])


def _peak(pid: int) -> float:
    """The greatest memory of a process so far, in MiB; 0 where the system does not tell."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    return 0.0
