"""The sizes that the scatter is timed at, and the launches of one of them over rotating buffers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch

from raiselens_kernel.scatter.cases import Draw, ScatterInputs, from_lengths

if TYPE_CHECKING:
    from collections.abc import Callable

_ROTATED_BYTES = 400 << 20
_MOST_SETS = 16
_MOST_BYTES = 40 << 30


@dataclass(frozen=True, slots=True)
class Workload:
    """A batch by the lengths of its requests; `width` of the pool where rows are clipped.

    With `padded`, requests without tokens name row 0, as the padding of a batch does, and the pool has no row for them.
    """

    name: str
    lengths: Callable[[Draw], torch.Tensor]
    width: int | None = None
    padded: bool = False

    def rotated(self, source: Draw) -> list[ScatterInputs]:
        """Inputs of the same lengths in several buffers: past the L2 cache several times over, within memory."""
        lengths = self.lengths(source)
        first = self._drawn(source, lengths)
        pool = first.pool_out.numel() * 4
        touched = 12 * max(int(first.flat_in.shape[0]), 1)
        count = max(2, min(_MOST_SETS, _ROTATED_BYTES // touched, _MOST_BYTES // max(pool, 1)))
        return [first, *(self._drawn(source, lengths) for _ in range(count - 1))]

    def _drawn(self, source: Draw, lengths: torch.Tensor) -> ScatterInputs:
        if not self.padded:
            return from_lengths(source, lengths, width=self.width)
        filled = lengths > 0
        dense = from_lengths(source, lengths[filled], width=self.width)
        rows = torch.zeros_like(lengths)
        rows[filled] = dense.req_pool_indices
        offsets = torch.nn.functional.pad(torch.cumsum(lengths, 0), (1, 0))
        return replace(dense, offsets=offsets, req_pool_indices=rows)


def typical() -> Workload:
    """Some 16 million tokens of 500 requests."""
    return _uniform("500 of up to 64 K", 500, 65_536)


def all_workloads() -> tuple[Workload, ...]:
    """What kv-canary sees first, then what fills the GPU, then what is hard."""
    return (
        Workload("one of 25", lambda source: _constant(source, 1, 25)),
        Workload("256 of one token", lambda source: _constant(source, 256, 1)),
        _uniform("32 of up to 1 K", 32, 1_000),
        _uniform("4,096 of up to 128", 4_096, 128),
        _uniform("256 of up to 4 K", 256, 4_096),
        _uniform("500 of up to 8 K", 500, 8_192),
        typical(),
        Workload("500, one with half", _skewed),
        _uniform("500 of up to 256 K", 500, 262_144),
        Workload("one of 16 M", lambda source: _constant(source, 1, 1 << 24)),
        _uniform("4,096 of up to 8 K", 4_096, 8_192),
        _uniform("32,768 of up to 2 K", 32_768, 2_048),
        _uniform("4,096 of up to 8 K, clipped at 4 K", 4_096, 8_192, width=4_096),
        Workload("1 M, all but 500 empty", _mostly_empty, padded=True),
        _uniform("1 M of up to 32", 1_000_000, 32),
        Workload("1 M of one token", lambda source: _constant(source, 1_000_000, 1)),
    )


def copies(inputs: list[ScatterInputs]) -> list[Callable[[], object]]:
    """For each buffer the yardstick: a contiguous int64 to int32 copy of as many tokens."""
    targets = [torch.empty_like(one.flat_in, dtype=torch.int32) for one in inputs]
    return [_copy(target, one.flat_in) for target, one in zip(targets, inputs, strict=True)]


def launches(inputs: list[ScatterInputs], launch: Callable[..., object]) -> list[Callable[[], object]]:
    """For each buffer a call of `launch`."""
    return [_call(launch, one) for one in inputs]


def _copy(target: torch.Tensor, source: torch.Tensor) -> Callable[[], object]:
    return lambda: target.copy_(source)


def _call(launch: Callable[..., object], inputs: ScatterInputs) -> Callable[[], object]:
    arguments = inputs.arguments()
    return lambda: launch(**arguments)


def _uniform(name: str, requests: int, longest: int, *, width: int | None = None) -> Workload:
    return Workload(name, lambda source: source.integers(1, longest + 1, requests), width)


def _constant(source: Draw, requests: int, length: int) -> torch.Tensor:
    return torch.full((requests,), length, dtype=torch.int64, device=source.device)


def _skewed(source: Draw) -> torch.Tensor:
    lengths = source.integers(1, 32_768, 500)
    lengths[source.rng.randrange(500)] = 8_000_000
    return lengths


def _mostly_empty(source: Draw) -> torch.Tensor:
    lengths = torch.zeros(1_000_000, dtype=torch.int64, device=source.device)
    lengths[source.permutation(1_000_000)[:500]] = source.integers(1, 65_536, 500)
    return lengths
