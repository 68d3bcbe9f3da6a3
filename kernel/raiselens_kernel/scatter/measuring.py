"""Time each workload: ours, the copy and what else does the same, on the current CUDA device."""

from __future__ import annotations

import functools
import platform
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
import triton

from raiselens_kernel.scatter.cases import ScatterInputs, check, draw
from raiselens_kernel.scatter.checking import check_scatter_inputs
from raiselens_kernel.scatter.launch import launch_scatter_req_token_ids_kernel, launch_settings
from raiselens_kernel.scatter.reference import scatter_req_token_ids_reference
from raiselens_kernel.scatter.rivals import (
    compiled_index_put,
    empty_launch,
    index_put,
    place_of_each_token,
    put_at_places,
    sglang_launcher,
)
from raiselens_kernel.scatter.timing import Microseconds, cold_time, device_times, eager_time, host_time
from raiselens_kernel.scatter.workloads import Workload, copies, launches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

_SGLANG_MOST_REQUESTS = 511


@dataclass(frozen=True, slots=True)
class About:
    """What a run was made on."""

    device: str
    torch: str
    triton: str
    python: str
    seed: int


@dataclass(frozen=True, slots=True)
class Row:
    """One workload's times; `None` for what could not be run.

    `alone` is ours placed only once all before it is done, as the others are. `given` is a kernel that is told each
    token's place. `empty` is a kernel that does nothing. Device times come from CUDA events over graph replays, but for
    `reference` and `check`: they synchronise and so cannot be captured, and theirs hold their host gaps too. `host` and
    `sglang_host` are what one call keeps the host busy.
    """

    name: str
    requests: int
    tokens: int
    ours: Microseconds
    alone: Microseconds
    copy: Microseconds
    given: Microseconds | None
    empty: Microseconds
    cold: Microseconds
    cold_copy: Microseconds
    host: Microseconds
    check: Microseconds
    reference: Microseconds
    index_put: Microseconds | None
    compiled: Microseconds | None
    sglang: Microseconds | None
    sglang_host: Microseconds | None

    @property
    def share(self) -> float:
        """The copy's time over ours: 1 is the speed of memory."""
        return self.copy.median / self.ours.median

    @property
    def share_of_given(self) -> float | None:
        """The time of the kernel that is told all places over ours."""
        return None if self.given is None else self.given.median / self.ours.median


def read_about(seed: int) -> About:
    """The current device and the versions."""
    return About(torch.cuda.get_device_name(), torch.__version__, triton.__version__, platform.python_version(), seed)


def measured(workloads: Sequence[Workload], seed: int, *, sglang_file: Path | None) -> Iterator[Row]:
    """Each workload's row, said on stderr before it is timed."""
    sglang = sglang_launcher(sglang_file)
    compiled = compiled_index_put()
    for workload in workloads:
        sys.stderr.write(f"timing: {workload.name}\n")
        yield _measure(workload, seed, sglang=sglang, compiled=compiled)
        torch.cuda.empty_cache()


def _measure(workload: Workload, seed: int, *, sglang: Callable[..., Any] | None, compiled: Callable[..., Any]) -> Row:
    inputs = workload.rotated(draw(seed, workload.name, torch.device("cuda")))
    wrong = check(inputs[0], launch_scatter_req_token_ids_kernel)
    if wrong is not None:
        message = f"{workload.name}: {wrong}"
        raise AssertionError(message)
    ours = launches(inputs, launch_scatter_req_token_ids_kernel)
    requests, tokens = int(inputs[0].req_pool_indices.shape[0]), int(inputs[0].flat_in.shape[0])
    settings = replace(launch_settings(tokens, requests), overlaps=False)
    alone = launches(inputs, functools.partial(launch_scatter_req_token_ids_kernel, settings=settings))
    copied = copies(inputs)
    empty = [empty_launch(inputs[0].pool_out)]
    clips = int((inputs[0].offsets[1:] - inputs[0].offsets[:-1]).max()) > int(inputs[0].pool_out.shape[1])
    given = [] if clips else [[functools.partial(put_at_places, one, place_of_each_token(one)) for one in inputs]]
    ours_time, alone_time, copy_time, empty_time, *given_time = device_times([ours, alone, copied, empty, *given])
    takes = requests <= _SGLANG_MOST_REQUESTS
    return Row(
        workload.name,
        requests,
        tokens,
        ours=ours_time,
        alone=alone_time,
        copy=copy_time,
        given=given_time[0] if given_time else None,
        empty=empty_time,
        cold=cold_time(ours[0]),
        cold_copy=cold_time(copied[0]),
        host=host_time(ours[0]),
        check=eager_time(launches(inputs[:1], check_scatter_inputs)[0]),
        reference=eager_time(launches(inputs[:1], scatter_req_token_ids_reference)[0]),
        index_put=None if clips else _if_possible(inputs, index_put),
        compiled=None if clips else _if_possible(inputs, compiled),
        sglang=_if_possible(inputs, sglang) if takes and sglang else None,
        sglang_host=host_time(launches(inputs[:1], sglang)[0]) if takes and sglang else None,
    )


def _if_possible(inputs: list[ScatterInputs], launch: Callable[..., Any]) -> Microseconds | None:
    try:
        return device_times([launches(inputs[:4], launch)], replays=11)[0]
    except Exception as error:  # noqa: BLE001 -- a rival that cannot run leaves its cell empty
        sys.stderr.write(f"  not measured: {type(error).__name__}: {str(error).splitlines()[0][:120]}\n")
        return None
