"""Inputs for the scatter, shared by tests, verification and bench: fresh at random, repeatable from a seed.

Every case comes with a poisoned pool: tokens are never negative (but where a case is about signs), the pool's first
content always is, so an element that was not written, or written and should not have been, is seen.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from raiselens_kernel.scatter.reference import scatter_req_token_ids_reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True, slots=True)
class ScatterInputs:
    """The launcher's four arguments."""

    flat_in: torch.Tensor
    offsets: torch.Tensor
    req_pool_indices: torch.Tensor
    pool_out: torch.Tensor

    def arguments(self) -> dict[str, torch.Tensor]:
        """The arguments by name; `pool_out` is the case's own tensor, which a launch changes."""
        return {
            "flat_in": self.flat_in,
            "offsets": self.offsets,
            "req_pool_indices": self.req_pool_indices,
            "pool_out": self.pool_out,
        }


@dataclass(frozen=True, slots=True)
class Draw:
    """Where a case takes its randomness and its memory from."""

    rng: random.Random
    generator: torch.Generator
    device: torch.device

    def integers(self, low: int, high: int, count: int) -> torch.Tensor:
        """`count` int64 values in `[low, high)`."""
        return torch.randint(low, high, (count,), generator=self.generator, device=self.device)

    def permutation(self, count: int) -> torch.Tensor:
        """0 … `count - 1` in random order, int64."""
        return torch.randperm(count, generator=self.generator, device=self.device)


@dataclass(frozen=True, slots=True)
class ScatterCase:
    """A named recipe; `make` draws the inputs anew. `large` ones are for a GPU."""

    name: str
    make: Callable[[Draw], ScatterInputs]
    large: bool = False


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Elements of the pool that differ from the reference, and the first of them."""

    count: int
    row: int
    column: int
    got: int
    expected: int

    def __str__(self) -> str:
        """One line with the place, both values and the count."""
        return f"{self.count} wrong, first at pool[{self.row}, {self.column}]: {self.got}, expected {self.expected}"


def draw(seed: int, name: str, device: torch.device) -> Draw:
    """The randomness of the case `name` under `seed`: the same whichever other cases are run."""
    rng = random.Random(f"{seed}:{name}")  # noqa: S311 -- inputs of a test, not a secret
    generator = torch.Generator(device=device)
    generator.manual_seed(rng.getrandbits(62))
    return Draw(rng, generator, device)


def check(inputs: ScatterInputs, launch: Callable[..., None]) -> Mismatch | None:
    """Launch on the case's pool and compare every element with the reference on a copy of it."""
    expected = inputs.pool_out.clone()
    scatter_req_token_ids_reference(**{**inputs.arguments(), "pool_out": expected})
    launch(**inputs.arguments())
    return compare(inputs.pool_out, expected)


def compare(got: torch.Tensor, expected: torch.Tensor) -> Mismatch | None:
    """The first element in which two pools differ, and how many do."""
    wrong = got != expected
    count = int(torch.count_nonzero(wrong))
    if count == 0:
        return None
    row = int(wrong.any(dim=1).nonzero()[0])
    column = int(wrong[row].nonzero()[0])
    return Mismatch(count, row, column, int(got[row, column]), int(expected[row, column]))


def from_lengths(
    source: Draw, lengths: torch.Tensor | list[int], *, width: int | None = None, spare_rows: int = 3
) -> ScatterInputs:
    """Requests of these lengths, their rows at random in a pool with `spare_rows` more; `width` clips where given."""
    sizes = torch.as_tensor(lengths, dtype=torch.int64, device=source.device)
    count = int(sizes.shape[0])
    offsets = torch.zeros(count + 1, dtype=torch.int64, device=source.device)
    torch.cumsum(sizes, 0, out=offsets[1:])
    total = int(offsets[-1])
    columns = width if width is not None else (max(int(sizes.max()), 1) if count else 4)
    pool = poisoned(source, count + spare_rows, columns)
    return ScatterInputs(
        flat_in=source.integers(0, 1 << 31, total),
        offsets=offsets,
        req_pool_indices=source.permutation(count + spare_rows)[:count],
        pool_out=pool,
    )


