"""Joining tensors and taking them apart: `cat`, `stack`, `split`, `repeat`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from raiselens_server.values import dims
from raiselens_server.values.lattice import Const, Seq, Tensor, Unknown, Value
from raiselens_server.values.ops import axes, layout, reading
from raiselens_server.values.ops.building import derive, error, inherited_grad, ok
from raiselens_server.values.ops.elementwise import common_device, is_meta
from raiselens_server.values.ops.outcome import NO_RULE, Outcome, Raise
from raiselens_server.values.ops.shaping import unsqueezed
from raiselens_server.values.promotion import DIMENSIONED, ZERO_DIM, result_types

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raiselens_server.values.dims import Dim
    from raiselens_server.values.ops.layout import Shape
    from raiselens_server.values.ops.table import Bound, Row

_ZERO_DIM_ONLY: Final = frozenset({ZERO_DIM})
_EITHER: Final = frozenset({DIMENSIONED, ZERO_DIM})
_DIMENSIONED_ONLY: Final = frozenset({DIMENSIONED})
_LIMIT: Final = 64


def _tensors(b: Bound) -> list[Tensor] | Outcome:
    """The list of tensors, or what comes of something else in its place."""
    value = b.get("tensors")
    if isinstance(value, Tensor):
        text = f"{b.name}(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor"
        return error("TypeError", "tensors", "isinstance(tensors, tuple)", text)
    if not isinstance(value, Seq) or value.kind not in ("list", "tuple"):
        return ok(Tensor(), may_raise=True)
    found: list[Tensor] = []
    for place, item in enumerate(value.items):
        tensor = reading.tensor_of(item)
        if tensor is None:
            kind = reading.type_name(item)
            if kind is None or isinstance(item, Seq):
                return NO_RULE
            text = f"expected Tensor as element {place} in argument 0, but got {kind}"
            return error("TypeError", "tensors", "all are tensors", text)
        found.append(tensor)
    return found


def _joint_dtypes(tensors: Sequence[Tensor]) -> frozenset[str]:
    return result_types(
        (t.dtypes, _EITHER if t.shape is None else _DIMENSIONED_ONLY if t.shape else _ZERO_DIM_ONLY)
        for t in _distinct(tensors)
    )


def _distinct(tensors: Sequence[Tensor]) -> list[Tensor]:
    """One tensor for each pair of dtypes and shape: what promotion looks at."""
    return list({(t.dtypes, t.shape == (), t.shape is None): t for t in tensors}.values())


def _cat(b: Bound) -> Outcome:
    tensors = _tensors(b)
    if not isinstance(tensors, list):
        return tensors
    if not tensors:
        return error("ValueError", "tensors", "len(tensors) > 0", "torch.cat(): expected a non-empty list of Tensors")
    value = b.get("dim")
    return joined(tensors, Const(0) if value is None else value)


def joined(tensors: Sequence[Tensor], dim_value: Value) -> Outcome:
    """`torch.cat`."""
    names = _joint_dtypes(tensors)
    device = common_device([t if t.shape else Tensor(t.dtypes, (None,), t.device) for t in tensors], exact=True)
    if (
        any(t.device is None for t in tensors)
        and not isinstance(device, Raise)
        and any(t.device is not None for t in tensors)
    ):
        device = next((t.device for t in tensors if t.device is not None), None)
    if len(names) == 0:
        return ok(Tensor(), may_raise=True)
    for place, tensor in enumerate(tensors):
        if tensor.shape == () and is_meta(tensor):
            return NO_RULE
        if tensor.shape == () and not isinstance(device, Raise):
            text = f"zero-dimensional tensor (at position {place}) cannot be concatenated"
            return error("RuntimeError", "tensors", "tensor.dim() > 0", text)
    if isinstance(device, Raise):
        return device
    kept = [(place, t) for place, t in enumerate(tensors) if t.shape != (0,)]
    loose = any(t.shape is None or (len(t.shape) == 1 and not isinstance(t.shape[0], int)) for t in tensors)
    ranked = [
        (place, t, t.shape)
        for place, t in kept
        if t.shape is not None and not (len(t.shape) == 1 and t.shape[0] is None)
    ]
    shape: Shape | None = None
    if ranked:
        measured = _cat_shape(ranked, dim_value, certain=not loose)
        if isinstance(measured, Raise):
            return measured
        shape = None if loose else measured
    elif not loose:
        shape = (0,)
    grad = False if all(t.requires_grad is False for t in tensors) else None
    made = derive(
        tensors[0],
        names=names,
        shape=shape,
        device=device,
        strides=None,
        contiguous=True if all(t.contiguous for t in tensors) else None,
        requires_grad=inherited_grad(grad, names),
    )
    return ok(made, may_raise=True)


def _cat_shape(ranked: Sequence[tuple[int, Tensor, Shape]], dim_value: Value, *, certain: bool) -> Shape | Raise | None:
    _, first, shape = ranked[0]
    meta = is_meta(first)
    dim = axes.wrap(dim_value, len(shape))
    if isinstance(dim, Raise) and certain:
        return dim
    if isinstance(dim, Raise):
        return None
    total: Dim | None = shape[dim] if dim is not None else None
    sizes = list(shape)
    for place, _, other in ranked[1:]:
        if len(other) != len(shape):
            if any(s is not None and not isinstance(s, int) for one in (shape, other) if len(one) == 1 for s in one):
                return None
            if meta:
                text = f"Number of dimensions of tensors must match.  Expected {len(shape)}-D tensors, but got {len(other)}-D for tensor number {place} in the list"
            else:
                text = f"Tensors must have same number of dimensions: got {len(shape)} and {len(other)}"
            return error("RuntimeError", "tensors", "the same number of dimensions", text)
        for axis, (size, own) in enumerate(zip(sizes, other, strict=True)):
            if dim is None:
                sizes[axis] = None
            elif axis == dim:
                total = None if total is None or own is None else dims.add(total, own)
            elif dims.equal(size, own) is False:
                return _cat_size_error(dim, axis, size, own, place, meta=meta)
            elif size is None:
                sizes[axis] = own
    if dim is None:
        return (None,) * len(shape)
    sizes[dim] = total
    return tuple(sizes)


def _cat_size_error(dim: int, axis: int, size: Dim | None, own: Dim | None, place: int, *, meta: bool) -> Raise:
    start = f"Sizes of tensors must match except in dimension {dim}. Expected "
    if meta:
        parts: tuple[object, ...] = (
            start,
            size,
            f" in dimension {axis} but got ",
            own,
            f" for tensor number {place} in the list",
        )
    else:
        parts = (start, "size ", size, " but got size ", own, f" for tensor number {place} in the list.")
    return error("RuntimeError", "tensors", "sizes match except in dim", *parts)


def _stack(b: Bound) -> Outcome:
    tensors = _tensors(b)
    if not isinstance(tensors, list):
        return tensors
    if not tensors:
        return error("RuntimeError", "tensors", "len(tensors) > 0", "stack expects a non-empty TensorList")
    shape = next((t.shape for t in tensors if t.shape is not None), None)
    value = b.get("dim")
    dim = (
        axes.wrap(Const(0) if value is None else value, len(tensors[0].shape or ()), extra=1)
        if tensors[0].shape is not None
        else None
    )
    if isinstance(dim, Raise):
        return dim
    first = tensors[0].shape
    for place, tensor in enumerate(tensors):
        if first is None or tensor.shape is None:
            continue
        differ = len(first) != len(tensor.shape) or any(
            dims.equal(a, c) is False for a, c in zip(first, tensor.shape, strict=True)
        )
        if differ:
            text = "stack expects each tensor to be equal size, but got "
            if is_meta(tensors[0]):
                parts: tuple[object, ...] = (text, "torch.Size(", first, ") at entry 0 ")
            else:
                parts = (text, first, " at entry 0 and ", tensor.shape, f" at entry {place}")
            return error("RuntimeError", "tensors", "all sizes are equal", *parts)
    names = _joint_dtypes(tensors)
    device = common_device([t if t.shape else Tensor(t.dtypes, (None,), t.device) for t in tensors], exact=True)
    if isinstance(device, Raise):
        return device
    made_shape = None
    if shape is not None:
        made_shape = (None,) * (len(shape) + 1) if dim is None else (*shape[:dim], len(tensors), *shape[dim:])
    grad = False if all(t.requires_grad is False for t in tensors) else None
    made = derive(
        tensors[0],
        names=names,
        shape=made_shape,
        device=device,
        strides=None,
        contiguous=True if all(t.contiguous for t in tensors) else None,
        requires_grad=inherited_grad(grad, names),
    )
    return ok(made, may_raise=True)


def _row_stack(b: Bound) -> Outcome:
    tensors = _tensors(b)
    if not isinstance(tensors, list) or not tensors:
        return tensors if not isinstance(tensors, list) else NO_RULE
    if any(t.shape is None for t in tensors):
        return ok(Tensor(_joint_dtypes(tensors)), may_raise=True)
    lifted = [_at_least(t, b.data) for t in tensors]
    dim = {"h": 0 if len(lifted[0].shape or ()) == 1 else 1, "v": 0, "d": 2}[b.data]
    return joined(lifted, Const(dim))


def _at_least(tensor: Tensor, kind: str) -> Tensor:
    wanted = {"h": 1, "v": 2, "d": 3}[kind]
    while len(tensor.shape or ()) < wanted:
        rank = len(tensor.shape or ())
        tensor = unsqueezed(tensor, 2 if rank == 2 else 0)
    return tensor


def _split(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    if source.shape is None:
        return ok(Unknown("split"), may_raise=True)
    if not source.shape:
        return error("RuntimeError", None, "self.dim() > 0", "split expects at least a 1-dimensional tensor")
    value = b.get("dim")
    dim = axes.wrap(Const(0) if value is None else value, len(source.shape))
    if isinstance(dim, Raise):
        return dim
    if dim is None or not source.shape:
        return ok(Unknown("split"), may_raise=True)
    size = source.shape[dim]
    wanted = b.get("split_size") or b.get("split_size_or_sections")
    if isinstance(wanted, Seq):
        return _by_sizes(source, dim, size, wanted, reading.constant_int(value) or 0)
    step = reading.constant_int(wanted)
    if step is not None and step < 0:
        text = f"split expects split_size be non-negative, but got split_size={step}"
        return error("RuntimeError", "split_size", "split_size >= 0", text)
    if step == 0 and isinstance(size, int) and size:
        text = f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}"
        return error("RuntimeError", "split_size", "split_size > 0", text)
    if not step or not isinstance(size, int) or size // step > _LIMIT:
        return ok(Unknown("split"), may_raise=True)
    return ok(_parts(source, dim, [min(step, size - start) for start in range(0, max(size, 1), step)]))


def _by_sizes(source: Tensor, dim: int, size: Dim | None, wanted: Seq, given: int) -> Outcome:
    sizes = reading.sizes_of((wanted,))
    if sizes is None or len(sizes) > _LIMIT:
        return ok(Unknown("split"), may_raise=True)
    total: Dim | None = 0
    for part in sizes:
        total = None if total is None or part is None else dims.add(total, part)
    if dims.equal(total, size) is False and all(dims.less(part, 0) is False for part in sizes):
        return error(
            "RuntimeError",
            "split_sizes",
            "sum(split_sizes) == self.size(dim)",
            "split_with_sizes expects split_sizes to sum exactly to ",
            size,
            f" (input tensor's size at dimension {given}), but got split_sizes=",
            sizes,
        )
    return ok(_parts(source, dim, sizes), may_raise=dims.equal(total, size) is None)


def _parts(source: Tensor, dim: int, sizes: Sequence[Dim | None]) -> Seq:
    shape = source.shape or ()
    return Seq(
        tuple(derive(source, shape=(*shape[:dim], size, *shape[dim + 1 :]), strides=source.strides) for size in sizes)
    )


def _chunk(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    if source.shape is None:
        return ok(Unknown("chunk"), may_raise=True)
    if not source.shape:
        return error("RuntimeError", None, "self.dim() > 0", "chunk expects at least a 1-dimensional tensor")
    count = reading.constant_int(b.get("chunks"))
    if count is not None and count <= 0:
        text = f"chunk expects `chunks` to be greater than 0, got: {count}"
        return error("RuntimeError", "chunks", "chunks > 0", text)
    value = b.get("dim")
    dim = axes.wrap(Const(0) if value is None else value, len(source.shape))
    if isinstance(dim, Raise):
        return dim
    if dim is None or count is None or not source.shape or count > _LIMIT:
        return ok(Unknown("chunk"), may_raise=True)
    size = source.shape[dim]
    if not isinstance(size, int):
        even = dims.floor_divide(size, count) if size is not None else None
        return ok(Unknown("chunk") if even is None else _parts(source, dim, [even] * count))
    step = -(-size // count)
    if step == 0:
        return ok(_parts(source, dim, [0] * count))
    return ok(_parts(source, dim, [min(step, size - start) for start in range(0, size, step)]))


def _unbind(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    if source.shape is None:
        return ok(Unknown("unbind"), may_raise=True)
    value = b.get("dim")
    dim = axes.wrap(Const(0) if value is None else value, len(source.shape))
    if isinstance(dim, Raise):
        return dim
    if not source.shape:
        return (
            error("IndexError", "dim", "self.dim() > 0", "Dimension specified as 0 but tensor has no dimensions")
            if dim == 0
            else NO_RULE
        )
    size = source.shape[dim] if dim is not None else None
    if dim is None or not isinstance(size, int) or size > _LIMIT:
        return ok(Unknown("unbind"), may_raise=True)
    strides = source.strides
    part = derive(
        source,
        shape=(*source.shape[:dim], *source.shape[dim + 1 :]),
        strides=None if strides is None else (*strides[:dim], *strides[dim + 1 :]),
    )
    return ok(Seq((part,) * size))


def _repeat(b: Bound) -> Outcome:
    source, value = b.tensor(), b.get("repeats")
    if source is None:
        return NO_RULE
    counts = None
    if isinstance(value, Seq):
        counts = reading.sizes_of(value.items if value.kind == "varargs" else (value,))
    if counts is None or source.shape is None:
        return ok(derive(source, shape=None), may_raise=True)
    missing = len(counts) - len(source.shape)
    if missing < 0:
        if b.name == "repeat":
            text = "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
            return error("RuntimeError", "repeats", "len(repeats) >= self.dim()", text)
        counts, missing = ((1,) * -missing + counts, 0)
    shape = tuple(dims.multiply(size, count) for size, count in zip((1,) * missing + source.shape, counts, strict=True))
    if any(dims.less(count, 0) is not False for count in counts):
        return ok(derive(source, shape=tuple(None for _ in shape)), may_raise=True)
    return ok(fresh_of(source, shape))


def fresh_of(source: Tensor, shape: Shape) -> Tensor:
    """A new contiguous tensor with the dtype and device of `source`."""
    return derive(source, shape=shape, strides=None, contiguous=True)


def _repeat_interleave(b: Bound) -> Outcome:
    source, repeats = b.tensor(), b.get("repeats")
    if source is None or source.shape is None or repeats is None:
        return NO_RULE
    count = reading.size_of(repeats) if reading.number_kind(repeats) == "int" else None
    if reading.absent(b.get("dim")):
        total = dims.multiply(layout.numel(source.shape), count)
        return ok(derive(source, shape=(total,), strides=None), may_raise=True)
    dim = axes.wrap(b.get("dim"), len(source.shape))
    if isinstance(dim, Raise):
        return dim
    if dim is None or not source.shape:
        return ok(derive(source, shape=None), may_raise=True)
    size = dims.multiply(source.shape[dim], count)
    return ok(derive(source, shape=(*source.shape[:dim], size, *source.shape[dim + 1 :]), strides=None), may_raise=True)


ROWS: Final[tuple[Row, ...]] = (
    ("t", "cat concat concatenate", "tensors dim?", _cat),
    ("t", "stack", "tensors dim?", _stack),
    ("t", "hstack", "tensors", _row_stack, "h"),
    ("t", "vstack row_stack", "tensors", _row_stack, "v"),
    ("t", "dstack", "tensors", _row_stack, "d"),
    ("t", "split", ":Tinput split_size_or_sections dim?", _split),
    ("m", "split", ":Tinput split_size dim?", _split),
    ("tm", "chunk", ":Tinput chunks dim?", _chunk),
    ("tm", "unbind", ":Tinput dim?", _unbind),
    ("m", "repeat", ":Tinput *repeats", _repeat),
    ("m", "tile", ":Tinput *repeats", _repeat),
    ("tm", "repeat_interleave", ":Tinput repeats dim? * output_size?", _repeat_interleave),
)
