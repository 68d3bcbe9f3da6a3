"""The seed family on real input: sglang's own launcher, from the wheel's sources, foreseen, repaired, run, explained."""

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
    from collections.abc import Sequence

RECORD = "77c238349aca21f2"
RULE = "kv-canary-scatter-req-token-ids-pool-out-must-be-int32"
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "scatter_pool.py"
BARE = Path(__file__).with_name("bare_sglang.py")


def raiselens(*arguments: str, given: str | None = None) -> tuple[int, dict[str, Any]]:
    command = [sys.executable, "-m", "raiselens_server.cli.main", *arguments, "--format", "json"]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    assert done.returncode in {0, 1}, done.stderr
    return done.returncode, json.loads(done.stdout)


def run_for_real(script: Path, sources: Path) -> subprocess.CompletedProcess[str]:
    """Run a script on torch's CPU build, Triton interpreted, with sglang's modules from `sources`."""
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, str(BARE), str(sources), str(script)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return Path(shutil.copy(EXAMPLE, tmp_path))


def frames_of(shown: Sequence[dict[str, Any]]) -> list[tuple[str, int, str]]:
    return [(Path(frame["file"]).name, frame["line"], frame["function"]) for frame in shown]


@pytest.mark.sglang
def test_foreseen_run_and_explained_are_one_rule(script: Path, sglang_root: Path) -> None:
    code, checked = raiselens("check", str(script), "--extra-path", str(sglang_root))
    (finding,) = checked["findings"]
    assert code == 1

    ran = run_for_real(script, sglang_root)
    assert ran.returncode == 1, ran.stderr
    assert ran.stderr.endswith(f"{finding['class']}: {finding['message']}\n"), ran.stderr
    code, explained = raiselens("explain", "-", given=f"loading the model …\n{ran.stderr}")
    assert (code, explained["primary"]) == (1, 0)
    (error,) = explained["errors"]

    # The same class, message, record; and the frames that were foreseen are those that the run printed, file by file
    # and line by line, below the call of `main` at the script's own end.
    assert (error["class"], error["message"]) == (finding["class"], finding["message"])
    assert (finding["record_id"], finding["rule"]) == (RECORD, RULE)
    assert (error["record"]["id"], error["record"]["slug"], error["record"]["how"]) == (RECORD, RULE, "exact")
    printed = frames_of(error["frames"])
    assert printed[-len(finding["frames"]) :] == frames_of(finding["frames"])
    guard = finding["frames"][-1]
    assert guard["file"] == str(sglang_root / "sglang/kernels/ops/kv_canary/scatter_req_token_ids.py")
    line = Path(guard["file"]).read_text(encoding="utf-8").splitlines()[guard["line"] - 1]
    assert line.strip() == "raise TypeError("
    assert finding["condition"] == "pool_out.dtype != torch.int32"
    # The log's error is repaired like the finding: the run proved it, foreseeing knows where.
    assert [repair["title"] for repair in error["repairs"]] == [repair["title"] for repair in finding["repairs"]]


@pytest.mark.sglang
def test_the_repair_makes_it_clean(script: Path, sglang_root: Path) -> None:
    before = script.read_text(encoding="utf-8")
    code, checked = raiselens("check", str(script), "--extra-path", str(sglang_root), "--fix")
    assert (code, checked["findings"], checked["fixed"]) == (0, [], 1)
    assert script.read_text(encoding="utf-8") == before.replace("dtype=torch.int64", "dtype=torch.int32")
    ran = run_for_real(script, sglang_root)
    # The guards are passed; what stops a machine without a GPU now is the kernel's own launch, if anything.
    assert "must be int32" not in ran.stderr


@pytest.mark.sglang
def test_nothing_is_found_in_the_library_s_own_code(sglang_root: Path) -> None:
    folders = [str(sglang_root / "sglang" / part / "kv_canary") for part in ("srt", "kernels/ops")]
    code, checked = raiselens("check", *folders, "--extra-path", str(sglang_root))
    assert (code, checked["findings"]) == (0, [])
    assert checked["files"] > 40


@pytest.mark.sglang
def test_the_bundled_stub_foresees_what_the_library_would_say(script: Path, sglang_root: Path) -> None:
    _, installed = raiselens("check", str(script), "--extra-path", str(sglang_root))
    _, stubbed = raiselens("check", str(script))
    for checked in (installed, stubbed):
        for finding in checked["findings"]:
            del finding["frames"]
    assert stubbed["findings"] == installed["findings"]
