"""The checked mode: what the scatter's inputs must hold, each violation with its index and value."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from raiselens_catalog import Catalog, How

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Inputs = tuple[list[int], list[int], list[int], int]

CASES: dict[str, tuple[Inputs, str | None]] = {
    "valid": (([1, 2, 3], [0, 2, 3], [4, 0], 5), None),
    "starts late": (([1, 2, 3], [1, 3], [0], 5), "offsets must start at 0, got 1"),
    "goes back": (
        ([1, 2, 3], [0, 3, 2, 3], [0, 1, 2], 5),
        "offsets must not decrease, got offsets[2]=2 after offsets[1]=3",
    ),
    "ends early": (([1, 2, 3], [0, 2], [1], 5), "offsets must end at the number of tokens 3, got 2"),
    "ends late": (([1, 2, 3], [0, 4], [1], 5), "offsets must end at the number of tokens 3, got 4"),
    "row past the pool": (
        ([1, 2, 3], [0, 2, 3], [1, 5], 5),
        "req_pool_indices must name rows of pool_out, got req_pool_indices[1]=5 with 5 rows",
    ),
    "negative row": (
        ([1, 2, 3], [0, 2, 3], [-1, 1], 5),
        "req_pool_indices must name rows of pool_out, got req_pool_indices[0]=-1 with 5 rows",
    ),
    "last row": (([1, 2, 3], [0, 2, 3], [1, 4], 5), None),
    "row named again": (
        ([1, 2, 3], [0, 1, 2, 3], [2, 1, 2], 5),
        "req_pool_indices must name no row twice, got req_pool_indices[2]=2 again",
    ),
    "padding shares a row": (([1, 2], [0, 0, 2, 2], [2, 2, -7], 5), None),
    "tokens at the bounds": (([2**31 - 1, -(2**31)], [0, 2], [2], 5), None),
    "token too large": (([1, 2**31], [0, 2], [2], 5), "flat_in must fit int32, got flat_in[1]=2147483648"),
    "token too small": (([-(2**31) - 1], [0, 1], [2], 5), "flat_in must fit int32, got flat_in[0]=-2147483649"),
}


def test_each_violation_names_index_and_value(interpreted: Callable[..., Any]):
    answers = interpreted("checks", stdin=[inputs for inputs, _ in CASES.values()])
    assert dict(zip(CASES, answers, strict=True)) == {name: expected for name, (_, expected) in CASES.items()}


def test_the_catalog_explains_each_message(tmp_path: Path):
    catalog = Catalog.open(data_dir=tmp_path)
    for message in filter(None, (message for _, message in CASES.values())):
        best = catalog.match("ValueError", f"kv-canary: scatter_req_token_ids {message}")[0]
        assert best.how is How.EXACT, message
        assert best.entry.record.file_path == "kernel/raiselens_kernel/scatter/checking.py", message


def drawn(rng: random.Random) -> Inputs:
    """Valid inputs with up to two numbers spoilt."""
    lengths = [rng.choice((0, 0, 1, 3, 40)) for _ in range(rng.randrange(1, 12))]
    offsets = [sum(lengths[:count]) for count in range(len(lengths) + 1)]
    flat_in = [rng.randrange(-(2**31), 2**31) for _ in range(offsets[-1])]
    rows = rng.sample(range(20), len(lengths))
    for _ in range(rng.randrange(3)):
        spoilt = rng.choice([values for values in (offsets, flat_in, rows) if values])
        spoilt[rng.randrange(len(spoilt))] += rng.choice((-1, 1, 7, 2**31))
    return flat_in, offsets, rows, 20


def expected(flat_in: list[int], offsets: list[int], rows: list[int], num_rows: int) -> str | None:
    """The same rules over plain lists."""
    if offsets[0] != 0:
        return f"offsets must start at 0, got {offsets[0]}"
    for at in range(1, len(offsets)):
        if offsets[at] < offsets[at - 1]:
            return (
                f"offsets must not decrease, got offsets[{at}]={offsets[at]} after offsets[{at - 1}]={offsets[at - 1]}"
            )
    if offsets[-1] != len(flat_in):
        return f"offsets must end at the number of tokens {len(flat_in)}, got {offsets[-1]}"
    filled = [at for at in range(len(rows)) if offsets[at + 1] > offsets[at]]
    for at in filled:
        if not 0 <= rows[at] < num_rows:
            return f"req_pool_indices must name rows of pool_out, got req_pool_indices[{at}]={rows[at]} with {num_rows} rows"
    for at in filled:
        if rows[at] in [rows[other] for other in filled if other < at]:
            return f"req_pool_indices must name no row twice, got req_pool_indices[{at}]={rows[at]} again"
    for at, token in enumerate(flat_in):
        if not -(2**31) <= token < 2**31:
            return f"flat_in must fit int32, got flat_in[{at}]={token}"
    return None


def test_spoilt_inputs_are_judged_as_the_plain_rules_judge_them(interpreted: Callable[..., Any]):
    seed = random.SystemRandom().getrandbits(32)
    rng = random.Random(seed)  # noqa: S311 -- inputs of a test, not a secret
    inputs = [drawn(rng) for _ in range(150)]
    wanted = [expected(*one) for one in inputs]
    assert any(wanted)
    assert not all(wanted)
    assert interpreted("checks", stdin=inputs) == wanted, f"seed {seed}"
