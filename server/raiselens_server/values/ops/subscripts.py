"""`tensor[index]` and `tensor[index] = value`.

An index is walked from left to right: ints and slices make a view, `None` a new dimension, and index tensors are left
to the end, where their broadcast shape takes the place of the dimensions they index.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from raiselens_server.values import dims
from raiselens_server.values.dtypes import INTEGRAL
from raiselens_server.values.lattice import Array, Const, DType, HolePart, Int, Opaque, Seq, Slice, Tensor, Text, Value
from raiselens_server.values.ops import layout, reading
from raiselens_server.values.ops.building import derive, device_text, error, ok
from raiselens_server.values.ops.devices import apart
from raiselens_server.values.ops.elementwise import is_meta
from raiselens_server.values.ops.layout import Mismatch
from raiselens_server.values.ops.outcome import NO_RULE, Outcome, Raise, Result
from raiselens_server.values.ops.slices import SliceSize, slice_size
from raiselens_server.values.ops.table import hedged, mixes_meta

if TYPE_CHECKING:
    from raiselens_server.values.dims import Dim
    from raiselens_server.values.ops.layout import Shape

_INDEX_DTYPES: Final = frozenset({"int64", "int32", "uint8", "bool"})

_MASKS: Final = frozenset({"bool", "uint8"})

_NOT_AN_INDEX: Final = "tensors used as indices must be long, int, byte or bool tensors"

_LIST_LIMIT: Final = 1024


@dataclass(slots=True)
class Walk:
    """The view made so far, and the dimensions of it that index tensors take."""

    shape: list[Dim | None] = field(default_factory=list)
    strides: list[Dim | None] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    indices: list[Shape | None] = field(default_factory=list)
    decided: bool = True
    contiguous: bool = True
    started: bool = False
    masked: bool = False
    meta: bool = False
    flagged: bool = False


def getitem(tensor: Tensor | Array, index: Value) -> Outcome:
    """`tensor[index]`; several indices come as a `Seq` of kind `tuple`."""
    if isinstance(tensor, Array):
        return _array_item(tensor, index)
    if tensor.shape is None:
        return ok(derive(tensor, shape=None), may_raise=True)
    walked = walk_index(tensor, tensor.shape, index)
    loose = mixes_meta((tensor, index)) or (is_meta(tensor) and isinstance(index, Seq))
    if walked is None or (isinstance(walked, Raise) and loose):
        return ok(derive(tensor, shape=None), may_raise=True)
    if isinstance(walked, Raise):
        return hedged(walked, (tensor, index))
    if walked.places:
        outcome = _gathered(tensor, walked)
        return hedged(outcome, (tensor, index)) if isinstance(outcome, Raise) else outcome
    contiguous = True if tensor.contiguous and walked.contiguous else None
    strides = tuple(walked.strides)
    return ok(
        derive(tensor, shape=tuple(walked.shape), strides=strides, contiguous=contiguous), may_raise=not walked.decided
    )


def walk_index(tensor: Tensor, shape: Shape, index: Value) -> Walk | Raise | None:
    """Walk the index; None where not even the rank of the result is known."""
    items = index.items if isinstance(index, Seq) and index.kind == "tuple" else (index,)
    if sum(item == Const(...) for item in items) > 1:
        return None
    taken = 0
    for item in items:
        used = _dims_used(item)
        if used is None:
            return None
        taken += used
    if taken > len(shape):
        return _too_many(shape, items)
    walk = Walk(meta=is_meta(tensor))
    strides = tensor.strides or (None,) * len(shape)
    at = 0
    pending: Raise | None = None
    for position, item in enumerate(items):
        if item == Const(...):
            skipped = len(shape) - taken
            _keep(walk, shape[at : at + skipped], strides[at : at + skipped])
            at += skipped
            continue
        step = _apply(walk, tensor, shape, strides, at, item, position)
        if not isinstance(step, Raise):
            at += step
            continue
        if not isinstance(item, Tensor | Seq):
            return step if walk.decided else replace(step, earlier=True)
        # torch applies all ints and slices before it looks at the first index tensor
        step = _tensor_error(walk, items, step)
        pending = pending or (step if walk.decided else replace(step, earlier=True))
        used = _dims_used(item) or 0
        _keep(walk, shape[at : at + used], strides[at : at + used])
        at += used
    _keep(walk, shape[at:], strides[at:])
    return pending or walk


def _tensor_error(walk: Walk, items: tuple[Value, ...], found: Raise) -> Raise:
    """The raise of an index tensor; other indices may have changed what the message shows."""
    return found if len(items) == 1 and not walk.places else replace(found, message=(HolePart("message"),))


def uncertain(found: Raise) -> Raise:
    """The raise without its message, which an earlier undecided index may change."""
    return replace(found, message=(HolePart("message"),), earlier=True)


def _dims_used(item: Value) -> int | None:
    match item:
        case Const(value=None) | Const(value=bool()):
            return 0
        case Const(value=value) if value is ...:
            return 0
        case Const() | Int() | Slice() | Opaque(type="int") | DType() | Text():
            return 1
        case Tensor(dtypes=names, shape=shape):
            if shape is None:
                return None
            if names <= _MASKS:
                return len(shape)
            return None if names & _MASKS else 1
        case Seq(kind="list", items=items) if len(items) <= _LIST_LIMIT:
            flat = all(reading.number_kind(entry) in ("int", "bool") for entry in items)
            return 1 if flat and len({reading.number_kind(entry) for entry in items}) <= 1 else None
        case _:
            return None


def _too_many(shape: Shape, items: tuple[Value, ...]) -> Raise:
    if not shape and len(items) == 1 and isinstance(items[0], Slice):
        return error("IndexError", None, "self.dim() > 0", "slice() cannot be applied to a 0-dim tensor.")
    if not shape and len(items) == 1 and reading.number_kind(items[0]) == "int":
        place = reading.constant_int(items[0])
        if place != 0:
            return error("IndexError", None, "self.dim() > 0", HolePart("message"))
        text = (
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a"
            " 0-dim tensor to a number"
        )
        return error("IndexError", None, "self.dim() > 0", text)
    text = f"too many indices for tensor of dimension {len(shape)}"
    return error("IndexError", None, "as many indices as dimensions at most", text)


def _keep(walk: Walk, sizes: Shape, steps: Shape) -> None:
    if sizes:
        walk.started = True
    walk.shape.extend(sizes)
    walk.strides.extend(steps)


def _apply(
    walk: Walk, tensor: Tensor, shape: Shape, strides: Shape, at: int, item: Value, position: int
) -> int | Raise:
    """Apply one index; the number of dimensions of the tensor that it took."""
    match item:
        case Const(value=None):
            step = dims.multiply(shape[at], strides[at]) if at < len(shape) else 1
            walk.shape.append(1)
            walk.strides.append(step)
            return 0
        case Const(value=bool() as flag):
            walk.flagged = True
            walk.places.append(len(walk.shape))
            walk.indices.append((int(flag),))
            walk.shape.append(1)
            walk.strides.append(None)
            return 0
        case Slice():
            return _slice(walk, shape[at], strides[at], item)
        case Const(value=int()) | Int() | Opaque(type="int"):
            return _select(walk, shape[at], position, item)
        case Tensor():
            return _index(walk, tensor, shape, strides, at, item)
        case Seq(items=entries):
            if entries and reading.number_kind(entries[0]) == "bool":
                mask = Tensor(frozenset({"bool"}), (len(entries),))
                return _index(walk, tensor, shape, strides, at, mask)
            return _index(walk, tensor, shape, strides, at, Tensor(frozenset({"int64"}), (len(entries),)))
        case _:
            return _no_index(item)


def _no_index(item: Value) -> Raise:
    if isinstance(item, Text) or (isinstance(item, Const) and isinstance(item.value, str)):
        return error("TypeError", None, "the index is no str", "new(): invalid data type 'str'")
    text = "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
    return error("IndexError", None, "the index is an int, a slice or a tensor", f"{text}{reading.type_name(item)})")


def _slice(walk: Walk, size: Dim | None, stride: Dim | None, item: Slice) -> int | Raise:
    found = slice_size(size, item)
    if not isinstance(found, SliceSize):
        return found
    walk.decided = walk.decided and found.decided
    whole = all(reading.absent(part) for part in (item.start, item.stop, item.step))
    if (walk.started and not whole and (size is None or found.size != size)) or (found.step != 1 and found.size != 1):
        walk.contiguous = False
    walk.started = True
    walk.shape.append(found.size)
    walk.strides.append(None if found.step is None else dims.multiply(stride, found.step))
    return 1


def _select(walk: Walk, size: Dim | None, position: int, item: Value) -> int | Raise:
    place = reading.size_of(item)
    outside = dims.less(place, size) is False
    below = place is not None and size is not None and dims.less(dims.add(place, size), 0) is True
    if (outside and dims.less(place, 0) is False) or below:
        shown = place
        return error(
            "IndexError",
            None,
            "-size <= index < size",
            "index ",
            shown,
            f" is out of bounds for dimension {position} with size ",
            size,
        )
    inside = dims.less(place, size) is True and place is not None and size is not None
    walk.decided = walk.decided and inside
    if walk.started:
        walk.contiguous = False
    return 1


def _index(walk: Walk, tensor: Tensor, shape: Shape, strides: Shape, at: int, item: Tensor) -> int | Raise:
    if not item.dtypes & _INDEX_DTYPES:
        class_name = "RuntimeError" if is_meta(tensor) or is_meta(item) else "IndexError"
        if item.shape == () and len(item.dtypes & INTEGRAL) == len(item.dtypes):
            walk.decided = False
            walk.contiguous = walk.contiguous and not walk.started
            return 1
        text = _NOT_AN_INDEX if not walk.places else HolePart("message")
        return error(class_name, None, "index.dtype in (int64, int32, uint8, bool)", text)
    own, other = tensor.device, item.device
    if own is not None and other is not None and apart(own, other) and other.type != "cpu" and item.shape != ():
        text = "indices should be either on cpu or on the same device as the indexed tensor ("
        return error("RuntimeError", None, "index.device in (cpu, self.device)", text, device_text(own), ")")
    sizes = item.shape or ()
    if item.dtypes <= _MASKS:
        return _mask(walk, shape, strides, at, sizes, meta=is_meta(tensor) or is_meta(item))
    walk.meta = walk.meta or is_meta(item)
    if not sizes:
        walk.decided = False
        if walk.started:
            walk.contiguous = False
        return 1
    walk.places.append(len(walk.shape))
    walk.indices.append(sizes)
    _keep(walk, shape[at : at + 1], strides[at : at + 1])
    return 1


def _mask(walk: Walk, shape: Shape, strides: Shape, at: int, sizes: Shape, *, meta: bool) -> int | Raise:
    walk.masked = True
    if not sizes:
        walk.places.append(len(walk.shape))
        walk.indices.append((None,))
        walk.shape.append(1)
        walk.strides.append(None)
        return 0
    for offset, size in enumerate(sizes):
        own = shape[at + offset]
        if dims.equal(size, own) is False and not meta:
            viewed = (*walk.shape, *shape[at:])
            place = len(walk.shape)
            return error(
                "IndexError",
                None,
                "mask.size(i) == self.size(i)",
                "The shape of the mask ",
                sizes,
                f" at index {offset} does not match the shape of the indexed tensor ",
                viewed if not walk.places else HolePart("shape"),
                " at index ",
                HolePart("dim") if walk.places or meta else str(place + offset),
            )
        walk.decided = walk.decided and size == own
    for offset in range(len(sizes)):
        walk.places.append(len(walk.shape))
        walk.indices.append((None,))
        walk.shape.append(shape[at + offset])
        walk.strides.append(strides[at + offset])
    return len(sizes)


def _gathered(tensor: Tensor, walk: Walk) -> Outcome:
    shape = indexed_shape(walk)
    if isinstance(shape, Raise):
        if walk.meta:
            return ok(derive(tensor, shape=None), may_raise=True)
        return shape if not walk.masked else uncertain(shape)
    front = walk.places == list(range(len(walk.places)))
    whole = tensor.contiguous and 0 not in (tensor.shape or ()) and front and len(walk.shape) == len(tensor.shape or ())
    strides = (
        layout.loose(shape, layout.contiguous_strides(shape)) if whole and not walk.masked else (None,) * len(shape)
    )
    return ok(derive(tensor, shape=shape, strides=strides, contiguous=True if whole else None), may_raise=True)


def indexed_shape(walk: Walk) -> Shape | Raise:
    """The shape of the indexed result, where index tensors take part."""
    sizes = [index for index in walk.indices if index is not None]
    common = layout.broadcast_all(sizes)
    if isinstance(common, Mismatch):
        shown: list[object] = []
        for index in sizes:
            shown += [", " if shown else "", index if None not in index else HolePart("shape")]
        text = "shape mismatch: indexing tensors could not be broadcast together with shapes "
        return error("IndexError", None, "the index tensors broadcast", text, *shown)
    kept = [size for place, size in enumerate(walk.shape) if place not in walk.places]
    first, last = walk.places[0], walk.places[-1]
    at = first if last - first + 1 == len(walk.places) else 0
    return (*kept[:at], *common.shape, *kept[at:])


def _array_item(array: Array, index: Value) -> Outcome:
    if array.shape is None:
        return NO_RULE
    walked = walk_index(Tensor(array.dtypes, array.shape), array.shape, index)
    if not isinstance(walked, Walk) or walked.places or not walked.shape:
        return NO_RULE
    return Result(Array(array.dtypes, tuple(walked.shape)), may_raise=True)
