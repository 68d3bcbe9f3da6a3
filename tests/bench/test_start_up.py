"""Starting up: CPU time from the spawn to the answer of `initialize`, beside a bare pygls server.

Run alone (`pytest -s tests/bench/test_start_up.py`) it prints the figures; nothing here asserts a time. The two take
turns, so that what else the machine does meets both; their ratio is what may be compared.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys

ROUNDS = 11
OURS = [sys.executable, "-m", "raiselens_server.cli.main", "server"]
BARE = [sys.executable, "-c", "from pygls.lsp.server import LanguageServer; LanguageServer('bare', '1').start_io()"]
MESSAGE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"processId": None, "rootUri": None, "capabilities": {}},
}


def seconds_to_initialize(command: list[str]) -> float:
    """User CPU seconds of one start; the process is killed once it has answered."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdin is not None
    assert process.stdout is not None
    body = json.dumps(MESSAGE).encode()
    process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    process.stdin.flush()
    answer = process.stdout.readline()
    assert answer.lower().startswith(b"content-length"), answer
    process.kill()
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    process.stdin.close()
    process.stdout.close()
    return used.ru_utime


def test_start_up_beside_a_bare_server() -> None:
    pairs = [(seconds_to_initialize(OURS), seconds_to_initialize(BARE)) for _ in range(ROUNDS)]
    ours, bare = (statistics.median(times) for times in zip(*pairs, strict=True))
    ratio = statistics.median(own / other for own, other in pairs)
    print(
        f"\nspawn → initialize, user CPU: {ours * 1000:.0f} ms, a bare pygls server {bare * 1000:.0f} ms; {ratio:.2f} ×"
    )
