"""Operations over dimensions: sums, extrema, running sums, sorting, softmax."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from raiselens_server.values import dims
from raiselens_server.values.dtypes import ANY_FLOATING, COMPLEX, INTEGRAL
from raiselens_server.values.lattice import Const, HolePart, Seq, Tensor
from raiselens_server.values.ops import axes, layout, reading
from raiselens_server.values.ops.building import derive, dtype_text, error, ok
from raiselens_server.values.ops.elementwise import is_meta
from raiselens_server.values.ops.inplace import into
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


def chosen_dims(b: Bound, source: Tensor) -> tuple[int, ...] | Raise | None:
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
    return derive(source, names=names, shape=shape, strides=_reduced_strides(source, shape), contiguous=stays(source))


def stays(source: Tensor) -> bool | None:
    """Whether a result is certainly contiguous because `source` is."""
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
        return ok(Tensor(), may_raise=True)
    if b.data == "norm" and source.dtypes and not source.dtypes & _INEXACT:
        text = "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
        shown: object = dtype_text(source.dtypes) if is_meta(source) else source.dtypes
        return error("RuntimeError", "input", "the dtype is floating or complex", text, shown)
    chosen = chosen_dims(b, source)
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
    broken = axis_error(b, source)
    if broken is not None:
        return broken
    made = Result(kept(source, names), may_raise=source.shape is None)
    return into(source, made, casts=False) if b.inplace else made


def kept(source: Tensor, names: frozenset[str]) -> Tensor:
    """A new tensor of the shape of `source`."""
    return derive(source, names=names, strides=None, contiguous=stays(source))


def axis_error(b: Bound, source: Tensor) -> Raise | None:
    """The raise of a `dim` that is certainly out of range."""
    if source.shape is None or reading.absent(b.get("dim")):
        return None
    dim = axes.wrap(b.get("dim"), len(source.shape))
    return dim if isinstance(dim, Raise) else None


def _softmax(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    given = reading.dtypes_of(b.get("dtype"))
    broken = None if is_meta(source) else axis_error(b, source)
    if broken is not None:
        return broken
    names = given or source.dtypes
    filled = source.shape is not None and all(dims.less(0, size) is True for size in source.shape)
    if names and not names & _INEXACT and not is_meta(source) and filled:
        return no_kernel(HolePart("kernel"), names, source)
    return ok(kept(source, names), may_raise=source.shape is None or reading.absent(b.get("dim")))


def _count(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    chosen = chosen_dims(b, source)
    if isinstance(chosen, Raise):
        return chosen
    return ok(derive(reduce(source, chosen, _LONG, keepdim=False), requires_grad=False), may_raise=chosen is None)


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
    ("tmi", "cumsum cumprod", ":Tinput dim * dtype?", _running, "sum"),
    ("tm", "logcumsumexp", ":Tinput dim", _running, "same"),
    ("tm", "softmax log_softmax", ":Tinput dim dtype?", _softmax),
    ("f", "softmax log_softmax", ":Tinput dim? _stacklevel? dtype?", _softmax),
    ("tm", "count_nonzero", ":Tinput dim?", _count),
)
