"""Operations over dimensions: sums, extrema, running sums, sorting, softmax."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from raiselens_server.values import dims
from raiselens_server.values.dtypes import ALL, ANY_FLOATING, COMPLEX, INTEGRAL
from raiselens_server.values.lattice import Const, HolePart, Seq, Tensor, Unknown, Value
from raiselens_server.values.ops import axes, layout, reading
from raiselens_server.values.ops.building import derive, dtype_text, error, ok
from raiselens_server.values.ops.elementwise import elementwise, into, is_meta, operand, promoted
from raiselens_server.values.ops.outcome import NO_RULE, Outcome, Raise, Result
from raiselens_server.values.ops.pointwise import floated, no_kernel

if TYPE_CHECKING:
    from raiselens_server.values.ops.layout import Shape
    from raiselens_server.values.ops.table import Bound, Row

_BOOL: Final = frozenset({"bool"})
_LONG: Final = frozenset({"int64"})
_DISCRETE: Final = INTEGRAL | _BOOL
_INEXACT: Final = ANY_FLOATING | COMPLEX
_LONE_KEEPDIM: Final = frozenset({"amax", "amin", "norm", "vector_norm"})
_REAL_OF: Final = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}


def reduced_shape(shape: Shape, chosen: tuple[int, ...], *, keepdim: bool | None) -> Shape | None:
    """The shape without `chosen`; None where `keepdim` is unknown."""
    if keepdim is None:
        return None
    return tuple(1 if dim in chosen else size for dim, size in enumerate(shape) if keepdim or dim not in chosen)


def _chosen(b: Bound, source: Tensor) -> tuple[int, ...] | Raise | None:
    """The dimensions to reduce: all of them where none is given."""
    shape = source.shape
    if shape is None:
        return None
    value = b.get("dim")
    everything = tuple(range(len(shape)))
    if reading.absent(value):
        return everything
    if isinstance(value, Seq) and not value.items:
        return everything
    chosen = axes.wrap_all(value, len(shape))
    if isinstance(chosen, Raise) and (0 in shape or (is_meta(source) and chosen.class_name == "RuntimeError")):
        return replace(chosen, message=(HolePart("message"),), earlier=True)
    return () if chosen == (0,) and not shape else chosen


def reduce(source: Tensor, chosen: tuple[int, ...] | None, names: frozenset[str], *, keepdim: bool | None) -> Tensor:
    """The new tensor of an operation that reduces `chosen`; None stands for unknown dimensions."""
    shape = None
    if source.shape is not None and chosen is not None:
        shape = reduced_shape(source.shape, chosen, keepdim=keepdim)
    return derive(source, names=names, shape=shape, strides=_reduced_strides(source, shape), contiguous=_stays(source))


def _stays(source: Tensor) -> bool | None:
    return True if source.contiguous else None


def _reduced_strides(source: Tensor, shape: Shape | None) -> Shape | None:
    if shape == ():
        return ()
    return layout.loose(shape, layout.contiguous_strides(shape)) if source.contiguous and shape is not None else None


def _names(b: Bound, source: Tensor) -> frozenset[str] | Raise:
    kind = b.data
    given = reading.dtypes_of(b.get("dtype"))
    match kind:
        case "sum":
            if given is not None:
                return given
            return frozenset("int64" if name in _DISCRETE else name for name in source.dtypes)
        case "mean":
            return _mean_names(source, given)
        case "bool":
            kept = frozenset({"uint8"}) & source.dtypes
            return kept | (_BOOL if source.dtypes - kept else frozenset())
        case "norm" | "deviation":
            return frozenset(_REAL_OF.get(name, name) for name in given or source.dtypes)
        case "float":
            return floated(source.dtypes, b.ambient.default_dtypes)
        case "long":
            return _LONG
        case _:
            return source.dtypes


def _mean_names(source: Tensor, given: frozenset[str] | None) -> frozenset[str] | Raise:
    names = source.dtypes if given is None else given
    allowed = names - _DISCRETE
    if names and not allowed:
        shown: object = dtype_text(names) if is_meta(source) else names
        which = "Input" if given is None else "Optional"
        text = f"mean(): could not infer output dtype. {which} dtype must be either a floating point or complex dtype. Got: "
        return error(
            "RuntimeError", "input" if given is None else "dtype", "the dtype is floating or complex", text, shown
        )
    return allowed


def _reduce(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None or ("keepdim" in b.named and "dim" not in b.named and b.name not in _LONE_KEEPDIM):
        return NO_RULE
    if "unbiased" in b.named and "correction" in b.named:
        return NO_RULE
    if b.data == "deviation" and source.dtypes and not source.dtypes & _INEXACT and not is_meta(source):
        text = "std and var only support floating point and complex dtypes"
        return error("RuntimeError", "input", "the dtype is floating or complex", text)
    if b.data == "norm" and "dtype" in b.named:
        return ok(Tensor(dtypes=reading.dtypes_of(b.get("dtype")) or source.dtypes), may_raise=True)
    if b.data == "norm" and source.dtypes and not source.dtypes & _INEXACT and not is_meta(source):
        text = "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
        return error("RuntimeError", "input", "the dtype is floating or complex", text, source.dtypes)
    chosen = _chosen(b, source)
    names = _names(b, source)
    for broken in (chosen, names) if is_meta(source) else (names, chosen):
        if isinstance(broken, Raise):
            return broken
    if isinstance(chosen, Raise) or isinstance(names, Raise):
        return NO_RULE
    keepdim = reading.flag(b.get("keepdim"), default=False)
    return ok(reduce(source, chosen, names, keepdim=keepdim), may_raise=chosen is None or len(names) > 1)


def _deviation(b: Bound) -> Outcome:
    if isinstance(b.get("dim"), Const) and isinstance(getattr(b.get("dim"), "value", None), bool):
        b.named.pop("dim")
    return _reduce(b)


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
    chosen = _chosen(b, source)
    if isinstance(chosen, Raise):
        return chosen
    return ok(reduce(source, chosen, _LONG, keepdim=keepdim), may_raise=chosen is None)


def _running(b: Bound) -> Outcome:
    """An operation along a dimension that keeps the shape."""
    source = b.tensor()
    if source is None:
        return NO_RULE
    names = _names(b, source)
    if isinstance(names, Raise):
        return names
    if b.inplace and "dtype" in b.named:
        return NO_RULE
    broken = _axis_error(b, source)
    if broken is not None:
        return broken
    made = Result(_kept(source, names), may_raise=source.shape is None)
    return into(source, made, casts=False) if b.inplace else made


def _kept(source: Tensor, names: frozenset[str]) -> Tensor:
    return derive(source, names=names, strides=None, contiguous=_stays(source))


def _axis_error(b: Bound, source: Tensor) -> Raise | None:
    if source.shape is None or reading.absent(b.get("dim")):
        return None
    dim = axes.wrap(b.get("dim"), len(source.shape))
    return dim if isinstance(dim, Raise) else None


def _softmax(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    given = reading.dtypes_of(b.get("dtype"))
    broken = None if is_meta(source) else _axis_error(b, source)
    if broken is not None:
        return broken
    names = given or source.dtypes
    filled = source.shape is not None and all(dims.less(0, size) is True for size in source.shape)
    if names and not names & _INEXACT and not is_meta(source) and filled:
        return no_kernel(HolePart("kernel"), names, source)
    return ok(_kept(source, names), may_raise=source.shape is None or reading.absent(b.get("dim")))


def _sorted(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    if is_meta(source):
        shape_only = derive(source, strides=None)
        longs = derive(shape_only, names=_LONG, requires_grad=False)
        made: Value = longs if b.data == "indices" else Seq((shape_only, longs), f"torch.return_types.{b.name}")
        return ok(made, may_raise=True)
    broken = _axis_error(b, source)
    if broken is not None and "stable" in b.named:
        return NO_RULE
    if broken is not None:
        loose = (b.data == "running" and not source.shape) or 0 in (source.shape or ())
        return NO_RULE if loose else broken
    values = _kept(source, source.dtypes)
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
    values = derive(source, shape=shape, strides=None, contiguous=_stays(source))
    return ok(
        Seq((values, derive(values, names=_LONG, requires_grad=False)), "torch.return_types.topk"), may_raise=True
    )


def _count(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    chosen = _chosen(b, source)
    if isinstance(chosen, Raise):
        return chosen
    return ok(derive(reduce(source, chosen, _LONG, keepdim=False), requires_grad=False), may_raise=chosen is None)


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
    return ok(derive(source, names=_LONG, shape=(None, rank), requires_grad=False))


ROWS: Final[tuple[Row, ...]] = (
    ("tm", "sum nansum", ":Tinput dim? keepdim? * dtype?", _reduce, "sum"),
    ("tm", "prod", ":Tinput dim? keepdim? * dtype?", _reduce, "sum"),
    ("tm", "mean", ":Tinput dim? keepdim? * dtype?", _reduce, "mean"),
    ("tm", "amax amin", ":Tinput dim? keepdim?", _reduce, "same"),
    ("tm", "all any", ":Tinput dim? keepdim?", _reduce, "bool"),
    ("tm", "logsumexp", ":Tinput dim keepdim?", _reduce, "float"),
    ("tm", "std var", ":Tinput dim? unbiased? keepdim? * correction?", _deviation, "deviation"),
    ("tm", "norm", ":Tinput p? dim? keepdim? dtype?", _reduce, "norm"),
    ("l", "vector_norm", ":Tinput ord? dim? keepdim? * dtype?", _reduce, "norm"),
    ("tm", "max min", ":Tinput dim? keepdim? other?", _extremum),
    ("tm", "mode", ":Tinput dim? keepdim?", _pair),
    ("tm", "median nanmedian", ":Tinput dim? keepdim?", _extremum),
    ("tm", "cummax cummin", ":Tinput dim", _sorted, "running"),
    ("tm", "argmax argmin", ":Tinput dim? keepdim?", _argument),
    ("tmi", "cumsum cumprod", ":Tinput dim * dtype?", _running, "sum"),
    ("tm", "logcumsumexp", ":Tinput dim", _running, "same"),
    ("tm", "softmax log_softmax", ":Tinput dim dtype?", _softmax),
    ("f", "softmax log_softmax", ":Tinput dim? _stacklevel? dtype?", _softmax),
    ("tm", "sort", ":Tinput dim? descending? * stable?", _sorted, "pair"),
    ("tm", "argsort", ":Tinput dim? descending? * stable?", _sorted, "indices"),
    ("tm", "topk", ":Tinput k dim? largest? sorted?", _topk),
    ("tm", "count_nonzero", ":Tinput dim?", _count),
    ("tm", "nonzero", ":Tinput * as_tuple?", _nonzero),
)
