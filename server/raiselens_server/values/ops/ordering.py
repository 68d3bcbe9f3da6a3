"""Sorting, the largest elements, and where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from raiselens_server.values import dims
from raiselens_server.values.dtypes import ALL, COMPLEX
from raiselens_server.values.lattice import Const, Seq, Tensor, Unknown, Value
from raiselens_server.values.ops import axes, layout, reading
from raiselens_server.values.ops.building import derive, error, ok
from raiselens_server.values.ops.elementwise import elementwise, is_meta, operand, promoted
from raiselens_server.values.ops.outcome import NO_RULE, Outcome, Raise
from raiselens_server.values.ops.reductions import axis_error, chosen_dims, kept, reduce, stays

if TYPE_CHECKING:
    from raiselens_server.values.ops.layout import Shape
    from raiselens_server.values.ops.table import Bound, Row

_BOOL: Final = frozenset({"bool"})

_LONG: Final = frozenset({"int64"})


def _extremum(b: Bound) -> Outcome:
    """`max` and `min`: of all elements, along a dimension (a pair), or of two tensors."""
    source = b.tensor()
    if source is None:
        return NO_RULE
    other = b.get("dim") or b.get("other")
    if ("other" in b.named and len(b.named) > 2) or ("keepdim" in b.named and other is None):
        return NO_RULE
    if isinstance(other, Tensor):
        if reading.constant_int(other) is not None:
            return NO_RULE
        operands = [one for one in (operand(source, ALL), operand(other, ALL)) if one is not None]
        return elementwise(operands, promoted(operands))
    if other is None:
        return _empty_error(b, source, None) or ok(reduce(source, _every(source), source.dtypes, keepdim=False))
    if "other" in b.named and not isinstance(other, Tensor):
        return NO_RULE
    if isinstance(other, Unknown) or reading.number_kind(other) != "int":
        return ok(Unknown("overload"), may_raise=True)
    return _pair(b)


def _every(source: Tensor) -> tuple[int, ...] | None:
    return None if source.shape is None else tuple(range(len(source.shape)))


def _empty_error(b: Bound, source: Tensor, dim: int | None) -> Raise | None:
    if source.shape is None:
        return None
    if dim is None:
        if layout.numel(source.shape) != 0 or is_meta(source):
            return None
        text = (
            f"{b.name}(): Expected reduction dim to be specified for input.numel() == 0."
            " Specify the reduction dim with the 'dim' argument."
        )
        return error("RuntimeError", "dim", "self.numel() > 0", text) if b.name in ("max", "min") else None
    if not source.shape or source.shape[dim] != 0 or is_meta(source):
        return None
    text = f"{b.name}(): Expected reduction dim {dim} to have non-zero size."
    return error("IndexError", "dim", "self.size(dim) > 0", text)


def _pair(b: Bound) -> Outcome:
    """Values and indices along one dimension."""
    source = b.tensor()
    if source is None:
        return NO_RULE
    keepdim = reading.flag(b.get("keepdim"), default=False)
    if source.shape is None:
        return ok(_both(source, None, keepdim, b.name), may_raise=True)
    value = b.get("dim")
    dim = axes.wrap(Const(-1) if value is None else value, len(source.shape))
    if isinstance(dim, Raise):
        return dim
    if dim is None:
        rank = len(source.shape)
        shape = (None,) * (rank if keepdim else rank - 1) if keepdim is not None and rank else None
        values = derive(source, shape=shape)
        return ok(
            Seq((values, derive(values, names=_LONG, requires_grad=False)), f"torch.return_types.{b.name}"),
            may_raise=True,
        )
    broken = _empty_error(b, source, dim) if b.name in ("max", "min") else None
    return broken or ok(_both(source, (dim,) if source.shape else (), keepdim, b.name))


def _both(source: Tensor, chosen: tuple[int, ...] | None, keepdim: bool | None, name: str) -> Seq:
    values = reduce(source, chosen, source.dtypes, keepdim=keepdim)
    return Seq((values, derive(values, names=_LONG, requires_grad=False)), f"torch.return_types.{name}")


def _argument(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    if source.dtypes == _BOOL and not is_meta(source):
        return error("RuntimeError", "input", "the dtype is not bool", f"{b.name}(): does not support bool input")
    if source.dtypes & COMPLEX:
        return NO_RULE
    keepdim = reading.flag(b.get("keepdim"), default=False)
    if reading.absent(b.get("dim")):
        if source.shape is None or keepdim:
            return ok(derive(source, names=_LONG, shape=() if keepdim is False else None), may_raise=True)
        return ok(reduce(source, _every(source), _LONG, keepdim=keepdim))
    chosen = chosen_dims(b, source)
    if isinstance(chosen, Raise):
        return chosen
    return ok(reduce(source, chosen, _LONG, keepdim=keepdim), may_raise=chosen is None)


def _sorted(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    if is_meta(source):
        shape_only = derive(source, strides=None)
        longs = derive(shape_only, names=_LONG, requires_grad=False)
        made: Value = longs if b.data == "indices" else Seq((shape_only, longs), f"torch.return_types.{b.name}")
        return ok(made, may_raise=True)
    broken = axis_error(b, source)
    if broken is not None and "stable" in b.named:
        return NO_RULE
    if broken is not None:
        loose = (b.data == "running" and not source.shape) or 0 in (source.shape or ())
        return NO_RULE if loose else broken
    values = kept(source, source.dtypes)
    indices = derive(values, names=_LONG, requires_grad=False)
    if b.data == "indices":
        return ok(indices, may_raise=source.shape is None)
    return ok(Seq((values, indices), f"torch.return_types.{b.name}"), may_raise=source.shape is None)


def _topk(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    shape: Shape | None = None
    if source.shape is not None:
        dim = axes.wrap(b.get("dim") or Const(-1), len(source.shape))
        if isinstance(dim, Raise):
            return dim
        count = reading.size_of(b.named["k"])
        if dim is not None and source.shape:
            size = source.shape[dim]
            if dims.less(size, count) is True:
                text = "k not in range for dimension" if is_meta(source) else "selected index k out of range"
                return error("RuntimeError", "k", "k <= self.size(dim)", text)
            shape = (*source.shape[:dim], count, *source.shape[dim + 1 :])
        elif not source.shape:
            shape = ()
    values = derive(source, shape=shape, strides=None, contiguous=stays(source))
    return ok(
        Seq((values, derive(values, names=_LONG, requires_grad=False)), "torch.return_types.topk"), may_raise=True
    )


def _nonzero(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None or is_meta(source):
        return NO_RULE
    as_tuple = reading.flag(b.get("as_tuple"), default=False)
    if as_tuple is None:
        return NO_RULE
    rank = None if source.shape is None else len(source.shape)
    if as_tuple:
        if rank is None:
            return ok(Unknown("nonzero"))
        one: Value = derive(source, names=_LONG, shape=(None,), requires_grad=False, strides=(1,))
        return ok(Seq((one,) * max(rank, 1)))
    return ok(derive(source, names=_LONG, shape=(None, rank), strides=(None, None), requires_grad=False))


ROWS: Final[tuple[Row, ...]] = (
    ("tm", "max min", ":Tinput dim? keepdim? other?", _extremum),
    ("tm", "mode", ":Tinput dim? keepdim?", _pair),
    ("tm", "median nanmedian", ":Tinput dim? keepdim?", _extremum),
    ("tm", "cummax cummin", ":Tinput dim", _sorted, "running"),
    ("tm", "argmax argmin", ":Tinput dim? keepdim?", _argument),
    ("tm", "sort", ":Tinput dim? descending? * stable?", _sorted, "pair"),
    ("tm", "argsort", ":Tinput dim? descending? * stable?", _sorted, "indices"),
    ("tm", "topk", ":Tinput k dim? largest? sorted?", _topk),
    ("tm", "nonzero", ":Tinput * as_tuple?", _nonzero),
)
