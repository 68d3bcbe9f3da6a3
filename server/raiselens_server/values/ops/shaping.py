"""Views and reshapes: the same elements under other sizes and strides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from raiselens_server.values import dims
from raiselens_server.values.lattice import Seq, Tensor
from raiselens_server.values.ops import axes, layout, reading
from raiselens_server.values.ops.building import derive, error, ok
from raiselens_server.values.ops.elementwise import is_meta
from raiselens_server.values.ops.outcome import NO_RULE, Outcome, Raise
from raiselens_server.values.ops.views import reshaped, solve

if TYPE_CHECKING:
    from raiselens_server.values.ops.table import Bound, Row


def _transpose(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    if source.shape is None:
        return ok(derive(source, shape=None), may_raise=True)
    rank = len(source.shape)
    first, second = (axes.wrap(b.get(name), rank, param=name) for name in b.data)
    for dim in (first, second):
        if isinstance(dim, Raise):
            return dim
    if not isinstance(first, int) or not isinstance(second, int):
        return ok(derive(source, shape=(None,) * rank), may_raise=True)
    order = list(range(rank))
    if rank:
        order[first], order[second] = second, first
    return ok(permuted(source, tuple(order)))


def permuted(source: Tensor, order: tuple[int, ...]) -> Tensor:
    """The view of `source` (of known rank) with its dimensions in another order."""
    shape, strides = source.shape or (), source.strides
    return derive(
        source,
        shape=tuple(shape[dim] for dim in order),
        strides=None if strides is None else tuple(strides[dim] for dim in order),
        contiguous=source.contiguous if order == tuple(range(len(order))) else None,
    )


def _t(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    if source.shape is None:
        return ok(derive(source, shape=None), may_raise=True)
    rank = len(source.shape)
    if rank > 2 and b.inplace and is_meta(source):
        return NO_RULE
    if rank > 2:
        text = f"{b.shown}() expects a tensor with <= 2 dimensions, but self is {rank}D"
        return error("RuntimeError", None, "self.dim() <= 2", text)
    return ok(permuted(source, tuple(reversed(range(rank)))))


def _permute(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    if source.shape is None:
        return ok(derive(source, shape=None), may_raise=True)
    rank = len(source.shape)
    value = b.get("dims")
    if (
        isinstance(value, Seq)
        and len(value.items) != rank
        and (value.kind != "varargs" or len(value.items) > 1 or reading.number_kind(value.items[0]))
    ):
        text = (
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired"
            f" ordering of dimensions i.e. input.dim() = {rank} is not equal to len(dims) = {len(value.items)}"
        )
        return error("RuntimeError", "dims", "len(dims) == self.dim()", text)
    order = axes.wrap_all(value, rank, param="dims", unique=False) if isinstance(value, Seq) else None
    if isinstance(order, Raise):
        return order
    if order is None:
        return ok(derive(source, shape=(None,) * rank), may_raise=True)
    if len(set(order)) != len(order):
        return error("RuntimeError", "dims", "no dim twice", "permute(): duplicate dims are not allowed.")
    return ok(permuted(source, order))


def _movedim(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None or source.shape is None:
        return NO_RULE
    rank = len(source.shape)
    origin = axes.wrap_all(b.get("source"), rank, param="source")
    target = axes.wrap_all(b.get("destination"), rank, param="destination")
    if not isinstance(origin, tuple) or not isinstance(target, tuple) or len(origin) != len(target):
        return ok(derive(source, shape=(None,) * rank), may_raise=True)
    if not rank:
        return ok(source)
    order = [-1] * rank
    for old, new in zip(origin, target, strict=True):
        order[new] = old
    rest = iter(dim for dim in range(rank) if dim not in origin)
    return ok(permuted(source, tuple(dim if dim >= 0 else next(rest) for dim in order)))


def _unsqueeze(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    if source.shape is None:
        return ok(derive(source, shape=None), may_raise=True)
    dim = axes.wrap(b.get("dim"), len(source.shape), extra=1)
    if isinstance(dim, Raise):
        return dim
    if dim is None:
        return ok(derive(source, shape=(None,) * (len(source.shape) + 1)), may_raise=True)
    return ok(unsqueezed(source, dim))


def unsqueezed(source: Tensor, dim: int) -> Tensor:
    """`source` (of known rank) with a dimension of size 1 before `dim`."""
    shape, strides = source.shape or (), source.strides
    if strides is not None:
        step = dims.multiply(shape[dim], strides[dim]) if dim < len(shape) else 1
        strides = (*strides[:dim], step, *strides[dim:])
    return derive(source, shape=(*shape[:dim], 1, *shape[dim:]), strides=strides, contiguous=source.contiguous)


def _squeeze(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    shape = source.shape
    if shape is None:
        return ok(derive(source, shape=None), may_raise=True)
    if "dim" not in b.named:
        chosen: tuple[int, ...] | Raise | None = tuple(range(len(shape)))
    else:
        chosen = axes.wrap_all(b.get("dim"), len(shape))
    if isinstance(chosen, Raise):
        return chosen
    if chosen is None or any(dim < len(shape) and dims.equal(shape[dim], 1) is None for dim in chosen):
        return ok(derive(source, shape=None), may_raise=chosen is None)
    kept = [dim for dim in range(len(shape)) if dim not in chosen or shape[dim] != 1]
    strides = source.strides
    return ok(
        derive(
            source,
            shape=tuple(shape[dim] for dim in kept),
            strides=None if strides is None else tuple(strides[dim] for dim in kept),
            contiguous=source.contiguous,
            item=source.item,
        )
    )


def _flatten(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    shape = source.shape
    if shape is None:
        return ok(derive(source, shape=None), may_raise=True)
    first, last = _range_of(b, len(shape))
    for dim in (first, last):
        if isinstance(dim, Raise):
            return dim
    if not shape:
        return reshaped(source, (1,), copies=True)
    if not isinstance(first, int) or not isinstance(last, int):
        return ok(derive(source, shape=None), may_raise=True)
    if first > last:
        text = "flatten() has invalid args: start_dim cannot come after end_dim"
        return error("RuntimeError", "start_dim", "start_dim <= end_dim", text)
    if first == last:
        return ok(source)
    made = layout.numel(shape[first : last + 1])
    target = (*shape[:first], made, *shape[last + 1 :])
    if layout.known(target) is not None:
        return reshaped(source, target, copies=True)
    return ok(derive(source, shape=target, contiguous=True if source.contiguous else None))


def _ravel(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    whole = source if source.contiguous else derive(source, contiguous=True)
    return reshaped(whole, (layout.numel(source.shape),), copies=True)


def _range_of(b: Bound, rank: int) -> tuple[int | Raise | None, int | Raise | None]:
    first: int | Raise | None = 0
    last: int | Raise | None = max(rank - 1, 0)
    if "start_dim" in b.named:
        first = axes.wrap(b.get("start_dim"), rank, param="start_dim")
    if "end_dim" in b.named:
        last = axes.wrap(b.get("end_dim"), rank, param="end_dim")
    return first, last


def _unflatten(b: Bound) -> Outcome:
    source, sizes = b.tensor(), b.get("sizes")
    if source is None:
        return NO_RULE
    if source.shape is None:
        return ok(derive(source, shape=None), may_raise=True)
    dim = axes.wrap(b.get("dim"), len(source.shape))
    if isinstance(dim, Raise):
        return dim
    target = reading.sizes_of((sizes,)) if isinstance(sizes, Seq) else None
    if dim is None or target is None or not source.shape:
        return ok(derive(source, shape=None), may_raise=True)
    size = source.shape[dim]
    solved = solve(target, size)
    if isinstance(solved, Raise):
        if isinstance(size, int) and solved.condition.startswith("the sizes"):
            text = f" don't multiply up to the size of dim {dim} ("
            return error(
                "RuntimeError",
                "sizes",
                "the sizes multiply up to self.size(dim)",
                "unflatten: Provided sizes ",
                target,
                text,
                size,
                ") in the input tensor",
            )
        return ok(derive(source, shape=None), may_raise=True)
    return reshaped(source, (*source.shape[:dim], *solved[0], *source.shape[dim + 1 :]), copies=False)


ROWS: Final[tuple[Row, ...]] = (
    ("tmi", "transpose swapdims", ":Tinput dim0 dim1", _transpose, ("dim0", "dim1")),
    ("tmi", "swapaxes", ":Tinput axis0 axis1", _transpose, ("axis0", "axis1")),
    ("tmi", "t", ":Tinput", _t),
    ("m", "permute", ":Tinput *dims", _permute),
    ("t", "permute", ":Tinput dims", _permute),
    ("tm", "movedim moveaxis", ":Tinput source destination", _movedim),
    ("tmi", "unsqueeze", ":Tinput dim", _unsqueeze),
    ("tmi", "squeeze", ":Tinput dim?", _squeeze),
    ("tm", "flatten", ":Tinput start_dim? end_dim?", _flatten),
    ("tm", "ravel", ":Tinput", _ravel),
    ("m", "unflatten", ":Tinput dim sizes", _unflatten),
    ("t", "unflatten", ":Tinput dim sizes", _unflatten),
)
