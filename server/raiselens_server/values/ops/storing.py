"""`tensor[index] = value`: what may be stored, and what the tensor is afterwards."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from raiselens_server.values import dims
from raiselens_server.values.lattice import Array, Const, HolePart, Seq, Tensor, Value
from raiselens_server.values.ops import layout, reading
from raiselens_server.values.ops.building import error, legacy_type, ok
from raiselens_server.values.ops.elementwise import is_meta
from raiselens_server.values.ops.outcome import Outcome, Raise
from raiselens_server.values.ops.subscripts import Walk, indexed_shape, uncertain, walk_index
from raiselens_server.values.ops.table import hedged, mixes_meta, on_leaf

if TYPE_CHECKING:
    from raiselens_server.values.ops.layout import Shape


def setitem(tensor: Tensor | Array, index: Value, value: Value, *, augmented: bool = False) -> Outcome:
    """`tensor[index] = value`; the value is the tensor afterwards. `augmented`: `tensor[index] op= …` wrote it back."""
    if isinstance(tensor, Array):
        return ok(tensor, may_raise=True)
    after = _changed(tensor, value)
    if tensor.shape is None:
        return ok(after, may_raise=True)
    walked = walk_index(tensor, tensor.shape, index)
    if walked is None or (is_meta(tensor) and isinstance(walked, Raise)) or mixes_meta((tensor, index, value)):
        return ok(after, may_raise=True)
    if isinstance(walked, Raise):
        return hedged(walked, (tensor, index))
    if not isinstance(value, Tensor):
        broken = None if augmented else _unassignable(tensor, value)
        if broken is not None:
            return hedged(broken, (tensor, index))
        return ok(after, may_raise=not walked.decided or bool(walked.places) or reading.number_kind(value) is None)
    broken = _put_error(tensor, walked, value) if walked.places else _copy_error(tuple(walked.shape), value)
    if broken is not None:
        return on_leaf(
            value if value.requires_grad else tensor,
            hedged(replace(broken, earlier=broken.earlier or not walked.decided), (tensor, index, value)),
        )
    return ok(after, may_raise=True)


def _changed(tensor: Tensor, value: Value) -> Tensor:
    plain = reading.number_kind(value) is not None or (isinstance(value, Tensor) and value.requires_grad is False)
    grad = tensor.requires_grad if plain or tensor.requires_grad else None
    same = tensor.item is None and grad == tensor.requires_grad
    return tensor if same else replace(tensor, item=None, requires_grad=grad)


def _unassignable(tensor: Tensor, value: Value) -> Raise | None:
    kind = reading.type_name(value)
    no_number = (isinstance(value, Seq) and value.kind in ("list", "tuple")) or (
        isinstance(value, Const) and (value.value is None or isinstance(value.value, str))
    )
    if not no_number or kind is None:
        return None
    return error(
        "TypeError", None, "the value is a tensor or a number", f"can't assign a {kind} to a ", legacy_type(tensor)
    )


def _put_error(tensor: Tensor, walk: Walk, value: Tensor) -> Raise | None:
    shape = indexed_shape(walk)
    if walk.flagged or (walk.meta and isinstance(shape, Raise)):
        return None
    if isinstance(shape, Raise):
        return shape if not walk.masked else uncertain(shape)
    if is_meta(tensor) or is_meta(value) or walk.meta or 0 in shape or 0 in (tensor.shape or ()):
        return None
    if walk.masked and len(walk.places) > 1:
        return None
    if walk.masked and (value.shape is None or layout.numel(value.shape) in (0, 1, None)):
        return None
    if tensor.dtypes and value.dtypes and not tensor.dtypes & value.dtypes:
        return error(
            "RuntimeError",
            "value",
            "value.dtype == self.dtype",
            *(
                (HolePart("message"),)
                if walk.masked or value.shape is None or _value_shape_error(shape, value)
                else (
                    "Index put requires the source and destination dtypes match, got ",
                    tensor.dtypes,
                    " for the destination and ",
                    value.dtypes,
                    " for the source.",
                )
            ),
        )
    if value.shape is None or walk.masked:
        return None
    return _value_shape_error(shape, value)


def _value_shape_error(shape: Shape, value: Tensor) -> Raise | None:
    sizes = _without_leading_ones(value.shape or ())
    fits = len(sizes) <= len(shape) and not any(
        dims.equal(a, b) is False and dims.equal(a, 1) is False
        for a, b in zip(reversed(sizes), reversed(shape), strict=False)
    )
    if fits or 0 in shape or any(size is None for size in sizes[: len(sizes) - len(shape)]):
        return None
    if len(sizes) > len(shape) and not isinstance(sizes[0], int):
        return None
    return error(
        "RuntimeError",
        "value",
        "the value broadcasts to the indexed shape",
        "shape mismatch: value tensor of shape ",
        sizes,
        " cannot be broadcast to indexing result of shape ",
        shape,
    )


def _without_leading_ones(shape: Shape) -> Shape:
    first = next((place for place, size in enumerate(shape) if size != 1), len(shape))
    return shape[first:]


def _copy_error(shape: Shape, value: Tensor) -> Raise | None:
    if value.shape is None or 0 in shape or 0 in value.shape:
        return None
    sizes = _without_leading_ones(value.shape)
    if len(sizes) > len(shape):
        if not isinstance(sizes[0], int):
            return None
        return error(
            "RuntimeError",
            "value",
            "value.dim() <= the indexed view's",
            "expand(",
            legacy_type(value),
            "{",
            sizes,
            "}, size=",
            shape,
            f"): the number of sizes provided ({len(shape)}) must be greater or equal to the number of dimensions"
            f" in the tensor ({len(sizes)})",
        )
    decided = True
    for back in range(1, len(sizes) + 1):
        own, wanted = sizes[-back], shape[-back]
        if dims.equal(own, wanted) is False and dims.equal(own, 1) is False:
            where = len(shape) - back
            return error(
                "RuntimeError",
                "value",
                "the value broadcasts to the indexed view",
                "The expanded size of the tensor (",
                wanted if decided else None,
                ") must match the existing size (",
                own if decided else None,
                ") at non-singleton dimension ",
                where if decided else None,
                ".  Target sizes: ",
                shape,
                ".  Tensor sizes: ",
                sizes,
            )
        decided = decided and (own == 1 or dims.equal(own, wanted) is True)
    return None
