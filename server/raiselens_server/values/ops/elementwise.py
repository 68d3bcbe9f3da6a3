"""The common part of element-by-element operations: broadcasting, promotion, device and strides of the result.

An unknown device is taken for a real one (not `meta`) where a raise is decided: meta tensors are asked for by name.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from raiselens_server.values.dtypes import ALL, COMPLEX, only
from raiselens_server.values.lattice import Array, Device, HolePart, Tensor, Union, Unknown, Value
from raiselens_server.values.ops import layout, reading
from raiselens_server.values.ops.building import SAME_DEVICE, derive, device_text, error, fresh, inherited_grad, ok
from raiselens_server.values.ops.layout import Mismatch
from raiselens_server.values.ops.outcome import Raise, Result
from raiselens_server.values.promotion import (
    DIMENSIONED,
    NUMBER,
    ZERO_DIM,
    number_dtypes,
    result_types,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raiselens_server.values.ops.layout import Shape

_ANY: Final = frozenset({DIMENSIONED, ZERO_DIM, NUMBER})

_TENSOR: Final = frozenset({DIMENSIONED, ZERO_DIM})

_ONLY: Final = {kind: frozenset({kind}) for kind in (DIMENSIONED, ZERO_DIM, NUMBER)}


class Operand(NamedTuple):
    """An operand: its possible dtypes and promotion priorities, and the tensor where it is one."""

    dtypes: frozenset[str]
    priorities: frozenset[int]
    tensor: Tensor | None
    unknown: bool = False


def operand(value: Value, default: frozenset[str]) -> Operand | None:
    """The value as an operand; None where it is neither a tensor nor a number."""
    match value:
        case Tensor():
            if value.shape is None:
                return Operand(value.dtypes, _TENSOR, value)
            return Operand(value.dtypes, _ONLY[DIMENSIONED if value.shape else ZERO_DIM], value)
        case Unknown() | Union() | Array():
            return Operand(ALL, _ANY, None, unknown=True)
        case _:
            kind = reading.number_kind(value)
            return Operand(number_dtypes(kind, default), _ONLY[NUMBER], None) if kind else None


def is_meta(tensor: Tensor) -> bool:
    """Whether the tensor is certainly on the meta device."""
    return tensor.device is not None and tensor.device.type == "meta"


def size_error(mismatch: Mismatch, tensors: Sequence[Tensor]) -> Raise:
    """The raise of operands that do not broadcast."""
    condition = "sizes broadcast"
    if any(is_meta(tensor) for tensor in tensors):
        shapes = [tensor.shape for tensor in tensors if tensor.shape is not None]
        if len(shapes) == 2 and mismatch.first:
            return _meta_size_error(shapes[0], shapes[1], condition)
        return error("RuntimeError", None, condition, HolePart("message"))
    left: object = mismatch.left if mismatch.first else None
    right: object = mismatch.right if mismatch.first else None
    where: object = mismatch.dim if mismatch.first else None
    return error(
        "RuntimeError",
        "other",
        condition,
        "The size of tensor a (",
        left,
        ") must match the size of tensor b (",
        right,
        ") at non-singleton dimension ",
        where,
    )


def _meta_size_error(left: Shape, right: Shape, condition: str) -> Raise:
    common = list(left)
    for back in range(1, len(right) + 1):
        b = right[-back]
        if back > len(common):
            common.insert(0, b)
        elif common[-back] == 1 and b != 1:
            common[-back] = b
        elif b not in (1, common[-back]):
            return error(
                "RuntimeError",
                "other",
                condition,
                "Attempting to broadcast a dimension of length ",
                b,
                f" at -{back}! Mismatching argument at index 1 had torch.Size(",
                right,
                "); but expected shape should be broadcastable to ",
                HolePart("shape"),
            )
    return error("RuntimeError", "other", condition, HolePart("message"))


def common_device(tensors: Sequence[Tensor], *, exact: bool) -> Device | Raise | None:
    """The device of the result; `exact`: tensors of two devices certainly raise, 0-d tensors of the cpu apart."""
    chosen: Device | None = None
    uncertain = False
    for tensor in tensors:
        device = tensor.device
        movable = tensor.shape == () or tensor.shape is None
        if device is None:
            uncertain = True
        elif device.type == "cpu" and movable:
            uncertain = uncertain or tensor.shape is None
        elif chosen is None:
            chosen = device
        elif exact and chosen.type != device.type:
            return device_error(chosen, device)
        elif chosen != device:
            chosen = device if chosen.type == device.type and chosen.index is None else chosen
    if chosen is not None:
        return chosen
    return None if uncertain else tensors[0].device if tensors else None


def device_error(first: Device, second: Device) -> Raise:
    """The raise of operands on two devices."""
    condition = SAME_DEVICE
    if "meta" in (first.type, second.type):
        return error(
            "RuntimeError",
            None,
            condition,
            "Tensor on device ",
            device_text(second),
            " is not on the expected device ",
            device_text(first),
            "!",
        )
    return error(
        "RuntimeError",
        None,
        condition,
        "Expected all tensors to be on the same device, but found at least two devices, ",
        device_text(first) if first.type != "cpu" else device_text(second),
        " and ",
        "cpu" if "cpu" in (first.type, second.type) else device_text(second),
        "!",
    )


def result_shape(operands: Sequence[Operand]) -> layout.Broadcast | Mismatch | None:
    """The broadcast shape; None where an operand's rank is unknown."""
    shapes: list[Shape] = []
    for one in operands:
        if one.unknown:
            return None
        if one.tensor is not None:
            if one.tensor.shape is None:
                return None
            shapes.append(one.tensor.shape)
    first = shapes[0]
    if None not in first and all(shape == first for shape in shapes):
        return layout.Broadcast(first, decided=True)
    return layout.broadcast_all(shapes)