def poisoned(source: Draw, rows: int, columns: int) -> torch.Tensor:
    """An int32 pool of negative values."""
    shape = (rows, columns)
    return torch.randint(-(1 << 31), 0, shape, generator=source.generator, device=source.device, dtype=torch.int32)


def all_cases(*, large: bool) -> tuple[ScatterCase, ...]:
    """The cases in order: those that the CPU interpreter runs in seconds, and with `large` the GPU's too."""
    return tuple(case for case in _CASES if large or not case.large)


def drawn(*, seed: int, device: torch.device, large: bool) -> Iterator[tuple[ScatterCase, ScatterInputs]]:
    """Each case with its inputs, made when it is their turn."""
    for case in all_cases(large=large):
        yield case, case.make(draw(seed, case.name, device))


def _lengths(*values: int, width: int | None = None) -> Callable[[Draw], ScatterInputs]:
    return lambda source: from_lengths(source, list(values), width=width)


def _uniform(requests: int, low: int, high: int, *, width: int | None = None) -> Callable[[Draw], ScatterInputs]:
    return lambda source: from_lengths(source, source.integers(low, high + 1, requests), width=width)


def _no_tokens(source: Draw) -> ScatterInputs:
    return from_lengths(source, [0, 0, 0], width=5)


def _no_requests(source: Draw) -> ScatterInputs:
    return from_lengths(source, [], width=5)


def _no_columns(source: Draw) -> ScatterInputs:
    return from_lengths(source, [3, 4], width=0)


