"""Tensors and messages made by the rules.

Where a property stays that of an input, its site stays; where the operation decides it anew, the site is cleared and
the interpreter puts the call there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from raiselens_server.values import dims
from raiselens_server.values.dims import Linear
from raiselens_server.values.dtypes import COMPLEX, FLOATING, only
from raiselens_server.values.lattice import Const, Device, HolePart, Opaque, Seq, Tensor, Text, Value, from_dim
from raiselens_server.values.ops import layout
from raiselens_server.values.ops.outcome import Raise, Result

if TYPE_CHECKING:
    from raiselens_server.values.dims import Dim
    from raiselens_server.values.ops.layout import Shape

SCALAR_TYPES: Final[dict[str, str]] = {
    "bool": "Bool",
    "uint8": "Byte",
    "uint16": "UInt16",
    "uint32": "UInt32",
    "uint64": "UInt64",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "float32": "Float",
    "float64": "Double",
    "complex32": "ComplexHalf",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
    "float8_e4m3fn": "Float8_e4m3fn",
    "float8_e4m3fnuz": "Float8_e4m3fnuz",
    "float8_e5m2": "Float8_e5m2",
    "float8_e5m2fnuz": "Float8_e5m2fnuz",
    "float8_e8m0fnu": "Float8_e8m0fnu",
    "float4_e2m1fn_x2": "Float4_e2m1fn_x2",
    "quint8": "QUInt8",
    "qint8": "QInt8",
    "qint32": "QInt32",
}
"""C++'s name of a dtype, as most messages print it."""

C_TYPES: Final[dict[str, str]] = {
    "bool": "bool",
    "uint8": "unsigned char",
    "uint16": "short unsigned int",
    "uint32": "unsigned int",
    "uint64": "long unsigned int",
    "int8": "signed char",
    "int16": "short int",
    "int32": "int",
    "int64": "long int",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
    "complex32": "c10::complex<c10::Half>",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}
"""The element type as C++ spells it, as a few messages print it."""

SAME_DEVICE: Final = "all tensors on the same device"
"""The condition of a raise about devices."""

KEEP: Final[Any] = object()
"""Marks a property that `derive` leaves as it is."""


def fresh(
    names: frozenset[str],
    shape: Shape | None,
    device: Device | None,
    *,
    strides: Shape | None = None,
    contiguous: bool | None = True,
    requires_grad: bool | None = False,
    item: Const | None = None,
) -> Tensor:
    """A new tensor, contiguous unless said otherwise, that owes no property to an input."""
    if strides is not None:
        contiguous = layout.is_contiguous(shape, strides)
    elif contiguous and shape is not None:
        strides = layout.contiguous_strides(shape)
    return Tensor(
        dtypes=names,
        shape=shape,
        device=device,
        strides=strides,
        requires_grad=requires_grad if names & (FLOATING | COMPLEX) else False,
        item=item,
        contiguous=contiguous,
    )


def derive(
    source: Tensor,
    *,
    names: frozenset[str] = KEEP,
    shape: Shape | None = KEEP,
    device: Device | None = KEEP,
    strides: Shape | None = KEEP,
    contiguous: bool | None = None,
    requires_grad: bool | None = KEEP,
    item: Const | None = None,
) -> Tensor:
    """The result of an operation on `source`: what is not given is as the source has it.

    `contiguous=True` lays the result out anew. A new shape without strides has unknown ones.
    """
    new_names = source.dtypes if names is KEEP else names
    new_shape = source.shape if shape is KEEP else shape
    if strides is KEEP:
        same = shape is KEEP or (shape is not None and shape == source.shape)
        strides = source.strides if same and not contiguous else None
        if same and contiguous is None:
            contiguous = source.contiguous
    if strides is not None:
        contiguous = layout.is_contiguous(new_shape, strides) if contiguous is None else contiguous
    elif contiguous and new_shape is not None:
        strides = layout.loose(new_shape, layout.contiguous_strides(new_shape))
    if requires_grad is KEEP:
        requires_grad = inherited_grad(source.requires_grad, new_names)
    # built directly: `dataclasses.replace` costs several times as much, and this is what most operations end in
    return Tensor(
        new_names,
        new_shape,
        source.device if device is KEEP else device,
        strides,
        requires_grad,
        source.dtype_site if new_names == source.dtypes else None,
        source.shape_site if new_shape == source.shape else None,
        source.device_site if device is KEEP or device == source.device else None,
        item,
        contiguous=contiguous,
    )


