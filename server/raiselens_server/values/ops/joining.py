"""Joining tensors and taking them apart: `cat`, `stack`, `split`, `repeat`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from raiselens_server.values import dims
from raiselens_server.values.lattice import Const, Device, Seq, Tensor, Value
from raiselens_server.values.ops import axes, reading
from raiselens_server.values.ops.building import SAME_DEVICE, derive, device_text, error, inherited_grad, ok
from raiselens_server.values.ops.devices import apart
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
        tuple(
            (t.dtypes, _EITHER if t.shape is None else _DIMENSIONED_ONLY if t.shape else _ZERO_DIM_ONLY)
            for t in _distinct(tensors)
        )
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
        return cat_device_error(tensors) or device
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
    return _made(tensors, names, shape, device)


def cat_device_error(tensors: Sequence[Tensor]) -> Raise | None:
    """The raise of `cat` with tensors on two real devices; `stack` calls it too."""
    first = tensors[0]
    found = next((t for t in tensors if apart(first.device, t.device)), None)
    if found is None or found.device is None or first.device is None:
        return None
    cpu, other = (first, found) if first.device.type == "cpu" else (found, first)
    if cpu.device is None or other.device is None or cpu.device.type != "cpu":
        return None
    return error(
        "RuntimeError",
        "tensors",
        SAME_DEVICE,
        "Expected all tensors to be on the same device, but got tensors is on cpu, different from other tensors on ",
        device_text(other.device),
        " (when checking argument in method wrapper_CUDA_cat)",
    )


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
        return cat_device_error(tensors) or device
    made_shape = None
    if shape is not None:
        made_shape = (None,) * (len(shape) + 1) if dim is None else (*shape[:dim], len(tensors), *shape[dim:])
    return _made(tensors, names, made_shape, device)


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


def _made(tensors: Sequence[Tensor], names: frozenset[str], shape: Shape | None, device: Device | None) -> Outcome:
    """The new tensor that several are copied into."""
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


ROWS: Final[tuple[Row, ...]] = (
    ("t", "cat concat concatenate", "tensors dim?", _cat),
    ("t", "stack", "tensors dim?", _stack),
    ("t", "hstack", "tensors", _row_stack, "h"),
    ("t", "vstack row_stack", "tensors", _row_stack, "v"),
    ("t", "dstack", "tensors", _row_stack, "d"),
)
