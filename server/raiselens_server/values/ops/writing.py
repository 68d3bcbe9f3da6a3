"""Methods that fill or copy into a tensor, and views and copies that need little of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from raiselens_server.values.lattice import Const, Opaque, Seq, Tensor
from raiselens_server.values.ops import axes, layout, reading
from raiselens_server.values.ops.building import derive, error, ok
from raiselens_server.values.ops.elementwise import is_meta
from raiselens_server.values.ops.inplace import into
from raiselens_server.values.ops.outcome import NO_RULE, Outcome, Raise, Result

if TYPE_CHECKING:
    from raiselens_server.values.ops.table import Bound, Row


def _filled(b: Bound) -> Outcome:
    source = b.tensor()
    return NO_RULE if source is None else ok(replace(source, item=None), may_raise=True)


def _fill(b: Bound) -> Outcome:
    source, value = b.tensor(), b.get("value")
    if source is None:
        return NO_RULE
    if isinstance(value, Tensor) and value.shape and not is_meta(source):
        text = f"fill_ only supports 0-dimension value tensor but got tensor with {len(value.shape)} dimensions."
        return error("RuntimeError", "value", "value.dim() == 0", text)
    grad = source.requires_grad if reading.number_kind(value) or source.requires_grad else None
    return ok(replace(source, item=None, requires_grad=grad), may_raise=True)


def _copy(b: Bound) -> Outcome:
    source, values = b.tensor(), b.tensor("other")
    if source is None or values is None:
        return NO_RULE
    if is_meta(source) or is_meta(values):
        return ok(replace(source, item=None, requires_grad=None), may_raise=True)
    if source.shape is not None and values.shape is not None:
        common = layout.broadcast(source.shape, values.shape)
        if isinstance(common, layout.Mismatch):
            shown = (common.left, common.right, common.dim) if common.first else (None, None, None)
            parts = (
                "The size of tensor a (",
                shown[0],
                ") must match the size of tensor b (",
                shown[1],
                ") at non-singleton dimension ",
                shown[2],
            )
            return error("RuntimeError", "src", "src broadcasts to self", *parts)
        outcome = into(source, Result(replace(values, shape=common.shape), may_raise=True), casts=False)
    else:
        outcome = Result(source, may_raise=True)
    if isinstance(outcome, Result) and isinstance(outcome.value, Tensor):
        grad = source.requires_grad if values.requires_grad is False or source.requires_grad else None
        return ok(replace(outcome.value, item=None, requires_grad=grad), may_raise=True)
    return outcome


def _triangle(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    if source.shape is not None and len(source.shape) < 2:
        text = f"{b.name}: input tensor must have at least 2 dimensions"
        return error("RuntimeError", "input", "self.dim() >= 2", text)
    made = derive(source, strides=None, contiguous=True if source.contiguous else None)
    return into(source, Result(made, may_raise=True)) if b.inplace else ok(made, may_raise=source.shape is None)


def _flip(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    if source.shape is not None and not is_meta(source):
        value = b.get("dims")
        loose = (
            value.items[0] if isinstance(value, Seq) and value.kind == "varargs" and len(value.items) == 1 else value
        )
        chosen = axes.wrap_all(loose, len(source.shape), param="dims")
        if isinstance(chosen, Raise):
            return chosen
    return ok(derive(source, strides=None), may_raise=True)


def _roll(b: Bound) -> Outcome:
    source = b.tensor()
    return NO_RULE if source is None else ok(derive(source, strides=None), may_raise=True)


def _narrow(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    shape = source.shape
    if not shape:
        return ok(derive(source, shape=None), may_raise=True)
    dim = axes.wrap(b.get("dim"), len(shape))
    if isinstance(dim, Raise):
        return dim
    if dim is None:
        return ok(derive(source, shape=(None,) * len(shape)), may_raise=True)
    start, length, size = reading.constant_int(b.get("start")), reading.size_of(b.named["length"]), shape[dim]
    if (
        isinstance(start, int)
        and isinstance(length, int)
        and isinstance(size, int)
        and 0 <= start <= size < start + length
    ):
        text = f"start ({start}) + length ({length}) exceeds dimension size ({size})."
        return error("RuntimeError", "length", "start + length <= self.size(dim)", text)
    sizes = (*shape[:dim], length, *shape[dim + 1 :])
    strides = source.strides or (None,) * len(shape)
    return ok(derive(source, shape=sizes, strides=strides), may_raise=True)


def _select(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    shape = source.shape
    if not shape:
        return ok(derive(source, shape=None), may_raise=True)
    dim = axes.wrap(b.get("dim"), len(shape))
    if isinstance(dim, Raise):
        return dim
    if dim is None:
        return ok(derive(source, shape=(None,) * (len(shape) - 1)), may_raise=True)
    place, size = reading.constant_int(b.get("index")), shape[dim]
    if isinstance(size, int) and place is not None and not -size <= place < size:
        parts = (f"select(): index {place} out of range for tensor of size ", shape, f" at dimension {dim}")
        return error("IndexError", "index", "-size <= index < size", *parts)
    strides = source.strides or (None,) * len(shape)
    kept = [axis for axis in range(len(shape)) if axis != dim]
    made = derive(source, shape=tuple(shape[axis] for axis in kept), strides=tuple(strides[axis] for axis in kept))
    return ok(made, may_raise=True)


def _diag(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    shape = source.shape
    if shape is not None and len(shape) not in (1, 2):
        text = f"diag(): Supports 1D or 2D tensors. Got {len(shape)}D"
        return error("RuntimeError", "input", "self.dim() in (1, 2)", text) if not is_meta(source) else NO_RULE
    plain = reading.absent(b.get("diagonal")) or b.get("diagonal") == Const(0)
    made = (shape[0], shape[0]) if shape is not None and len(shape) == 1 and plain else None
    if shape is not None and len(shape) == 2 and plain and isinstance(shape[0], int) and isinstance(shape[1], int):
        made_vector = (min(shape[0], shape[1]),)
        return ok(derive(source, shape=made_vector, strides=None))
    return ok(derive(source, shape=made, strides=None), may_raise=True)


def _outer(b: Bound) -> Outcome:
    source, other = b.tensor(), b.tensor("vec2")
    if source is None or other is None:
        return NO_RULE
    for tensor, shown in ((source, "self"), (other, "vec2")):
        if tensor.shape is not None and len(tensor.shape) != 1 and not is_meta(source):
            text = f"outer: Expected 1-D argument {shown}, but got {len(tensor.shape)}-D"
            return error("RuntimeError", shown, f"{shown}.dim() == 1", text)
    shape = (*source.shape, *other.shape) if source.shape is not None and other.shape is not None else None
    return ok(Tensor(shape=shape, device=source.device if source.device == other.device else None), may_raise=True)


def _equal(b: Bound) -> Outcome:
    return NO_RULE if b.tensor() is None or b.tensor("other") is None else ok(Opaque("bool"), may_raise=True)


def _draw(b: Bound) -> Outcome:
    source = b.args[0] if b.args else None
    return ok(replace(source, item=None), may_raise=True) if isinstance(source, Tensor) else NO_RULE


ROWS: Final[tuple[Row, ...]] = (
    ("m", "zero_", ":Tinput", _filled),
    ("m", "normal_ uniform_ random_ exponential_ log_normal_ cauchy_ geometric_", None, _draw),
    ("m", "fill_", ":Tinput value", _fill),
    ("m", "copy_", ":Tinput other non_blocking?", _copy),
    ("tmi", "tril triu", ":Tinput diagonal?", _triangle),
    ("m", "flip", ":Tinput *dims", _flip),
    ("t", "flip", ":Tinput dims", _flip),
    ("tm", "roll", ":Tinput shifts dims?", _roll),
    ("tm", "narrow", ":Tinput dim start length", _narrow),
    ("tm", "select", ":Tinput dim index", _select),
    ("tm", "diag", ":Tinput diagonal?", _diag),
    ("tm", "outer ger", ":Tinput :Tvec2", _outer),
    ("tm", "equal", ":Tinput :Tother", _equal),
)
