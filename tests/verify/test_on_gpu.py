"""Findings of functions of sglang that need no model, verified on a real GPU, as `tests/cases/gpu` has them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from raiselens_server.verify import (
    Call,
    FindingTarget,
    Predicted,
    VerifyReport,
    VerifyRequest,
    run_verify,
)

CASES = Path(__file__).resolve().parents[1] / "cases" / "gpu"

FORESEEN = {
    "act_quant_transposed.py": (7, "AssertionError", "Input tensor must be contiguous"),
    "scatter_int64_pool.py": (
        10,
        "TypeError",
        "kv-canary: scatter_req_token_ids pool_out must be int32, got torch.int64",
    ),
    "slot_mapping_float32.py": (8, "AssertionError", ""),
    "zero_pages_int8_pool.py": (10, "AssertionError", "expected uint8 pool, got torch.int8"),
}


def has_gpu() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


needs_gpu = pytest.mark.skipif(not has_gpu(), reason="no CUDA device here")


def verified(name: str, sglang_root: Path, *words: str) -> tuple[int, dict[str, object]]:
    place = f"{CASES / name}:{FORESEEN[name][0]}"
    options = ["--python", sys.executable, "--extra-path", str(sglang_root), "--format", "json"]
    process = subprocess.run(
        [sys.executable, "-m", "raiselens_server.cli.main", "verify", place, *options, *words],
        capture_output=True,
        text=True,
        check=False,
    )
    report = json.loads(process.stdout)
    assert isinstance(report, dict)
    return process.returncode, report


def test_every_case_is_listed():
    assert sorted(path.name for path in CASES.glob("*.py")) == sorted(FORESEEN)


@needs_gpu
@pytest.mark.sglang
@pytest.mark.parametrize("name", FORESEEN)
def test_it_raises_as_foreseen_and_runs_once_repaired(name: str, sglang_root: Path):
    code, report = verified(name, sglang_root, "--device", "cuda:0")
    _, class_name, message = FORESEEN[name]
    assert report["before"] == {"class": class_name, "message": message, "as_predicted": True}, report
    after = report["after"]
    assert isinstance(after, dict)
    assert (code, after["ok"], after["mismatches"]) == (0, True, 0), report
    assert report["device"]["kind"] == "cuda"  # type: ignore[index]
    assert ("scatter" in name) == (report["scatter"] is not None)


LIBRARY = """
import torch

def refuse(x):
    if x.dtype != torch.float32:
        raise TypeError(f"x must be float32, got {x.dtype}")

def fault(x):
    refuse(x)
    x[torch.full((1,), 1 << 30, device=x.device)] = 1

def greedy(x):
    refuse(x)
    torch.empty(1 << 50, dtype=torch.int8, device=x.device)
"""


@needs_gpu
@pytest.mark.parametrize(
    ("function", "raised"),
    [("fault", "CUDA error"), ("greedy", "out of memory")],
)
def test_a_repaired_call_that_fails_on_the_gpu_is_no_success(tmp_path: Path, function: str, raised: str):
    (tmp_path / "lib.py").write_text(LIBRARY, encoding="utf-8")
    call = Call(
        ("import torch", f"from lib import {function}"),
        (),
        f"x = torch.zeros(4, dtype=torch.int64, device='cuda')\n{function}(x)\n",
        f"x = torch.zeros(4, dtype=torch.float32, device='cuda')\n{function}(x)\n",
    )
    predicted = Predicted("TypeError", "x must be float32, got torch.int64")
    request = VerifyRequest(
        FindingTarget(f"lib.{function}", predicted, call, "Allocate it as float32"),
        devices=("cuda:0",),
        extra_paths=(str(tmp_path),),
    )
    report = run_verify(request, interpreter=sys.executable)
    assert isinstance(report, VerifyReport), report
    assert report.before is not None
    assert report.before.as_predicted
    assert report.after is None
    assert [
        note for note in report.notes if note.startswith("the repaired call was not shown to run") and raised in note
    ]


@needs_gpu
@pytest.mark.sglang
def test_a_second_device_that_is_not_here_is_refused(sglang_root: Path):
    code, report = verified("scatter_int64_pool.py", sglang_root, "--device", "cuda:0,cuda:99")
    assert code == 2
    assert "cuda:99 is not here: torch sees" in json.dumps(report)
