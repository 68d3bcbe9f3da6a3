"""How the kernel's tests run it: in Triton's interpreter, which must be chosen before triton is imported."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

KERNEL_ROOT = Path(__file__).resolve().parents[2] / "kernel"

pytest.importorskip("triton", reason="triton is published for Linux alone")


@pytest.fixture
def kernel_root() -> Path:
    return KERNEL_ROOT


@pytest.fixture
def interpreted() -> Callable[..., Any]:
    """Run `interpreted.py` with the kernel package that stands under `root`."""

    def run(*arguments: str, root: Path = KERNEL_ROOT, stdin: object = None) -> Any:
        process = subprocess.run(
            [sys.executable, str(Path(__file__).with_name("interpreted.py")), *arguments],
            input=json.dumps(stdin),
            capture_output=True,
            text=True,
            env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(root)},
            check=False,
        )
        assert process.returncode == 0, process.stderr
        return json.loads(process.stdout)

    return run


@pytest.fixture
def mutate(tmp_path: Path) -> Callable[[str, str], Path]:
    """A copy of the kernel package in which one piece of the kernel's source is replaced."""

    def copy(old: str, new: str) -> Path:
        shutil.copytree(KERNEL_ROOT / "raiselens_kernel", tmp_path / "raiselens_kernel")
        kernel = tmp_path / "raiselens_kernel" / "scatter" / "kernel.py"
        source = kernel.read_text(encoding="utf-8")
        assert source.count(old) >= 1, f"the kernel no longer holds {old!r}"
        kernel.write_text(source.replace(old, new), encoding="utf-8")
        return tmp_path

    return copy