def promoted(operands: Sequence[Operand]) -> frozenset[str]:
    """The possible `torch.result_type` of the operands; empty where it certainly raises."""
    if len(operands) == 1:
        return operands[0].dtypes
    return result_types(tuple((one.dtypes, one.priorities) for one in operands))


def elementwise(
    operands: Sequence[Operand], names: frozenset[str], *, exact_devices: bool = True, broadcasts: bool = True
) -> Result | Raise:
    """The new tensor that an operation of dtype `names` makes from the operands."""
    tensors = [one.tensor for one in operands if one.tensor is not None]
    if not tensors:
        return ok(Tensor(names), may_raise=True)
    shaped = result_shape(operands) if broadcasts else None
    if isinstance(shaped, Mismatch):
        found = size_error(shaped, tensors)
        # some kernels refuse complex operands before they look at sizes
        return replace(found, earlier=True) if any(one.dtypes & COMPLEX for one in operands) else found
    device = common_device(tensors, exact=exact_devices)
    if isinstance(device, Raise):
        return replace(device, earlier=any(one.dtypes & COMPLEX for one in operands))
    first = tensors[0]
    shape = shaped.shape if shaped is not None else None
    if any(one.unknown for one in operands) and (device is None or device.type == "cpu"):
        device = first.device if len(tensors) == 1 and first.shape else device if first.shape else None
    if len(tensors) == 1 and not any(one.unknown for one in operands):
        return ok(_same_layout(first, names))
    strides, contiguous = _strides(shape, tensors)
    grad: bool | None = None
    if not any(one.unknown for one in operands) and all(tensor.requires_grad is False for tensor in tensors):
        grad = False
    basis = next((t for t in tensors if t.shape == shape and t.dtypes == names), first)
    made = derive(
        basis,
        names=names,
        shape=shape,
        device=device,
        strides=strides,
        contiguous=contiguous,
        requires_grad=inherited_grad(grad, names),
    )
    decided = shaped is not None and shaped.decided and len({t.device for t in tensors} | {device}) == 1
    return ok(made, may_raise=not decided)


def _same_layout(tensor: Tensor, names: frozenset[str]) -> Tensor:
    strides, contiguous = _strides(tensor.shape, [tensor])
    return derive(tensor, names=names, strides=strides, contiguous=True if tensor.contiguous else contiguous)


def _strides(shape: Shape | None, tensors: Sequence[Tensor]) -> tuple[Shape | None, bool | None]:
    if shape is None:
        return None, None
    if 0 in shape:
        return (None,) * len(shape), True
    full = [tensor for tensor in tensors if tensor.shape != ()]
    if all(tensor.contiguous and tensor.shape == shape for tensor in full):
        whole = layout.contiguous_strides(shape)
        return whole if all(tensor.strides == whole for tensor in full) else layout.loose(shape, whole), True
    sizes = layout.known(shape)
    if sizes is None:
        return None, None
    pairs = []
    for tensor in tensors:
        own, steps = layout.known(tensor.shape), layout.known(tensor.strides)
        if own is None or steps is None:
            return None, None
        pairs.append((own, steps))
    found = layout.elementwise_strides(sizes, pairs)
    return layout.loose(shape, found), layout.is_contiguous(shape, found)


def scalar(names: frozenset[str], source: Tensor) -> Tensor:
    """A 0-d tensor with dtype `names` computed from `source`."""
    made = fresh(names, (), source.device, requires_grad=inherited_grad(source.requires_grad, names))
    return derive(source, names=names, shape=(), strides=(), requires_grad=made.requires_grad)


def known_dtype(tensor: Tensor) -> str | None:
    """The tensor's dtype, where just one is possible."""
    return only(tensor.dtypes)
