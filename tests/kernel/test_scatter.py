"""The bundled scatter against its reference, in Triton's CPU interpreter; its compilation for GPUs; broken ones."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import torch
from tests.kernel.interpreted import named

from raiselens_kernel.scatter.cases import ScatterInputs, all_cases, compare, draw, drawn
from raiselens_kernel.scatter.launch import all_settings, launch_settings
from raiselens_kernel.scatter.reference import scatter_req_token_ids_reference
from raiselens_kernel.seeds import fresh_seed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Interpreted = Callable[..., Any]
    Mutate = Callable[[str, str], Path]

CPU = torch.device("cpu")


def test_kernel_equals_reference_on_every_element_of_every_case(interpreted: Interpreted):
    seed = fresh_seed()
    results = interpreted("cases", str(seed))
    assert results == {
        f"{case.name}, {named(settings)}": None for settings in all_settings() for case in all_cases(large=False)
    }, f"seed {seed}"


def test_offsets_and_rows_that_mean_nothing_write_nothing_outside_the_pool(interpreted: Interpreted):
    seed = fresh_seed()
    changed = interpreted("wild", str(seed))
    assert changed == {named(settings): 0 for settings in all_settings()}, f"seed {seed}"


@pytest.mark.parametrize(
    ("num_tokens", "num_requests", "expected"),
    [
        (25, 1, "64 tokens a program"),
        (65_536, 256, "64 tokens a program"),
        (65_537, 256, "256 tokens a program"),
        ((1 << 20) - 1, 1, "256 tokens a program"),
        (1 << 20, 1, "512 tokens a program"),
        (16_000_000, 1_000_000, "512 tokens a program"),
        (496_000, 30_000, "128 tokens a program"),
        (4_000_000, 1_000_000, "128 tokens a program"),
        (256, 256, "256 tokens a program, a lane for each request"),
        (1_024, 256, "256 tokens a program, a lane for each request"),
        (1_025, 256, "64 tokens a program"),
        (1_000_000, 1_000_000, "64 tokens a program, a lane for each request"),
        (131_072, 32_768, "64 tokens a program, a lane for each request"),
        (131_073, 32_769, "128 tokens a program"),
    ],
)
def test_settings_follow_from_how_many_tokens_and_requests_there_are(num_tokens: int, num_requests: int, expected: str):
    chosen = launch_settings(num_tokens, num_requests)
    assert named(chosen) == expected
    assert chosen in all_settings()


def by_hand(inputs: ScatterInputs) -> torch.Tensor:
    """The formula read out loud, one token at a time."""
    pool = inputs.pool_out.clone()
    offsets = inputs.offsets.tolist()
    for request, row in enumerate(inputs.req_pool_indices.tolist()):
        for column, token in enumerate(range(offsets[request], offsets[request + 1])):
            if column < pool.shape[1]:
                pool[row, column] = int(inputs.flat_in[token])
    return pool


@pytest.mark.parametrize("name", ["tiny", "empty-first-and-last", "clipped-to-one", "signs", "transposed-pool"])
def test_reference_equals_the_formula(name: str):
    case = next(case for case in all_cases(large=False) if case.name == name)
    inputs = case.make(draw(fresh_seed(), name, CPU))
    expected = by_hand(inputs)
    scatter_req_token_ids_reference(**inputs.arguments())
    assert compare(inputs.pool_out, expected) is None


def test_a_seed_repeats_a_case_and_another_does_not():
    case = next(case for case in all_cases(large=False) if case.name == "irregular")
    first, again, other = (case.make(draw(seed, case.name, CPU)) for seed in (7, 7, 8))
    assert all(torch.equal(first.arguments()[name], again.arguments()[name]) for name in first.arguments())
    assert not torch.equal(first.flat_in[:20], other.flat_in[:20])


def test_poison_differs_from_every_token():
    for case, inputs in drawn(seed=fresh_seed(), device=CPU, large=False):
        assert (inputs.pool_out < 0).all(), case.name
        if case.name != "signs":
            assert (inputs.flat_in >= 0).all(), case.name


def test_compare_names_the_first_wrong_element():
    expected = torch.arange(12, dtype=torch.int32).view(3, 4)
    got = expected.clone()
    got[1, 2], got[2, 0] = -5, -6
    assert str(compare(got, expected)) == "2 wrong, first at pool[1, 2]: -5, expected 6"
    assert compare(expected, expected) is None


# None of them writes outside the pool: that would end the process instead of giving a wrong answer.
MUTANTS = {
    "owner of a request's first token": ("(window <= token)", "(window < token)"),
    "owner searched beyond the window": ("(value <= token)", "(value < token)"),
    "rows clipped one column early": ("begin + width)", "begin + width - 1)"),
    "rows counted from the end": ("base = row * row_step", "base = (num_rows - 1 - row) * row_step"),
    "a request's last token left out": ("(lane < high)", "(lane + 1 < high)"),
    "owner within a tile of many requests": ("first.to(tl.int32) <= spot", "first.to(tl.int32) < spot"),
    "column stride forgotten": (
        "row_step, col_step = pool\n    lane",
        "row_step, _ = pool\n    col_step = 1\n    lane",
    ),
    "token stride forgotten": ("2 * lane * flat_stride", "2 * lane"),
    "fourth request of a tile in the third's row": ("row3 = _row(batch, owner + 3)", "row3 = _row(batch, owner + 2)"),
    "fourth request of all in the third's row": ("row3 = _row(batch, request + 3)", "row3 = _row(batch, request + 2)"),
    "row kept over requests without tokens": ("                row0 = _row(batch, owner)\n", ""),
    "a lane's second token taken from the first's place": ("(near + step)", "near"),
    "more requests in a tile than lanes": ("tl.where(is_more, TILE, length)", "length"),
    "a lane for each request begun a request late": ("request = owner + tl.arange", "request = owner + 1 + tl.arange"),
    "tokens written before the jump, not after it": ("(jumps > 0) & (begin1 >= end)", "jumps > 0"),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_kernel_broken_on_purpose_is_caught(mutant: str, mutate: Mutate, interpreted: Interpreted):
    seed = fresh_seed()
    assert interpreted("first-wrong", str(seed), root=mutate(*MUTANTS[mutant])) is not None, f"seed {seed}"


def compiled(root: Path) -> dict[str, list[str]]:
    process = subprocess.run(
        [sys.executable, "-m", "raiselens_kernel.stages", "compile"],
        input="{}",
        capture_output=True,
        text=True,
        cwd=root,
        check=True,
    )
    return json.loads(process.stdout)


def test_kernel_compiles_for_gpus_that_are_not_here(kernel_root: Path):
    assert compiled(kernel_root) == {"compiled": ["sm_80", "sm_90", "sm_100"], "errors": []}


def test_what_the_interpreter_runs_and_the_compiler_refuses_is_named(mutate: Mutate, interpreted: Interpreted):
    # A variable whose type differs between branches: Python does not mind.
    root = mutate("here = first\n", "here = tl.full((), 0, tl.int32) + first.to(tl.int32)\n")
    assert set(interpreted("some", str(fresh_seed()), root=root).values()) == {None}
    answer = compiled(root)
    assert answer["compiled"] == []
    assert all(error.startswith("does not compile for sm_") for error in answer["errors"])
