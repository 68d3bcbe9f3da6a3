"""Measure launches on a CUDA device: device time from events over graph replays, host time of a call apart.

A graph holds launches in a row, over different buffers, so that the data does not stay in the L2 cache by itself, and
so many of them that the time from an event to the graph's first kernel, some 10 µs, does not count. Every number is a
median with its quartiles, in microseconds.
"""

from __future__ import annotations

import math
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_FLUSH_BYTES = 512 << 20
_SHORTEST_GRAPH = 2_000.0  # µs: 200 times the gap before it


@dataclass(frozen=True, slots=True)
class Microseconds:
    """A median with the quartiles around it."""

    median: float
    lower: float
    upper: float


def device_times(contenders: Sequence[Sequence[Callable[[], object]]], *, replays: int = 31) -> list[Microseconds]:
    """Time of one launch of each contender on the device, from replays of a graph that goes through its launches.

    The contenders take turns, so that a GPU that changes its clocks changes them for all. Every launch must be
    capturable: no synchronisation, no allocation outside torch's own pool.
    """
    rounds = [list(launches) * _rounds(launches) for launches in contenders]
    graphs = [captured(launches) for launches in rounds]
    samples: list[list[float]] = [[] for _ in contenders]
    for _ in range(replays):
        for graph, launches, times in zip(graphs, rounds, samples, strict=True):
            graph.replay()
            times.append(_elapsed(graph.replay) / len(launches))
    return [_quartiles(times) for times in samples]


def _rounds(launches: Sequence[Callable[[], object]]) -> int:
    """How often a graph must go through the launches to last long enough."""
    graph = captured(launches)
    graph.replay()
    return math.ceil(_SHORTEST_GRAPH / min(_elapsed(graph.replay) for _ in range(3)))


def cold_time(launch: Callable[[], object], *, replays: int = 31) -> Microseconds:
    """Time of one launch on the device with nothing of its data in the L2 cache; holds the gaps around the launch."""
    graph = captured([launch])
    flush = torch.empty(_FLUSH_BYTES, dtype=torch.int8, device="cuda")
    samples = []
    for _ in range(replays):
        flush.zero_()
        samples.append(_elapsed(graph.replay))
    return _quartiles(samples)


def eager_time(launch: Callable[[], object], *, repeats: int = 15) -> Microseconds:
    """Time from the first to the last kernel of a call that cannot be captured, its host gaps among them."""
    for _ in range(3):
        launch()
    return _quartiles([_elapsed(launch) for _ in range(repeats)])


def host_time(launch: Callable[[], object], *, repeats: int = 301) -> Microseconds:
    """Time that one call keeps the host busy, the device idle or not."""
    for _ in range(20):
        launch()
    torch.cuda.synchronize()
    samples = []
    for index in range(repeats):
        start = time.perf_counter_ns()
        launch()
        samples.append((time.perf_counter_ns() - start) / 1e3)
        if index % 20 == 19:  # the launch queue is bounded, and a full one would be measured instead
            torch.cuda.synchronize()
    torch.cuda.synchronize()
    return _quartiles(samples)


def captured(launches: Sequence[Callable[[], object]]) -> torch.cuda.CUDAGraph:
    """A graph of these launches in this order, each run once before on the capturing stream."""
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for launch in launches:
            launch()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for launch in launches:
            launch()
    return graph


def _elapsed(run: Callable[[], object]) -> float:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    start.record()
    run()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) * 1e3


def _quartiles(samples: list[float]) -> Microseconds:
    lower, median, upper = statistics.quantiles(samples, n=4, method="inclusive")
    return Microseconds(median, lower, upper)
