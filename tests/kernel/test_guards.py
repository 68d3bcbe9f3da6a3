"""What the scatter's launcher refuses, with the words of sglang's, and what it takes that looks alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

from raiselens_catalog import Catalog, How
from raiselens_kernel.scatter.guards import GUARDS, Given, arguments_raising, plan_raising
from raiselens_kernel.scatter.launch import SGLANG_BATCH_BLOCK, launch_scatter_req_token_ids_kernel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CPU = torch.device("cpu")
NAME = "kv-canary: scatter_req_token_ids"


def valid(**changed: torch.Tensor) -> dict[str, Any]:
    """A call that every guard lets pass, with arguments exchanged."""
    plain = {
        "flat_in": torch.zeros(5, dtype=torch.int64),
        "offsets": torch.tensor([0, 2, 2, 5]),
        "req_pool_indices": torch.tensor([4, 0, 2]),
        "pool_out": torch.zeros(5, 16, dtype=torch.int32),
    }
    return plain | changed


def refused(arguments: dict[str, Any], **options: int) -> str:
    with pytest.raises((TypeError, ValueError)) as caught:
        launch_scatter_req_token_ids_kernel(**arguments, **options)
    return f"{type(caught.value).__name__}: {caught.value}"


REFUSALS = [
    ({"flat_in": torch.zeros(1, 5, dtype=torch.int64)}, f"ValueError: {NAME} flat_in must be 1-D, got shape (1, 5)"),
    ({"offsets": torch.zeros(4, 1, dtype=torch.int64)}, f"ValueError: {NAME} offsets must be 1-D, got shape (4, 1)"),
    ({"req_pool_indices": torch.tensor(3)}, f"ValueError: {NAME} req_pool_indices must be 1-D, got shape ()"),
    ({"pool_out": torch.zeros(80, dtype=torch.int32)}, f"ValueError: {NAME} pool_out must be 2-D, got shape (80,)"),
    ({"flat_in": torch.zeros(5)}, f"TypeError: {NAME} flat_in must be int64, got torch.float32"),
    ({"offsets": torch.tensor([0, 2, 2, 5]).int()}, f"TypeError: {NAME} offsets must be int64, got torch.int32"),
    (
        {"req_pool_indices": torch.tensor([4, 0, 2]).to(torch.uint8)},
        f"TypeError: {NAME} req_pool_indices must be int64, got torch.uint8",
    ),
    (
        {"pool_out": torch.zeros(5, 16, dtype=torch.int64)},
        f"TypeError: {NAME} pool_out must be int32, got torch.int64",
    ),
    ({"offsets": torch.tensor([0, 2, 5])}, f"ValueError: {NAME} offsets length 3 != bs+1 (4)"),
    (
        {"offsets": torch.zeros(4, dtype=torch.int64, device="meta")},
        f"ValueError: {NAME} offsets must be on flat_in's device cpu, got meta",
    ),
    (
        {"pool_out": torch.zeros(5, 16, dtype=torch.int32, device="meta")},
        f"ValueError: {NAME} pool_out must be on flat_in's device cpu, got meta",
    ),
    (
        {"pool_out": torch.zeros(1, 16, dtype=torch.int32).expand(5, 16)},
        f"ValueError: {NAME} pool_out must not share memory between its elements, got shape (5, 16) with strides (0, 1)",
    ),
    (
        {"pool_out": torch.zeros(40, dtype=torch.int32).as_strided((5, 16), (4, 1))},
        f"ValueError: {NAME} pool_out must not share memory between its elements, got shape (5, 16) with strides (4, 1)",
    ),
]


@pytest.mark.parametrize(("changed", "expected"), REFUSALS, ids=[expected[45:75] for _, expected in REFUSALS])
def test_refusal(changed: dict[str, torch.Tensor], expected: str):
    assert refused(valid(**changed)) == expected


def test_the_catalog_explains_each_refusal(tmp_path: Path):
    catalog = Catalog.open(data_dir=tmp_path)
    for _, expected in REFUSALS:
        class_name, _, message = expected.partition(": ")
        assert catalog.match(class_name, message)[0].how is How.EXACT, expected


def test_batch_block_is_refused_only_where_it_is_switched_on():
    arguments = {
        "flat_in": torch.zeros(0, dtype=torch.int64),
        "offsets": torch.zeros(SGLANG_BATCH_BLOCK + 1, dtype=torch.int64),
        "req_pool_indices": torch.arange(SGLANG_BATCH_BLOCK),
        "pool_out": torch.zeros(SGLANG_BATCH_BLOCK, 4, dtype=torch.int32),
    }
    assert refused(arguments, batch_block=SGLANG_BATCH_BLOCK) == (
        f"ValueError: {NAME} bs+1=513 exceeds BATCH_BLOCK=512; bump _SCATTER_BATCH_BLOCK if real workloads need this"
    )
    launch_scatter_req_token_ids_kernel(**arguments)
    launch_scatter_req_token_ids_kernel(**arguments, batch_block=SGLANG_BATCH_BLOCK + 1)


def test_ranks_are_checked_before_dtypes_and_both_before_lengths():
    wrong = valid(flat_in=torch.zeros(5), offsets=torch.zeros(2, dtype=torch.int64), pool_out=torch.zeros(5))
    assert refused(wrong) == f"ValueError: {NAME} pool_out must be 2-D, got shape (5,)"
    wrong = valid(offsets=torch.zeros(2, dtype=torch.int64), pool_out=torch.zeros(5, 16))
    assert refused(wrong) == f"TypeError: {NAME} pool_out must be int32, got torch.float32"


NEAR_MISSES = {
    "no tokens": ({"flat_in": [0], "offsets": [1], "req_pool_indices": [0], "pool_out": [3, 4]}, None),
    "no rows": ({"flat_in": [2], "offsets": [2], "req_pool_indices": [1], "pool_out": [0, 4]}, None),
    "one of everything": ({"flat_in": [1], "offsets": [2], "req_pool_indices": [1], "pool_out": [1, 1]}, 2),
    "a full batch block": ({"flat_in": [9], "offsets": [512], "req_pool_indices": [511], "pool_out": [511, 2]}, 512),
    "beyond the batch block": (
        {"flat_in": [9], "offsets": [514], "req_pool_indices": [513], "pool_out": [513, 2]},
        None,
    ),
}


def test_near_misses_run(interpreted: Callable[..., Any]):
    assert interpreted("calls", stdin=list(NEAR_MISSES.values())) == [None] * len(NEAR_MISSES)


@pytest.mark.parametrize("guard", GUARDS, ids=[guard.name for guard in GUARDS])
def test_a_message_leads_back_to_a_call_that_raises_it(guard: Any):
    arguments = arguments_raising(guard.message, {}, CPU)
    assert refused(arguments, batch_block=SGLANG_BATCH_BLOCK) == f"{guard.class_name}: {guard.message}"


def test_facts_are_laid_over_what_the_message_says():
    plan = plan_raising(
        f"{NAME} pool_out must be int32, got {{pool_out.dtype}}", {"pool_out": Given("float16", (9, None))}
    )
    assert plan["pool_out"] == ("float16", (9, 16))
    # What no message speaks of stays small: nobody waits for a pool of 64 GiB to be made.
    plan = plan_raising(
        f"{NAME} pool_out must be int32, got torch.int64", {"pool_out": Given("int64", (1 << 20, 1 << 14))}
    )
    assert plan["pool_out"] == ("int64", (4096, 4096))
