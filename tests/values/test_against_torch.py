"""The rules never contradict torch, on random programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.values.programs import run_programs

if TYPE_CHECKING:
    from tests.values.oracle import Tally


def _report(tally: Tally) -> str:
    return "\n".join(tally.wrong[:20]) + f"\n{len(tally.wrong)} contradictions in {tally.runs} operations"


@pytest.mark.parametrize("first_seed", [0, 1000])
def test_rules_that_know_everything_agree_with_torch(first_seed: int) -> None:
    tally = run_programs(60, 40, first_seed=first_seed)
    assert not tally.wrong, _report(tally)
    assert sum(tally.ruled.values()) > tally.runs // 2
    assert sum(tally.foreseen.values()) > sum(tally.raised.values()) // 2


@pytest.mark.parametrize("first_seed", [0, 1000])
def test_rules_that_know_less_agree_with_torch(first_seed: int) -> None:
    tally = run_programs(60, 40, first_seed=first_seed, vague=True)
    assert not tally.wrong, _report(tally)
