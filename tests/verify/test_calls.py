"""Calls as programs, as text: what is cut out of the user's file, and what is made up. README.md describes the form."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.foresee.case_file import all_cases
from tests.foresee.shared import shared_project
from tests.verify.programs import programs, target_in, written

from raiselens_server.verify import VerifyRequest
from raiselens_server.verify.wire import encode_request

if TYPE_CHECKING:
    from tests.foresee.case_file import Case

CASES = all_cases(Path(__file__).resolve().parents[1] / "cases" / "verify")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.slug)
def test_programs(case: Case, tmp_path: Path) -> None:
    case.write(tmp_path)
    target = target_in(shared_project(), tmp_path)
    assert "\n\n".join(programs(target)) == "\n\n".join(written(case))


@pytest.mark.skipif(sys.platform != "linux", reason="triton is published for Linux alone")
def test_two_devices_where_there_is_one_are_not_run(tmp_path: Path) -> None:
    from tests.verify.apart import call_stage

    (tmp_path / "main.py").write_text(
        "import torch\n\n\ndef same(x, y):\n    if x.device != y.device:\n"
        "        raise ValueError(f'x on {x.device}, y on {y.device}')\n\n\n"
        "x = torch.zeros(4, device='cuda')\ny = torch.zeros(4, device='cpu')\nsame(x, y)\n",
        encoding="utf-8",
    )
    target = target_in(shared_project(), tmp_path)
    answer = call_stage(encode_request(VerifyRequest(target), time_limit=60))
    assert answer == {"notes": ["main.same was not run: it needs a GPU, and there is none (on the CPU: no error)"]}


@pytest.mark.skipif(sys.platform != "linux", reason="triton is published for Linux alone")
@pytest.mark.parametrize("case", [case for case in CASES if "unrun" not in case.words], ids=lambda case: case.slug)
def test_before_raises_and_after_runs(case: Case, tmp_path: Path) -> None:
    from tests.verify.apart import call_stage

    case.write(tmp_path)
    target = target_in(shared_project(), tmp_path)
    if target.call is None:
        return
    answer = call_stage(encode_request(VerifyRequest(target), time_limit=60))
    assert answer["before"]["as_predicted"], answer
    assert ("after" in answer) is (target.call.after is not None), answer
    assert answer.get("after", {"ok": True})["ok"], answer
