"""Sizes and strides: broadcasting, contiguity, and the strides that torch gives to results."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from raiselens_server.values import dims

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raiselens_server.values.dims import Dim

Shape: TypeAlias = "tuple[Dim | None, ...]"


@dataclass(frozen=True, slots=True)
class Broadcast:
    """The common shape of some operands; `decided` where they certainly fit."""

    shape: Shape
    decided: bool


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Two operands certainly do not broadcast: their sizes, and the dimension of the result.

    `first`: no later dimension may fail before it, so that the message is certain.
    """

    left: Dim | None
    right: Dim | None
    dim: int
    first: bool


def broadcast(left: Shape, right: Shape) -> Broadcast | Mismatch:
    """Broadcast two shapes; dimensions are compared from the last to the first, as torch does."""
    rank = max(len(left), len(right))
    sizes: list[Dim | None] = []
    decided = True
    for back in range(1, rank + 1):
        a = left[-back] if back <= len(left) else 1
        b = right[-back] if back <= len(right) else 1
        if a == 1 or (a is not None and a == b):
            sizes.append(b)
        elif b == 1:
            sizes.append(a)
        elif dims.equal(a, b) is False and dims.equal(a, 1) is False and dims.equal(b, 1) is False:
            return Mismatch(a, b, rank - back, decided)
        else:
            decided = False
            sizes.append(a if dims.equal(a, 1) is False else b if dims.equal(b, 1) is False else None)
    return Broadcast(tuple(reversed(sizes)), decided)


def broadcast_all(shapes: Sequence[Shape]) -> Broadcast | Mismatch:
    """Broadcast several shapes, pair by pair."""
    total = Broadcast((), decided=True)
    for shape in shapes:
        step = broadcast(total.shape, shape)
        if isinstance(step, Mismatch):
            return Mismatch(step.left, step.right, step.dim, step.first and total.decided)
        total = Broadcast(step.shape, total.decided and step.decided)
    return total


def numel(shape: Shape | None) -> Dim | None:
    """The product of the sizes; None where it is unknown or not linear."""
    if shape is None:
        return None
    total: Dim | None = 1
    for size in shape:
        total = dims.multiply(total, size)
    return 0 if 0 in shape else total


@lru_cache(maxsize=1024)
def contiguous_strides(shape: Shape) -> Shape:
    """The strides of a contiguous tensor; a size of 0 counts as 1, as in torch."""
    strides: list[Dim | None] = []
    step: Dim | None = 1
    for size in reversed(shape):
        strides.append(step)
        step = step if size == 0 else dims.multiply(step, size)
    return tuple(reversed(strides))


@lru_cache(maxsize=1024)
def loose(shape: Shape, strides: Shape) -> Shape:
    """The strides without those of sizes that may be 0 or 1, which torch does not lay out anew."""
    if 0 in shape:
        return (None,) * len(shape)
    return tuple(step if dims.less(1, size) else None for size, step in zip(shape, strides, strict=True))


@lru_cache(maxsize=1024)
def is_contiguous(shape: Shape | None, strides: Shape | None) -> bool | None:
    """What `is_contiguous()` must answer."""
    if shape is None or strides is None:
        return None
    if 0 in shape:
        return True
    expected: Dim | None = 1
    answer: bool | None = True
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1:
            fits = dims.equal(stride, expected)
            if fits is False and dims.less(1, size):
                answer = False
            elif not fits and answer:
                answer = None
        expected = dims.multiply(expected, size)
    return None if answer is False and any(dims.less(0, size) is not True for size in shape) else answer


def known(shape: Shape | None) -> tuple[int, ...] | None:
    """The shape where every size is a number."""
    if shape is None:
        return None
    found = tuple(size for size in shape if isinstance(size, int))
    return found if len(found) == len(shape) else None


def is_dense(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether the elements fill their storage without gaps or overlap, in some order of the dimensions."""
    expected = 1
    for stride, size in sorted((stride, size) for stride, size in zip(strides, shape, strict=True) if size != 1):
        if stride != expected or size == 0:
            return size == 0
        expected *= size
    return True


def like_strides(shape: Shape | None, strides: Shape | None, *, contiguous: bool | None) -> Shape | None:
    """The strides of `clone()` or `empty_like`: kept where the tensor is dense, else in the order of its strides."""
    if shape is None:
        return None
    if 0 in shape:
        return (None,) * len(shape)
    sizes, steps = known(shape), known(strides)
    if sizes is None or steps is None:
        return loose(shape, strides or contiguous_strides(shape)) if contiguous else None
    return steps if is_dense(sizes, steps) else elementwise_strides(sizes, [(sizes, steps)])


def elementwise_strides(
    shape: tuple[int, ...], operands: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]
) -> tuple[int, ...]:
    """The strides of a new result of shape `shape`, computed from operands given as (shape, strides).

    The dimensions are sorted by the operands' strides, the first operand that tells two of them apart deciding.
    """
    rank = len(shape)
    if all(sizes == shape for sizes, _ in operands):
        if all(is_contiguous(sizes, steps) for sizes, steps in operands):
            return _ints(contiguous_strides(shape))
        first = operands[0][1]
        if all(steps == first for _, steps in operands) and is_dense(shape, first):
            return first
    spread = [_expanded(shape, sizes, steps) for sizes, steps in operands]
    order = list(range(rank - 1, -1, -1))
    for i in range(1, rank):
        inner = i
        for outer in range(i - 1, -1, -1):
            compared = _compare(shape, spread, order[outer], order[inner])
            if compared > 0:
                order[outer], order[inner] = order[inner], order[outer]
                inner = outer
            elif compared < 0:
                break
    if order == list(range(rank - 1, -1, -1)):
        return _ints(contiguous_strides(shape))
    strides = [0] * rank
    step = 1
    for dim in order:
        strides[dim] = step
        step *= shape[dim]
    return tuple(strides)


def _ints(shape: Shape) -> tuple[int, ...]:
    return tuple(size for size in shape if isinstance(size, int))


def _expanded(shape: tuple[int, ...], sizes: tuple[int, ...], steps: tuple[int, ...]) -> tuple[int, ...]:
    missing = len(shape) - len(sizes)
    return (0,) * missing + tuple(
        0 if size == 1 and shape[missing + i] != 1 else step
        for i, (size, step) in enumerate(zip(sizes, steps, strict=True))
    )


def _compare(shape: tuple[int, ...], spread: Sequence[tuple[int, ...]], left: int, right: int) -> int:
    for steps in spread:
        a, b = steps[left], steps[right]
        if a == 0 or b == 0:
            continue
        if a != b:
            return -1 if a < b else 1
        if shape[left] > shape[right]:
            return 1
    return 0


def view_strides(shape: tuple[int, ...], strides: tuple[int, ...], target: tuple[int, ...]) -> tuple[int, ...] | None:
    """The strides of `view(target)` with as many elements; None where the strides do not allow the view."""
    if 0 in shape:
        return strides if shape == target else _ints(contiguous_strides(target))
    result = [0] * len(target)
    at = len(target) - 1
    base = strides[-1] if shape else 1
    chunk = viewed = 1
    for dim in range(len(shape) - 1, -1, -1):
        chunk *= shape[dim]
        if dim == 0 or (shape[dim - 1] != 1 and strides[dim - 1] != chunk * base):
            while at >= 0 and (viewed < chunk or target[at] == 1):
                result[at] = viewed * base
                viewed *= target[at]
                at -= 1
            if viewed != chunk:
                return None
            if dim > 0:
                base = strides[dim - 1]
                chunk = viewed = 1
    if not shape:
        return (1,) * len(target)
    return tuple(result) if at == -1 else None