def inherited_grad(requires_grad: bool | None, names: frozenset[str]) -> bool | None:
    """Whether a result needs gradients: never without a differentiable dtype; a `no_grad` in force is not seen."""
    if not names & (FLOATING | COMPLEX):
        return False
    return False if requires_grad is False else None


def message(*parts: str | HolePart | Dim | Device | frozenset[str] | Shape | None) -> tuple[str | HolePart, ...]:
    """A message of texts, sizes, shapes (`[2, 3]`), and dtypes (C++'s name); what is not known becomes a hole."""
    flat: list[str | HolePart] = []
    for part in parts:
        _append(flat, part)
    return tuple(flat)


def _append(flat: list[str | HolePart], part: str | HolePart | Dim | Device | frozenset[str] | Shape | None) -> None:
    text: str | HolePart = ""
    match part:
        case str():
            text = part
        case HolePart():
            text = part
        case int():
            text = str(part)
        case Linear():
            text = HolePart(dims.render(part))
        case Device():
            text = device_text(part)
        case frozenset():
            name = only(part)
            text = SCALAR_TYPES[name] if name else HolePart("dtype")
        case tuple():
            _append(flat, "[")
            for position, size in enumerate(part):
                if position:
                    _append(flat, ", ")
                _append(flat, size)
            text = "]"
        case None:
            text = HolePart("size")
    if isinstance(text, str) and flat and isinstance(flat[-1], str):
        flat[-1] += text
    elif text != "":
        flat.append(text)


def device_text(device: Device) -> str | HolePart:
    """A tensor's device as torch prints it; the index of `cuda` is decided at run time."""
    if device.type in ("cpu", "meta"):
        return device.type
    return f"{device.type}:{device.index}" if device.index is not None else HolePart(f"{device.type} device")


def dtype_text(names: frozenset[str]) -> str | HolePart:
    """`torch.int32`, or a hole."""
    name = only(names)
    return f"torch.{name}" if name else HolePart("dtype")


def error(class_name: str, param: str | None, condition: str, *parts: Any) -> Raise:
    """A certain raise; see `message` for the parts."""
    return Raise(class_name, message(*parts), param, condition)


def legacy_type(tensor: Tensor) -> str | HolePart:
    """`torch.FloatTensor`, as old messages name a tensor's type."""
    if len(tensor.dtypes) != 1 or tensor.device is None or tensor.device.type not in ("cpu", "cuda"):
        return HolePart("type")
    (name,) = tensor.dtypes
    if name.startswith(("uint", "complex", "float8", "float4", "q", "bool", "bfloat")) and name != "uint8":
        return HolePart("type")
    return f"torch.{'cuda.' if tensor.device.type == 'cuda' else ''}{SCALAR_TYPES[name]}Tensor"


def shape_text(shape: Shape) -> tuple[str | HolePart | Dim | Shape | None, ...]:
    """The parts of a shape as Python prints it: `torch.Size([2, 3])`."""
    return ("torch.Size(", shape, ")")


def size_value(shape: Shape) -> Seq:
    """A `torch.Size`."""
    return Seq(tuple(from_dim(size) for size in shape), "torch.Size")


def text_value(parts: tuple[str | HolePart, ...]) -> Value:
    """A str of the parts."""
    if all(isinstance(part, str) for part in parts):
        return Const("".join(part for part in parts if isinstance(part, str)))
    return Text(parts)


def number_value(kind: str | None) -> Value | None:
    """A Python number of that type and of unknown value."""
    return Opaque(kind) if kind else None


def ok(value: Value, *, may_raise: bool = False) -> Result:
    """The outcome that is just `value`."""
    return Result(value, may_raise)
