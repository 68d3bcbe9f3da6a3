"""How many elements a slice leaves of a dimension."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from raiselens_server.values import dims
from raiselens_server.values.lattice import Const, Slice
from raiselens_server.values.ops import reading
from raiselens_server.values.ops.building import error

if TYPE_CHECKING:
    from raiselens_server.values.dims import Dim
    from raiselens_server.values.ops.outcome import Raise


@dataclass(frozen=True, slots=True)
class SliceSize:
    """The size left, None where unknown; the step, None where unknown; `decided` where it certainly does not raise."""

    size: Dim | None
    step: int | None
    decided: bool


def slice_size(size: Dim | None, item: Slice) -> SliceSize | Raise:
    """Apply a slice to a dimension of `size`, clamped as Python does."""
    step = 1 if reading.absent(item.step) else reading.constant_int(item.step)
    if step is not None and step <= 0:
        text = "slice step cannot be zero" if step == 0 else "step must be greater than zero"
        return error("ValueError", None, "step > 0", text)
    bounds = []
    for bound in (item.start, item.stop):
        if isinstance(bound, Const) and isinstance(bound.value, float | str | complex):
            text = "slice indices must be integers or None or have an __index__ method"
            return error("TypeError", None, "the slice's indices are ints", text)
        bounds.append(None if reading.absent(bound) else reading.size_of(bound))
    decided = step is not None and all(
        reading.absent(bound) or reading.number_kind(bound) == "int" for bound in (item.start, item.stop)
    )
    first = 0 if reading.absent(item.start) else _clamped(size, bounds[0])
    last = size if reading.absent(item.stop) else _clamped(size, bounds[1])
    if first is None or last is None or step is None:
        return SliceSize(None, step, decided)
    if dims.less(first, last) is False:
        return SliceSize(0, step, decided)
    length = dims.subtract(last, first)
    if dims.less(length, 0) is not False:
        return SliceSize(None, step, decided)
    if step == 1:
        return SliceSize(length, step, decided)
    return SliceSize(-(-length // step) if isinstance(length, int) else None, step, decided)


def _clamped(size: Dim | None, bound: Dim | None) -> Dim | None:
    """The bound as a position from 0 to `size`; None where it is unknown."""
    if bound is None:
        return None
    if dims.less(bound, 0) is False:
        if size is None:
            return 0 if bound == 0 else None
        if dims.less(size, bound) is False:
            return bound
        return size if dims.less(bound, size) is False else None
    if size is None or dims.less(bound, 0) is None:
        return None
    place = dims.add(size, bound)
    if dims.less(place, 0) is False:
        return place
    return 0 if dims.less(place, 0) is True else None
