"""From a finding in real source to the target that is verified, and through the run that proves it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from raiselens_catalog import Catalog
from raiselens_server.diagnose import check
from raiselens_server.foresee import Environment, Project
from raiselens_server.verify import (
    Argument,
    ConstantFact,
    SequenceFact,
    TensorFact,
    UnknownFact,
    VerifyReport,
    VerifyRequest,
    run_verify,
    target_of,
)

if TYPE_CHECKING:
    from pathlib import Path

    from raiselens_server.verify import FindingTarget

LIBRARY = """
import torch

def narrow(x, n, *rest, scale=1.0, where=None, **more):
    if x.dtype != torch.int32:
        raise TypeError(f"x must be int32, got {x.dtype}")
    return x * n

def first(x, /, *rest):
    if rest[0] != "row":
        raise ValueError(f"unknown axis {rest[0]!r}")
    return x
"""


def target(folder: Path, source: str) -> FindingTarget:
    """The target of the only finding in a program that uses the library."""
    (folder / "lib.py").write_text(LIBRARY, encoding="utf-8")
    main = folder / "main.py"
    main.write_text(f"import torch\nfrom lib import first, narrow\n\n{source}", encoding="utf-8")
    project = Project(Environment((str(folder),)), [str(main)])
    (diagnosis,) = check(project, Catalog([]), str(main)).diagnoses
    return target_of(project, diagnosis)


def test_facts_stand_under_the_parameters_of_the_function_called(tmp_path: Path):
    found = target(
        tmp_path,
        "def main(unknown):\n    x = torch.zeros(5, 4, unknown, dtype=torch.int64, device='cuda')\n    narrow(x, 3)\n",
    )
    assert found.callee == "lib.narrow"
    assert found.predicted.message == "x must be int32, got torch.int64"
    x, *others = found.arguments
    assert x == Argument("x", TensorFact("int64", (5, 4, None), "cuda", contiguous=True))
    assert others == [
        Argument("n", ConstantFact(3)),
        Argument("scale", ConstantFact(1.0)),
        Argument("where", ConstantFact(None)),
    ]


def test_the_repair_is_applied_to_the_facts(tmp_path: Path):
    found = target(tmp_path, "x = torch.zeros(2, 4, dtype=torch.int64)\nnarrow(x, 3)\n")
    assert found.repaired is not None
    fact = found.repaired[0].fact
    assert isinstance(fact, TensorFact)
    assert fact.dtype == "int32"
    assert found.repaired[1:] == found.arguments[1:]


def test_further_positional_arguments_keep_their_places(tmp_path: Path):
    found = target(tmp_path, "def main(x):\n    first(x, 'column', 2)\n")
    assert found.arguments == (
        Argument(None, UnknownFact()),
        Argument(None, ConstantFact("column")),
        Argument(None, ConstantFact(2)),
    )
    assert not any(isinstance(argument.fact, SequenceFact) for argument in found.arguments)


@pytest.mark.skipif(sys.platform != "linux", reason="triton is published for Linux alone")
def test_what_was_foreseen_is_what_happens(tmp_path: Path):
    found = target(tmp_path, "x = torch.zeros(2, 4, dtype=torch.int64)\nnarrow(x, 3)\n")
    report = run_verify(VerifyRequest(found, extra_paths=(str(tmp_path),)), interpreter=sys.executable)
    assert isinstance(report, VerifyReport), report
    assert report.exit_code == 0
    assert report.before is not None
    assert report.before.as_predicted
    assert report.after is not None
    assert report.after.ok