def _skewed(total: int, others: int) -> Callable[[Draw], ScatterInputs]:
    def make(source: Draw) -> ScatterInputs:
        lengths = source.integers(1, max(2, total // others), others)
        lengths[source.rng.randrange(others)] = total // 2
        return from_lengths(source, lengths)

    return make


def _mostly_empty(requests: int, filled: int, longest: int) -> Callable[[Draw], ScatterInputs]:
    def make(source: Draw) -> ScatterInputs:
        lengths = torch.zeros(requests, dtype=torch.int64, device=source.device)
        places = source.permutation(requests)[:filled]
        lengths[places] = source.integers(1, longest + 1, filled)
        return from_lengths(source, lengths, width=longest)

    return make


def _short_and_one_long(source: Draw) -> ScatterInputs:
    # Of one to nine tokens, which is one more than a lane writes, around a request that fills tiles alone.
    lengths = [*source.integers(1, 10, 150).tolist(), 700, *[1] * 200]
    return from_lengths(source, lengths)


def _at_tile_edges(source: Draw) -> ScatterInputs:
    # Requests that end one before, at, and one after every power of two a tile may have.
    lengths = [size + shift for size in (64, 128, 256, 512) for shift in (-1, 0, 1)]
    source.rng.shuffle(lengths)
    return from_lengths(source, lengths)


def _signs(source: Draw) -> ScatterInputs:
    inputs = from_lengths(source, [40, 0, 25])
    tokens = source.integers(-(1 << 31), 1 << 31, 65)
    tokens[:4] = torch.tensor([-(1 << 31), -1, 0, (1 << 31) - 1], device=source.device)
    return ScatterInputs(tokens, inputs.offsets, inputs.req_pool_indices, inputs.pool_out)


def _strided_inputs(source: Draw) -> ScatterInputs:
    plain = from_lengths(source, source.integers(0, 100, 30))

    def spread(values: torch.Tensor, step: int) -> torch.Tensor:
        wide = source.integers(-9, -1, values.shape[0] * step)
        wide[::step] = values
        return wide[::step]

    return ScatterInputs(
        spread(plain.flat_in, 3), spread(plain.offsets, 2), spread(plain.req_pool_indices, 5), plain.pool_out
    )


def _transposed_pool(source: Draw) -> ScatterInputs:
    plain = from_lengths(source, source.integers(0, 300, 12))
    rows, columns = plain.pool_out.shape
    return ScatterInputs(
        plain.flat_in, plain.offsets, plain.req_pool_indices, poisoned(source, columns, rows).transpose(0, 1)
    )


def _pool_slice(source: Draw) -> ScatterInputs:
    plain = from_lengths(source, source.integers(0, 300, 12))
    rows, columns = plain.pool_out.shape
    whole = poisoned(source, 2 * rows + 1, 3 * columns + 7)
    return ScatterInputs(
        plain.flat_in, plain.offsets, plain.req_pool_indices, whole[1 : 2 * rows + 1 : 2, 5 : 5 + 2 * columns : 2]
    )


def _unaligned(source: Draw) -> ScatterInputs:
    # Views that begin one element in: no pointer is a multiple of 16 bytes.
    plain = from_lengths(source, source.integers(0, 200, 15))
    rows, columns = plain.pool_out.shape

    def shifted(values: torch.Tensor) -> torch.Tensor:
        return torch.cat([values[:1], values])[1:] if values.shape[0] else values

    flat_pool = poisoned(source, 1, rows * columns + 1)[0, 1:]
    return ScatterInputs(
        shifted(plain.flat_in),
        shifted(plain.offsets),
        shifted(plain.req_pool_indices),
        flat_pool.view(rows, columns),
    )


def _one_token_stride_zero(source: Draw) -> ScatterInputs:
    plain = from_lengths(source, [70, 3, 9])
    token = source.integers(0, 1 << 31, 1)
    return ScatterInputs(token.expand(82), plain.offsets, plain.req_pool_indices, plain.pool_out)


def _beyond_31_bits(source: Draw) -> ScatterInputs:
    # A pool of more than 2**31 elements whose far rows are the ones written.
    lengths = source.integers(1, 65_537, 200)
    plain = from_lengths(source, lengths, width=65_536, spare_rows=40_000 - 200)
    rows = 40_000 - 1 - source.permutation(5_000)[:200]
    return ScatterInputs(plain.flat_in, plain.offsets, rows, plain.pool_out)


_CASES: tuple[ScatterCase, ...] = (
    ScatterCase("one-token", _lengths(1)),
    ScatterCase("tiny", _lengths(3, 1, 2)),
    ScatterCase("four-requests", _lengths(70, 5, 9, 40)),
    ScatterCase("no-tokens", _no_tokens),
    ScatterCase("no-requests", _no_requests),
    ScatterCase("no-columns", _no_columns),
    ScatterCase("empty-first-and-last", _lengths(0, 0, 17, 0, 600, 0, 0, 1, 0)),
    ScatterCase("signs", _signs),
    ScatterCase("stride-zero-tokens", _one_token_stride_zero),
    ScatterCase("short-batch", _uniform(200, 0, 2)),
    ScatterCase("transposed-pool", _transposed_pool),
    ScatterCase("pool-slice", _pool_slice),
    ScatterCase("strided-inputs", _strided_inputs),
    ScatterCase("unaligned", _unaligned),
    ScatterCase("short-clipped", _uniform(300, 0, 7, width=2)),
    ScatterCase("clipped-to-one", _uniform(40, 0, 90, width=1)),
    ScatterCase("clipped", _uniform(15, 0, 300, width=96)),
    ScatterCase("short-and-one-long", _short_and_one_long),
    ScatterCase("lengths-of-one", _uniform(1_000, 1, 1)),
    ScatterCase("tile-edges", _at_tile_edges),
    ScatterCase("two-a-tile", _uniform(9, 300, 500)),
    ScatterCase("irregular", _uniform(25, 0, 200)),
    ScatterCase("one-request", _lengths(2_003)),
    ScatterCase("skewed", _skewed(3_000, 30)),
    ScatterCase("mostly-empty", _mostly_empty(20_000, 8, 700)),
    ScatterCase("batch-of-511", _uniform(511, 0, 6)),
    ScatterCase("batch-of-512", _uniform(512, 0, 6)),
    ScatterCase("batch-of-5000", _uniform(5_000, 0, 1)),
    ScatterCase("large-uniform", _uniform(500, 1, 65_536), large=True),
    ScatterCase("large-short", _uniform(32_768, 1, 2_048), large=True),
    ScatterCase("large-skewed", _skewed(30_000_000, 500), large=True),
    ScatterCase("large-clipped", _uniform(4_096, 1, 8_192, width=2_000), large=True),
    ScatterCase("million-empty", _mostly_empty(1_000_000, 300, 5_000), large=True),
    ScatterCase("million-of-one", _uniform(1_000_000, 1, 1), large=True),
    ScatterCase("beyond-31-bits", _beyond_31_bits, large=True),
)
