"""Reading speed: MB/s on a clean serving log and on one with tracebacks, beside `grep -c` and a plain line loop.

Run alone (`pytest -s tests/bench/test_read_speed.py`) it prints the figures; nothing here asserts a time. All figures are of one run on one machine, over the same two files; the ratios are what may be compared.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from raiselens_server.error import Observed
from raiselens_server.read import read_chunks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from raiselens_server.read import Reading

SIZE = 250_000_000

TRACEBACK = """\
[2026-08-01 11:09:00 TP2] Scheduler hit an exception: Traceback (most recent call last):
  File "/opt/srv/lib/python3.12/site-packages/sglang/srt/managers/scheduler.py", line 3144, in run_scheduler_process
    scheduler.event_loop_overlap()
    ~~~~~~~~~~~~~~~~~~~~~~~~~~~~^^
  File "/opt/srv/lib/python3.12/site-packages/sglang/srt/managers/scheduler.py", line 1061, in event_loop_overlap
    batch_result = self.run_batch(batch)
                   ^^^^^^^^^^^^^^^^^^^^^
  File "/opt/srv/lib/python3.12/site-packages/torch/nn/modules/module.py", line 1775, in _wrapped_call_impl
    return self._call_impl(*args, **kwargs)
           ~~~~~~~~~~~~~~~^^^^^^^^^^^^^^^^^
  File "/opt/srv/lib/python3.12/site-packages/sgl_kernel/speculative.py", line 45, in verify
    torch.ops.sgl_kernel.tree_speculative_sampling_target_only.default(
RuntimeError: Expected 'predicts' of request {number} to be of type int (torch.int32).

"""


def clean_line(number: int) -> str:
    """A line of a serving log: no error, though the word stands in it."""
    return (
        f"[2026-08-01 {number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d} TP{number % 4}] Decode batch. "
        f"#running-req: {number % 61}, #token: {number * 7919 % 99991}, token usage: 0.{number % 100:02d}, "
        f"gen throughput (token/s): {number * 31 % 9973}.{number % 100:02d}, #queue-req: {number % 9}, errors: 0\n"
    )


def write(path: Path, size: int, tracebacks: int) -> None:
    """A log of `size` bytes with so many tracebacks spread over it."""
    every = size // tracebacks if tracebacks else size + 1
    written = number = done = 0
    with path.open("w", encoding="utf-8") as file:
        while written < size:
            block = "".join(clean_line(number + offset) for offset in range(200))
            number += 200
            if tracebacks and written >= (done + 1) * every - every // 2:
                block += TRACEBACK.replace("{number}", str(done))
                done += 1
            written += file.write(block)


def chunks(path: Path) -> Iterator[bytes]:
    """The file in pieces of 1 MiB."""
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            yield piece


def line_loop(path: Path) -> int:
    """What reading line by line costs before anything is done with a line."""
    with path.open(encoding="utf-8", errors="replace") as file:
        return sum("Traceback" in line for line in file)


def grep(path: Path) -> int:
    """The same by grep."""
    program = shutil.which("grep") or "grep"
    run = subprocess.run([program, "-c", "Traceback", path], stdout=subprocess.PIPE, text=True, check=False)
    return int(run.stdout)


def speed(work: Callable[[Path], object], path: Path) -> float:
    """MB/s, the best of three."""
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        work(path)
        best = min(best, time.perf_counter() - start)
    return path.stat().st_size / best / 1e6


def told(reading: Reading) -> int:
    """How many errors a log told of, folded ones counted."""
    return sum(error.origin.count for error in reading.errors if isinstance(error.origin, Observed))


@pytest.mark.slow
@pytest.mark.parametrize("tracebacks", [0, 2000])
def test_read_speed(tmp_path: Path, tracebacks: int):
    log = tmp_path / "serving.log"
    write(log, SIZE, tracebacks)
    assert told(read_chunks(chunks(log))) == tracebacks
    ours = speed(lambda path: read_chunks(chunks(path)), log)
    loop, external = speed(line_loop, log), speed(grep, log)
    print(f"\n{log.stat().st_size / 1e6:.0f} MB, {tracebacks} tracebacks")
    print(f"  raiselens {ours:6.0f} MB/s   Python line loop {loop:6.0f} MB/s   grep -c {external:6.0f} MB/s")
    print(f"  ratio to the line loop {ours / loop:.2f}, to grep {ours / external:.2f}")
    log.unlink()
