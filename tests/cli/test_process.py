"""The command line as a process: streams, signals, bytes on disk, several workers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = [sys.executable, "-m", "raiselens_server.cli.main"]
GUARDED = "def need(x):\n    if x != 1:\n        raise ValueError('one please')\n\n\nneed(2)\n"
POOL = """\
import torch
from sglang.kernels.ops.kv_canary.scatter_req_token_ids import launch_scatter_req_token_ids_kernel as scatter

name = "é"
pool = torch.zeros((8, 16), dtype=torch.int64)
scatter(flat_in=torch.arange(4), offsets=torch.tensor([0, 4]), req_pool_indices=torch.tensor([1]), pool_out=pool)
"""


def raiselens(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, **options)


class TestFixing:
    @pytest.mark.parametrize(
        ("before", "encoding"),
        [
            (POOL.replace("\n", "\r\n"), "utf-8"),
            (POOL, "utf-8-sig"),
            (f"# coding: latin-1\n{POOL}", "latin-1"),
            (POOL.rstrip("\n"), "utf-8"),
        ],
        ids=["crlf", "byte-order-mark", "latin-1", "no-last-line-end"],
    )
    def test_all_other_bytes_stay_as_they_are(self, tmp_path: Path, before: str, encoding: str) -> None:
        path = tmp_path / "main.py"
        path.write_bytes(before.encode(encoding))
        done = raiselens("check", path, "--fix")
        assert done.returncode == 0, done.stdout + done.stderr
        assert path.read_bytes() == before.replace("torch.int64", "torch.int32").encode(encoding)

    def test_a_diff_writes_nothing(self, tmp_path: Path) -> None:
        path = tmp_path / "main.py"
        path.write_text(POOL)
        assert raiselens("check", path, "--fix", "--diff").returncode == 1
        assert path.read_text() == POOL

    def test_unsafe_repairs_only_when_asked(self, tmp_path: Path) -> None:
        path = tmp_path / "main.py"
        path.write_text(GUARDED)
        assert raiselens("check", path, "--fix").returncode == 1
        assert path.read_text() == GUARDED
        assert raiselens("check", path, "--fix", "--unsafe-fixes").returncode == 0
        assert path.read_text() == GUARDED.replace("need(2)", "need(1)")


class TestFormats:
    def test_sarif(self, tmp_path: Path) -> None:
        (tmp_path / "main.py").write_text(POOL)
        log = json.loads(raiselens("check", "main.py", "--format", "sarif", cwd=tmp_path).stdout)
        (run,) = log["runs"]
        (result,) = run["results"]
        assert log["version"] == "2.1.0"
        assert run["columnKind"] == "unicodeCodePoints"
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        location = result["locations"][0]["physicalLocation"]
        assert location["artifactLocation"]["uri"] == "main.py"
        assert location["region"]["startLine"] == 6
        replacement = result["fixes"][0]["artifactChanges"][0]["replacements"][0]
        assert replacement["insertedContent"]["text"] == "torch.int32"
        assert replacement["deletedRegion"]["startLine"] == 5

    def test_json_names_files_as_they_were_given(self, tmp_path: Path) -> None:
        (tmp_path / "pkg").mkdir()
        (tmp_path / "pkg" / "main.py").write_text(GUARDED)
        for given, shown in (("pkg", "pkg/main.py"), (str(tmp_path), str(tmp_path / "pkg/main.py"))):
            checked = json.loads(raiselens("check", given, "--format", "json", cwd=tmp_path).stdout)
            (finding,) = checked["findings"]
            assert finding["file"] == shown
            assert finding["frames"][0]["file"] == shown

    def test_statistics(self, tmp_path: Path) -> None:
        (tmp_path / "main.py").write_text(GUARDED)
        done = raiselens("check", tmp_path, "--format", "json", "--statistics")
        told = json.loads(done.stdout)["statistics"]
        assert set(told) == {"calls", "resolved", "guards_reached", "guards_decided", "undecided"}
        assert told["resolved"] >= 1
        assert told["guards_decided"] >= 1


class TestColour:
    @pytest.mark.parametrize(
        ("environment", "painted"),
        [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
    )
    def test_only_where_it_is_wanted(self, tmp_path: Path, environment: dict[str, str], painted: bool) -> None:
        (tmp_path / "main.py").write_text(GUARDED)
        done = raiselens("check", tmp_path, env={**os.environ, **environment})
        assert ("\x1b[" in done.stdout) is painted

    def test_a_log_cannot_steer_the_terminal(self) -> None:
        done = raiselens("explain", "--class", "ValueError", "--message", "red \x1b[31m and bell \x07")
        assert "\x1b" not in done.stdout
        assert "red \\x1b[31m and bell \\x07" in done.stdout


class TestWorkers:
    def test_results_are_in_order_whatever_the_number_of_processes(self, tmp_path: Path) -> None:
        for number in range(40):
            (tmp_path / f"m{number:02}.py").write_text(GUARDED)
        one, several = (
            json.loads(raiselens("check", tmp_path, "--jobs", jobs, "--format", "json").stdout)["findings"]
            for jobs in ("1", "3")
        )
        assert len(one) == 40
        assert several == one

    def test_an_interrupt_ends_all_of_it_quietly(self, tmp_path: Path) -> None:
        for number in range(400):
            (tmp_path / f"m{number}.py").write_text(GUARDED * 40)
        # Whoever starts the tests in the background has interrupts ignored, and so would the child.
        heeding = (
            "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", heeding, *COMMAND, "check", "-", str(tmp_path), "--jobs", "2"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdin is not None
        # More than a pipe holds: once all is written the command is at work.
        process.stdin.write(b"x = 1\n" * 100_000)
        process.stdin.close()
        process.stdin = None
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
        assert process.returncode == 130
        assert b"Traceback" not in told

    def test_a_reader_that_has_seen_enough(self, tmp_path: Path) -> None:
        for number in range(60):
            (tmp_path / f"m{number}.py").write_text(GUARDED)
        line = f"{' '.join(COMMAND)} check {tmp_path} | head -n 1"
        done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, check=True, timeout=120)
        assert done.stdout.startswith("error: ValueError: one please")
        assert done.stderr == ""


class TestFollowing:
    def test_each_error_when_it_is_complete(self, tmp_path: Path) -> None:
        process = subprocess.Popen(
            [*COMMAND, "explain", "-", "--follow", "--format", "json"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("Traceback (most recent call last):\n  File 'x', line 1\nValueError: first\n")
        process.stdin.flush()
        # The stream stands still: the error is told all the same.
        first = json.loads(process.stdout.readline())
        assert [(error["class"], error["message"]) for error in first["errors"]] == [("ValueError", "first")]
        process.stdin.write("all is well again\n")
        process.stdin.close()
        assert process.stdout.read() == ""
        assert process.wait(timeout=60) == 1

    def test_a_warning_is_told_and_is_no_error(self, tmp_path: Path) -> None:
        log = tmp_path / "run.log"
        log.write_text("a.py:3: FutureWarning: dtype= will be required\n")
        with log.open() as text:
            done = raiselens("explain", "-", "--follow", "--format", "json", stdin=text)
        assert (json.loads(done.stdout)["primary"], done.returncode) == (None, 0)


class TestStreams:
    @pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-8"])
    def test_marked_encodings_are_read(self, tmp_path: Path, encoding: str) -> None:
        log = tmp_path / "run.log"
        log.write_text("ValueError: größe ≠ 4\n", encoding=encoding)
        done = raiselens(
            "explain", log, "--format", "json", env={**os.environ, "PYTHONIOENCODING": "utf-8"}, encoding="utf-8"
        )
        (error,) = json.loads(done.stdout)["errors"]
        assert (error["class"], error["message"]) == ("ValueError", "größe ≠ 4")

    @pytest.mark.skipif(not hasattr(os, "wait4"), reason="the peak of one child's memory is asked of the system")
    def test_memory_does_not_grow_with_the_stream(self) -> None:
        peaks = [peak_of_reading(blocks) for blocks in (4, 60)]
        # In the unit of the system, which is KiB on Linux and bytes on macOS.
        assert peaks[1] < 1.3 * peaks[0]


def peak_of_reading(blocks: int) -> int:
    """The peak of memory while `explain` reads so many MB from a pipe, an error in each of them."""
    line = "2026-08-01 10:00:00,000 - app - INFO - Decode batch. #running-req: 7, errors: 0\n"
    failed = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\nValueError: bad\n'
    block = (line * (1_000_000 // len(line)) + failed).encode()
    process = subprocess.Popen([*COMMAND, "explain", "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert process.stdin is not None
    for _ in range(blocks):
        process.stdin.write(block)
    process.stdin.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 1
    return usage.ru_maxrss


def test_a_fault_of_ours_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("x = 1\n")
    (tmp_path / "other.py").write_text(GUARDED)
    broken = "import raiselens_server.cli.pool as pool, sys\n"
    broken += "real = pool.check\n"
    broken += "pool.check = lambda p, c, path: 1 / 0 if path.endswith('main.py') else real(p, c, path)\n"
    broken += "from raiselens_server.cli.main import main\nmain(sys.argv[1:])\n"
    command = [sys.executable, "-c", broken, "check", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 2
    assert "one please" in done.stdout
    assert done.stderr == (
        f"{tmp_path / 'main.py'}: internal error: ZeroDivisionError: division by zero "
        "(set RAISELENS_DEBUG=1 for the traceback)\n"
    )
