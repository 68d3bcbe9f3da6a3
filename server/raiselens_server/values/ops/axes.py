"""Dimension arguments: wrapped to the tensor's rank, or the raise of one that is out of range."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raiselens_server.values.ops import reading
from raiselens_server.values.ops.building import error

if TYPE_CHECKING:
    from raiselens_server.values.lattice import Value
    from raiselens_server.values.ops.outcome import Raise


def wrap(value: Value | None, rank: int, *, param: str = "dim", extra: int = 0) -> int | Raise | None:
    """The dimension counted from 0; None where it is unknown.

    `extra=1`: the position of a new dimension, as `unsqueeze` takes it. A 0-d tensor has dimensions 0 and -1.
    """
    dim = reading.constant_int(value)
    if dim is None:
        return None
    total = max(rank + extra, 1)
    if -total <= dim < total:
        return dim + total if dim < 0 else dim
    text = f"Dimension out of range (expected to be in range of [{-total}, {total - 1}], but got {dim})"
    return error("IndexError", param, f"-{total} <= {param} < {total}", text)


def wrap_all(
    value: Value | None, rank: int, *, param: str = "dim", unique: bool = True
) -> tuple[int, ...] | Raise | None:
    """A dimension or a sequence of them; None where they are unknown."""
    dims = reading.ints_of(value)
    if dims is None:
        return None
    wrapped: list[int] = []
    for dim in dims:
        total = max(rank, 1)
        if not -total <= dim < total:
            text = f"Dimension out of range (expected to be in range of [{-total}, {total - 1}], but got {dim})"
            return error("IndexError", param, f"-{total} <= {param} < {total}", text)
        place = dim + total if dim < 0 else dim
        if unique and place in wrapped:
            text = f"dim {place} appears multiple times in the list of dims"
            return error("RuntimeError", param, "no dim twice", text)
        wrapped.append(place)
    return tuple(wrapped)
