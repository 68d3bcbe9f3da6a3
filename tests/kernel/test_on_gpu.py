"""The scatter on a real GPU: every case under every setting, and what only a device can show."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pytest
import torch

from raiselens_kernel.scatter.cases import ScatterInputs, check, draw, drawn, from_lengths
from raiselens_kernel.scatter.launch import all_settings, launch_scatter_req_token_ids_kernel
from raiselens_kernel.seeds import fresh_seed

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")


@pytest.fixture
def inputs() -> Iterator[ScatterInputs]:
    """64 requests of 0 to 500 tokens."""
    seed = fresh_seed()
    source = draw(seed, "on-gpu", torch.device("cuda"))
    yield from_lengths(source, source.integers(0, 501, 64))
    torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("settings", all_settings(), ids=str)
def test_every_case_equals_the_reference(settings: object):
    seed = fresh_seed()
    launch = functools.partial(launch_scatter_req_token_ids_kernel, settings=settings)
    for case, drawn_inputs in drawn(seed=seed, device=torch.device("cuda"), large=True):
        assert check(drawn_inputs, launch) is None, f"{case.name}, seed {seed}"
        torch.cuda.empty_cache()


def test_a_call_is_one_launch_without_synchronisation_or_allocation(inputs: ScatterInputs):
    launch_scatter_req_token_ids_kernel(**inputs.arguments())
    torch.cuda.synchronize()
    before = torch.cuda.memory_stats()["allocation.all.allocated"]
    torch.cuda.set_sync_debug_mode("error")
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        launch_scatter_req_token_ids_kernel(**inputs.arguments())
        torch.cuda.set_sync_debug_mode("default")
        torch.cuda.synchronize()
    names = [event.name for event in profile.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    assert names == ["scatter_req_token_ids_kernel"]
    assert torch.cuda.memory_stats()["allocation.all.allocated"] == before


@pytest.mark.parametrize("captured", [False, True], ids=["eager", "in a graph"])
def test_launches_see_what_came_before_and_are_waited_for(inputs: ScatterInputs, *, captured: bool):
    """Programs may be placed while the launch before still runs, so they must wait for what it writes."""
    base, rounds = inputs.flat_in.clone() & 0xFFFF, torch.zeros((), dtype=torch.int64, device="cuda")
    again, wrong = inputs.pool_out.clone(), torch.zeros((), dtype=torch.int64, device="cuda")
    owner = torch.repeat_interleave(torch.arange(64, device="cuda"), inputs.offsets[1:] - inputs.offsets[:-1])
    column = torch.arange(base.shape[0], device="cuda") - inputs.offsets[owner]
    row = inputs.req_pool_indices[owner]

    def step() -> None:
        rounds.add_(1)
        torch.add(base, rounds, out=inputs.flat_in)
        inputs.pool_out.fill_(-1)
        launch_scatter_req_token_ids_kernel(**inputs.arguments())
        launch_scatter_req_token_ids_kernel(**{**inputs.arguments(), "pool_out": again})
        wrong.add_((inputs.pool_out[row, column] != inputs.flat_in).sum())
        wrong.add_((again[row, column] != inputs.flat_in).sum())

    step()
    torch.cuda.synchronize()
    if captured:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(10):
                step()
        run = graph.replay
    else:
        run = step
    for _ in range(200):
        run()
    assert (int(wrong), int(rounds)) == (0, 1 + 200 * (10 if captured else 1))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"offsets": [1, 4, 10]}, "offsets must start at 0, got 1"),
        ({"offsets": [0, 7, 4]}, "offsets must not decrease, got offsets[2]=4 after offsets[1]=7"),
        ({"offsets": [0, 4, 9]}, "offsets must end at the number of tokens 10, got 9"),
        ({"req_pool_indices": [2, 8]}, "req_pool_indices must name rows of pool_out, got req_pool_indices[1]=8 with 8"),
        ({"req_pool_indices": [5, 5]}, "req_pool_indices must name no row twice, got req_pool_indices[1]=5 again"),
        ({"flat_in": [0] * 9 + [1 << 31]}, "flat_in must fit int32, got flat_in[9]=2147483648"),
    ],
    ids=["start", "order", "end", "row outside", "row twice", "wide token"],
)
def test_checked_refuses_inputs_that_mean_nothing(changed: dict[str, list[int]], message: str):
    plain = {"flat_in": list(range(10)), "offsets": [0, 4, 10], "req_pool_indices": [2, 5]}
    given = {name: torch.tensor(values, device="cuda") for name, values in {**plain, **changed}.items()}
    pool = torch.zeros(8, 16, dtype=torch.int32, device="cuda")
    with pytest.raises(ValueError, match="kv-canary") as raised:
        launch_scatter_req_token_ids_kernel(**given, pool_out=pool, checked=True)
    assert message in str(raised.value)
    assert int(pool.abs().sum()) == 0
