"""Reading and writing by index tensors: `gather`, `scatter`, `index_select`, `embedding`, `masked_fill`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from raiselens_server.values import dims
from raiselens_server.values.lattice import HolePart, Tensor, Value
from raiselens_server.values.ops import axes, layout, reading
from raiselens_server.values.ops.building import derive, dtype_text, error, inherited_grad, ok
from raiselens_server.values.ops.devices import device_mismatch
from raiselens_server.values.ops.elementwise import is_meta
from raiselens_server.values.ops.inplace import into
from raiselens_server.values.ops.matmul import differ
from raiselens_server.values.ops.outcome import NO_RULE, Outcome, Raise, Result

if TYPE_CHECKING:
    from raiselens_server.values.ops.layout import Shape
    from raiselens_server.values.ops.table import Bound, Row

_WIDE: Final = frozenset({"int32", "int64"})

_LONG: Final = frozenset({"int64"})


@dataclass(frozen=True, slots=True)
class _IndexRule:
    """Which dtypes an index may have, and how the refusal reads; on meta tensors, None where it is silent."""

    allowed: frozenset[str]
    class_name: str
    text: str
    shows_dtype: bool
    meta: str | None


def _index_error(rule: _IndexRule, source: Tensor, index: Tensor) -> Raise | None:
    if not index.dtypes or index.dtypes & rule.allowed:
        return None
    condition = f"index.dtype in ({', '.join(sorted(rule.allowed))})"
    if is_meta(source) or is_meta(index):
        if rule.meta is None or is_meta(source) != is_meta(index):
            return None
        shown: tuple[object, ...] = (rule.meta, dtype_text(index.dtypes)) if rule.meta.endswith(" ") else (rule.meta,)
        return error(rule.class_name, "index", condition, *shown)
    return error(rule.class_name, "index", condition, rule.text, *((index.dtypes,) if rule.shows_dtype else ()))


_GATHER: Final = _IndexRule(
    _WIDE,
    "RuntimeError",
    "gather(): Expected dtype int32/int64 for index",
    False,
    "gather(): Expected dtype int32/int64 for index, but got ",
)

_SCATTER: Final = _IndexRule(
    _WIDE,
    "RuntimeError",
    "scatter(): Expected dtype int32/int64 for index",
    False,
    "scatter(): Expected dtype int32/int64 for index",
)

_SELECT: Final = _IndexRule(
    _WIDE, "RuntimeError", "index_select(): Expected dtype int32 or int64 for index", False, None
)

_ADD: Final = _IndexRule(
    _WIDE, "RuntimeError", "index_add_(): Expected dtype int32/int64 for index but got: ", True, None
)

_COPY: Final = _IndexRule(
    _LONG, "RuntimeError", "index_copy_(): Expected a long tensor for index, but got ", True, None
)

_FILL: Final = _IndexRule(_LONG, "IndexError", "index_fill_(): Expected dtype int64 for index.", False, None)

_TAKE: Final = _IndexRule(_LONG, "RuntimeError", "take(): Expected a long tensor for index, but got ", True, None)

_TAKE_ALONG: Final = _IndexRule(
    _LONG, "RuntimeError", "torch.take_along_dim(): dtype of indices should be Long but got ", True, None
)


def _dim(b: Bound, source: Tensor) -> int | Raise | None:
    return None if source.shape is None else axes.wrap(b.get("dim"), len(source.shape))


def written(source: Tensor, stored: Value | None) -> Tensor:
    """A copy of `source` with `stored` written into it."""
    plain = reading.number_kind(stored) is not None or (isinstance(stored, Tensor) and stored.requires_grad is False)
    grad = False if plain and source.requires_grad is False else None
    contiguous = True if source.contiguous else None
    return derive(source, strides=None, contiguous=contiguous, requires_grad=inherited_grad(grad, source.dtypes))


def _gather(b: Bound) -> Outcome:
    source, index = b.tensor(), b.tensor("index")
    if source is None or index is None:
        return NO_RULE
    dim = _dim(b, source)
    if isinstance(dim, Raise):
        return dim
    broken = device_mismatch(source, index, "index", "gather")
    if broken is not None:
        return broken
    broken = _index_error(_GATHER, source, index) if not _is_empty(index.shape or ()) else None
    if broken is not None:
        return broken
    own, wanted = source.shape, index.shape
    if own is not None and wanted is not None:
        ranks = (max(len(own), 1), max(len(wanted), 1))
        if ranks[0] != ranks[1] and 0 not in wanted and not _is_empty(wanted):
            text = "Index tensor must have the same number of dimensions as input tensor"
            return error("RuntimeError", "index", "index.dim() == self.dim()", text)
        too_large = _too_large(own, wanted, dim)
        if too_large is not None and len(own) == len(wanted) and not _is_empty(wanted):
            where, size_dim = too_large
            shown = [("torch.Size(", s, ")") for s in (wanted, own)] if is_meta(source) else [(wanted,), (own,)]
            return error(
                "RuntimeError",
                "index",
                "index.size(d) <= self.size(d)",
                f"Size does not match at dimension {where} expected index ",
                *shown[0],
                " to be no larger than self ",
                *shown[1],
                f" apart from dimension {size_dim}",
            )
    made = derive(
        source,
        shape=wanted,
        strides=None,
        contiguous=True if index.contiguous and index.shape is not None else None,
    )
    return ok(made, may_raise=True)


def _is_empty(shape: Shape) -> bool:
    """Whether a size is 0; an unknown one is taken to be at least 1."""
    return 0 in shape


def _too_large(own: Shape, wanted: Shape, dim: int | None) -> tuple[int, int] | None:
    if dim is None:
        return None
    for place, (size, index) in enumerate(zip(own, wanted, strict=False)):
        if place != dim and dims.less(size, index) is True:
            return place, dim
    return None


def _scatter(b: Bound) -> Outcome:
    source, index = b.tensor(), b.tensor("index")
    src = b.get("src") if "src" in b.named else b.get("value")
    if source is None or index is None or src is None or ("src" in b.named and "value" in b.named):
        return NO_RULE
    if is_meta(source) != is_meta(index):
        return NO_RULE
    dim = _dim(b, source)
    if isinstance(dim, Raise):
        return dim
    broken = _index_error(_SCATTER, source, index) if not _is_empty(index.shape or ()) else None
    if broken is not None:
        return broken
    if (
        isinstance(src, Tensor)
        and differ(source, src)
        and (b.data != "value" or src.shape)
        and is_meta(source) == is_meta(src)
    ):
        text = "scatter(): Expected self.dtype to be equal to src.dtype"
        return error("RuntimeError", "src", "self.dtype == src.dtype", text)
    own, wanted = source.shape, index.shape
    if own is not None and wanted is not None and not _is_empty(wanted) and max(len(own), 1) != max(len(wanted), 1):
        text = "Index tensor must have the same number of dimensions as self tensor"
        found = error("RuntimeError", "index", "index.dim() == self.dim()", text)
        return replace(found, earlier=isinstance(src, Tensor) and differ(source, src))
    if (
        own is not None
        and wanted is not None
        and len(own) == len(wanted)
        and not _is_empty(wanted)
        and not is_meta(source)
    ):
        broken = _scatter_size_error(own, wanted, dim, src)
        if broken is not None:
            return broken
    if b.inplace:
        return into(source, Result(written(source, src), may_raise=True))
    return ok(written(source, src), may_raise=True)


def _scatter_size_error(own: Shape, wanted: Shape, dim: int | None, src: Value | None) -> Raise | None:
    if dim is None or _too_large(own, wanted, dim) is None:
        return None
    parts: tuple[object, ...] = (
        "Expected index ",
        wanted,
        " to be no larger than self ",
        own,
        f" apart from dimension {dim}",
    )
    if isinstance(src, Tensor) and src.shape != ():
        if src.shape is None or len(src.shape) != len(own):
            return (
                error("RuntimeError", "index", "index.size(d) <= self.size(d)", HolePart("message"))
                if src.shape is None
                else None
            )
        parts = (*parts, " and to be no larger size than src ", src.shape)
    elif not reading.number_kind(src):
        parts = (HolePart("message"),)
    return error("RuntimeError", "index", "index.size(d) <= self.size(d)", *parts)


def _index_select(b: Bound) -> Outcome:
    source, index = b.tensor(), b.tensor("index")
    if source is None or index is None:
        return NO_RULE
    dim = _dim(b, source)
    mixed = is_meta(source) or is_meta(index)
    broken = device_mismatch(source, index, "index", "_index_select")
    if broken is not None:
        return broken
    if isinstance(dim, Raise):
        return dim if not mixed else NO_RULE
    if index.shape is not None and len(index.shape) > 1 and not mixed:
        return error("IndexError", "index", "index.dim() <= 1", "index_select(): Index is supposed to be a vector")
    broken = _index_error(_SELECT, source, index)
    if broken is not None and index.shape is not None and source.shape != ():
        # a CUDA tensor has another refusal for the same index
        on_cpu = source.device is not None and source.device.type == "cpu"
        return broken if on_cpu else replace(broken, earlier=True)
    count = None if mixed else layout.numel(index.shape) if index.shape is not None else None
    if source.shape is None:
        shape: Shape | None = None
    elif dim is None:
        shape = (None,) * len(source.shape)
    else:
        shape = (*source.shape[:dim], count, *source.shape[dim + 1 :]) if source.shape else ()
    made = derive(source, shape=shape, strides=None, contiguous=True if source.contiguous and not mixed else None)
    return ok(made, may_raise=True)


def _index_write(b: Bound) -> Outcome:
    """`index_add` and `index_copy`."""
    source, index, values = b.tensor(), b.tensor("index"), b.tensor("source")
    if source is None or index is None or values is None:
        return NO_RULE
    dim = _dim(b, source)
    if isinstance(dim, Raise):
        return dim
    meta = any(is_meta(t) for t in (source, index, values))
    if not meta:
        broken = _write_error(b, source, index, values)
        if broken is not None:
            return broken
    result = Result(written(source, values), may_raise=True)
    return into(source, result) if b.inplace else result


def _write_error(b: Bound, source: Tensor, index: Tensor, values: Tensor) -> Raise | None:
    if b.data is _ADD:
        if index.shape is not None and len(index.shape) > 1:
            return error(
                "IndexError",
                "index",
                "index.dim() <= 1",
                f"index_add_(): Index is supposed to be a vector, but got dim: {len(index.shape)} with type: ",
                index.dtypes,
                " and size: ",
                index.shape,
            )
        broken = _index_error(b.data, source, index)
        if broken is not None:
            return broken if index.shape is not None else None
        if differ(source, values):
            return error(
                "RuntimeError",
                "source",
                "self.dtype == source.dtype",
                "index_add_(): self (",
                source.dtypes,
                ") and source (",
                values.dtypes,
                ") must have the same scalar type",
            )
        return None
    ranks = {len(t.shape) if t.shape is not None else None for t in (source, values)}
    simple = (
        source.shape != ()
        and index.shape is not None
        and len(index.shape) == 1
        and len(ranks) == 1
        and None not in ranks
    )
    broken = _index_error(b.data, source, index) if simple else None
    if broken is not None:
        return broken
    if differ(source, values) and simple and index.dtypes == _LONG:
        return error(
            "RuntimeError",
            "source",
            "self.dtype == source.dtype",
            "index_copy_(): self and source expected to have the same dtype, but got (self) ",
            source.dtypes,
            " and (source) ",
            values.dtypes,
        )
    return None


def _index_fill(b: Bound) -> Outcome:
    source, index = b.tensor(), b.tensor("index")
    if source is None or index is None:
        return NO_RULE
    broken = _index_error(_FILL, source, index)
    dim = _dim(b, source)
    if isinstance(dim, Raise):
        return (
            dim
            if broken is None and index.shape is not None and len(index.shape) < 2 and not is_meta(source)
            else NO_RULE
        )
    if broken is not None:
        return broken
    result = Result(written(source, b.get("value")), may_raise=True)
    return into(source, result) if b.inplace else result


def _take(b: Bound) -> Outcome:
    source, index = b.tensor(), b.tensor("index")
    if source is None or index is None:
        return NO_RULE
    broken = _index_error(_TAKE, source, index)
    return broken or ok(derive(source, shape=index.shape, strides=None), may_raise=True)


def _take_along(b: Bound) -> Outcome:
    source, index = b.tensor(), b.tensor("indices")
    if source is None or index is None:
        return NO_RULE
    sized = source.shape and index.shape and len(source.shape) == len(index.shape) and not _is_empty(index.shape)
    broken = _index_error(_TAKE_ALONG, source, index) if sized and "dim" in b.named else None
    return broken or ok(derive(source, shape=None), may_raise=True)


ROWS: Final[tuple[Row, ...]] = (
    ("tm", "gather", ":Tinput dim :Tindex * sparse_grad?", _gather),
    ("tmi", "scatter", ":Tinput dim :Tindex src? * value? reduce?", _scatter, "value"),
    ("tmi", "scatter_add", ":Tinput dim :Tindex :Tsrc", _scatter, "add"),
    ("tmi", "scatter_reduce", ":Tinput dim :Tindex :Tsrc reduce * include_self?", _scatter, "reduce"),
    ("tm", "index_select", ":Tinput dim :Tindex", _index_select),
    ("tmi", "index_add", ":Tinput dim :Tindex :Tsource * alpha?", _index_write, _ADD),
    ("tmi", "index_copy", ":Tinput dim :Tindex :Tsource", _index_write, _COPY),
    ("tmi", "index_fill", ":Tinput dim :Tindex value", _index_fill),
    ("tm", "take", ":Tinput :Tindex", _take),
    ("tm", "take_along_dim", ":Tinput :Tindices dim?", _take_along),
)
