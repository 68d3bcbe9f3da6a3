"""Attributes of tensors, arrays, dtypes and devices. A method is no attribute here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from raiselens_server.values import dims
from raiselens_server.values.dtypes import ALL, ANY_FLOATING, COMPLEX
from raiselens_server.values.lattice import (
    FALSE,
    NONE,
    TRUE,
    Array,
    Const,
    Device,
    DType,
    Named,
    Opaque,
    Tensor,
    Unknown,
    Value,
    from_dim,
)
from raiselens_server.values.ops import layout
from raiselens_server.values.ops.building import derive, size_value
from raiselens_server.values.ops.info import limit
from raiselens_server.values.ops.queries import membership
from raiselens_server.values.ops.reading import element_bits
from raiselens_server.values.ops.shaping import permuted

if TYPE_CHECKING:
    from collections.abc import Callable

_SIGNED: Final = frozenset(name for name in ALL if not name.startswith(("uint", "quint", "bool")))
_REAL_OF: Final = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}
_DEVICE_FLAGS: Final = {
    "is_cpu": "cpu",
    "is_cuda": "cuda",
    "is_meta": "meta",
    "is_xpu": "xpu",
    "is_mps": "mps",
    "is_hpu": "hpu",
    "is_xla": "xla",
}


def attribute(value: Value, name: str) -> Value | None:
    """Read `value.name`; None where there is no rule, as for a method."""
    match value:
        case Tensor():
            reader = _TENSOR.get(name)
            if reader is not None:
                return reader(value)
            return _device_flag(value.device, name) if name in _DEVICE_FLAGS else None
        case Array():
            return _array(value, name)
        case DType():
            return _dtype(value, name)
        case Device():
            return _device(value, name)
        case Named(name=named) if named.startswith(("torch.iinfo(", "torch.finfo(")):
            return limit(named, name)
        case _:
            return None


def _device_flag(device: Device | None, name: str) -> Value:
    if device is None:
        return Opaque("bool")
    return TRUE if device.type == _DEVICE_FLAGS[name] else FALSE


def _reversed(tensor: Tensor) -> Value:
    if tensor.shape is None:
        return derive(tensor, shape=None)
    return permuted(tensor, tuple(reversed(range(len(tensor.shape)))))


def _matrix(tensor: Tensor) -> Value:
    if tensor.shape is None or len(tensor.shape) < 2:
        return derive(tensor, shape=None)
    rank = len(tensor.shape)
    return permuted(tensor, (*range(rank - 2), rank - 1, rank - 2))


def _byte_count(tensor: Tensor) -> Value:
    bits = element_bits(tensor.dtypes)
    count = layout.numel(tensor.shape)
    return from_dim(None if bits is None else dims.multiply(count, bits // 8))


def _item_size(names: frozenset[str]) -> Value:
    bits = element_bits(names)
    return Opaque("int") if bits is None else Const(bits // 8)


def _real(tensor: Tensor) -> Value:
    if not tensor.dtypes & COMPLEX:
        return derive(tensor)
    return derive(tensor, names=frozenset(_REAL_OF.get(name, name) for name in tensor.dtypes), strides=None)


def _grad_flag(tensor: Tensor) -> Value:
    return Opaque("bool") if tensor.requires_grad is None else TRUE if tensor.requires_grad else FALSE


_TENSOR: Final[dict[str, Callable[[Tensor], Value]]] = {
    "shape": lambda t: Unknown("rank") if t.shape is None else size_value(t.shape),
    "dtype": lambda t: DType(t.dtypes),
    "device": lambda t: Unknown("device") if t.device is None else t.device,
    "ndim": lambda t: Opaque("int") if t.shape is None else Const(len(t.shape)),
    "T": _reversed,
    "H": _matrix,
    "mT": _matrix,
    "mH": _matrix,
    "data": lambda t: derive(t, requires_grad=False, item=t.item),
    "real": _real,
    "requires_grad": _grad_flag,
    "is_leaf": lambda t: TRUE if t.requires_grad is False or t.parameter else Opaque("bool"),
    "itemsize": lambda t: _item_size(t.dtypes),
    "nbytes": _byte_count,
    "is_quantized": lambda t: membership(t.dtypes, frozenset({"quint8", "qint8", "qint32"})),
    "is_sparse": lambda _: Opaque("bool"),
    "layout": lambda _: Opaque("torch.layout"),
    "grad_fn": lambda t: NONE if t.requires_grad is False else Unknown("grad_fn"),
}


def _array(array: Array, name: str) -> Value | None:
    match name:
        case "shape":
            return Unknown("rank") if array.shape is None else replace(size_value(array.shape), kind="tuple")
        case "ndim":
            return Opaque("int") if array.shape is None else Const(len(array.shape))
        case "size":
            return from_dim(layout.numel(array.shape))
        case "itemsize":
            return _item_size(array.dtypes)
        case "T":
            return Array(array.dtypes, None if array.shape is None else tuple(reversed(array.shape)))
        case _:
            return None


def _dtype(dtype: DType, name: str) -> Value | None:
    match name:
        case "itemsize":
            return _item_size(dtype.names)
        case "is_floating_point":
            return membership(dtype.names, ANY_FLOATING)
        case "is_complex":
            return membership(dtype.names, COMPLEX)
        case "is_signed":
            return membership(dtype.names, _SIGNED)
        case _:
            return None


def _device(device: Device, name: str) -> Value | None:
    match name:
        case "type":
            return Const(device.type)
        case "index":
            known = device.index is not None or device.type in ("cpu", "meta")
            return Const(device.index) if known else Unknown("device-index")
        case _:
            return None
