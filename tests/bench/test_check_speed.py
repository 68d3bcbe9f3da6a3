"""`check` over all of sglang beside ruff and pyrefly, and the time from a keystroke to the finding in its largest file.

Run alone (`pytest -s tests/bench/test_check_speed.py`) it prints the figures; nothing here asserts a time. CPU seconds
are of the process and its children, so they bear a busy machine better than the clock does; what may be compared are
ratios of one run. Tools that are not installed beside Python are left out, and said to be.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.lsp.typing_client import TypingClient

BIN = Path(sys.executable).parent
OURS = [sys.executable, "-m", "raiselens_server.cli.main"]
EDITS = 40


@dataclass(frozen=True)
class Run:
    """One run of a command: seconds by the clock, CPU seconds, and the greatest process's memory in MiB."""

    wall: float
    cpu: float
    memory: float

    def __str__(self) -> str:
        return f"{self.wall:6.1f} s, CPU {self.cpu:6.1f} s, largest process {self.memory:5.0f} MiB"


def run(command: list[str], **variables: str) -> Run:
    """Run to its end, whatever it finds."""
    began = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **variables}
    )
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    return Run(time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def tool(name: str, *arguments: str) -> list[str] | None:
    path = BIN / name
    return [str(path), *arguments] if path.exists() else None


@pytest.mark.slow
@pytest.mark.sglang
def test_check_beside_others(sglang_root: Path, tmp_path: Path) -> None:
    package = str(sglang_root / "sglang")
    check = [*OURS, "check", "--format", "json", "--extra-path", str(sglang_root), package]
    rows = {
        "ruff": tool("ruff", "check", "--no-cache", "--isolated", package),
        "pyrefly": tool("pyrefly", "check", package),
        "raiselens, cold": check,
        "raiselens, warm": check,
    }
    print()
    took: dict[str, Run] = {}
    for name, command in rows.items():
        if command is None:
            print(f"{name:16} not installed")
            continue
        took[name] = run(command, RAISELENS_DATA=str(tmp_path))
        print(f"{name:16} {took[name]}")
    for other in ("ruff", "pyrefly"):
        if other in took:
            ratio = took["raiselens, cold"].cpu / took[other].cpu
            print(f"cold, CPU: {ratio:.1f} × {other}")


@pytest.mark.slow
@pytest.mark.sglang
@pytest.mark.parametrize("server", ["raiselens", "ruff"])
def test_keystroke_to_finding(sglang_root: Path, server: str) -> None:
    command = [*OURS, "server"] if server == "raiselens" else tool("ruff", "server")
    if command is None:
        pytest.skip("not installed")
    path = sglang_root / "sglang" / "srt" / "managers" / "scheduler.py"
    with TypingClient(command, path) as client:
        times = client.toggle(EDITS, undefined=server == "ruff")
    known = [each for each in times if each is not None]
    assert known, "the finding never came"
    p95 = statistics.quantiles(known, n=20, method="inclusive")[-1]
    print(
        f"\n{server:10} scheduler.py, keystroke → finding there or gone: median {statistics.median(known):.1f} ms,"
        f" p95 {p95:.1f} ms, {len(times) - len(known)} never settled, {client.memory:.0f} MiB"
    )
    print(json.dumps({"server": server, "median_ms": statistics.median(known), "p95_ms": p95}))
