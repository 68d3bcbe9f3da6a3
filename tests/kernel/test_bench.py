"""The bench where there is nothing to run it on: one line that says what is missing, and exit status 2."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

BENCH = ["-m", "raiselens_kernel.scatter.bench"]


def refused(kernel_root: Path, *words: str) -> str:
    process = subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(kernel_root), "CUDA_VISIBLE_DEVICES": ""},
        check=False,
    )
    assert (process.returncode, process.stdout) == (2, "")
    assert process.stderr.startswith("bench: ")
    assert process.stderr.count("\n") == 1
    return process.stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([*BENCH], "it needs a CUDA device, and torch "),
        (["-S", *BENCH], "it needs torch, which "),
        (
            [*BENCH, "--only", "nothing of this name"],
            "no workload's name holds 'nothing of this name'; there are: one of 25;",
        ),
    ],
    ids=["no GPU", "no torch", "no such workload"],
)
def test_what_is_missing_is_said_in_one_line(kernel_root: Path, words: list[str], expected: str):
    assert expected in refused(kernel_root, *words)
