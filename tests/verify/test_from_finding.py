"""From a finding in real source to the target that is verified, and through the run that proves it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from raiselens_catalog import Catalog
from raiselens_server.diagnose import check
from raiselens_server.foresee import Environment, Project
from raiselens_server.verify import FindingTarget, VerifyReport, VerifyRequest, run_verify, target_of

if TYPE_CHECKING:
    from pathlib import Path

LIBRARY = """
import torch

def narrow(x, n):
    if x.dtype != torch.int32:
        raise TypeError(f"x must be int32, got {x.dtype}")
    return x * n
"""


def target(folder: Path, source: str) -> FindingTarget:
    """The target of the only finding in a program that uses the library."""
    (folder / "lib.py").write_text(LIBRARY, encoding="utf-8")
    main = folder / "main.py"
    main.write_text(f"import torch\nfrom lib import narrow\n\n{source}", encoding="utf-8")
    project = Project(Environment((str(folder),)), [str(main)])
    (diagnosis,) = check(project, Catalog([]), str(main)).diagnoses
    return target_of(project, diagnosis)


def test_a_target_says_what_is_predicted_and_which_repair_is_run(tmp_path: Path):
    found = target(tmp_path, "x = torch.zeros(2, 4, dtype=torch.int64)\nnarrow(x, 3)\n")
    assert found.callee == "lib.narrow"
    assert found.predicted.message == "x must be int32, got torch.int64"
    assert found.repair == "Allocate `x` as torch.int32"
    assert found.notes == ()
    assert found.paths == (str(tmp_path),)


def test_without_a_finding_behind_it_nothing_is_known_of_the_call(tmp_path: Path):
    project = Project(Environment((str(tmp_path),)))
    found = target(tmp_path, "x = torch.zeros(2, 4, dtype=torch.int64)\nnarrow(x, 3)\n")
    diagnosis = check(project, Catalog([]), str(tmp_path / "main.py")).diagnoses[0]
    assert target_of(Project(Environment(())), diagnosis) == FindingTarget(
        "", found.predicted, notes=("the call was not foreseen, so nothing is known of it",)
    )


@pytest.mark.skipif(sys.platform != "linux", reason="triton is published for Linux alone")
def test_what_was_foreseen_is_what_happens(tmp_path: Path):
    found = target(tmp_path, "x = torch.zeros(2, 4, dtype=torch.int64)\nnarrow(x, 3)\n")
    report = run_verify(VerifyRequest(found), interpreter=sys.executable)
    assert isinstance(report, VerifyReport), report
    assert report.exit_code == 0
    assert report.before is not None
    assert report.before.as_predicted
    assert report.after is not None
    assert (report.after.ok, report.after.cases, report.scatter) == (True, 1, None)
    assert report.repair == "Allocate `x` as torch.int32"
    assert report.programs["after"].endswith("x = torch.zeros(2, 4, dtype=torch.int32)\nnarrow(x, 3)\n")


@pytest.mark.skipif(sys.platform != "linux", reason="triton is published for Linux alone")
def test_show_prints_the_programs_as_they_can_be_pasted(tmp_path: Path):
    target(tmp_path, "x = torch.zeros(2, 4, dtype=torch.int64)\nnarrow(x)\n")
    command = [sys.executable, "-m", "raiselens_server.cli.main", "verify", f"{tmp_path / 'main.py'}:5", "--show"]
    command += ["--device", "cpu", "--python", sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "The error is verified: run in the CPU interpreter; not run on a GPU\n" in done.stdout
    assert "  note: no repair to verify\n" in done.stdout
    program = done.stdout.partition("# before\n")[2]
    assert program.endswith("x = torch.zeros(2, 4, dtype=torch.int64)\nnarrow(x)\n\n")
    (tmp_path / "pasted.py").write_text(program, encoding="utf-8")
    pasted = subprocess.run([sys.executable, str(tmp_path / "pasted.py")], capture_output=True, text=True, check=False)
    assert pasted.stderr.endswith("TypeError: narrow() missing 1 required positional argument: 'n'\n")
