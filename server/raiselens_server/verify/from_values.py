"""Abstract values as the facts that a verification is built from."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from raiselens_server.foresee.objects import DictObject, InstanceObject, ListObject
from raiselens_server.values import dims
from raiselens_server.values.lattice import Const, Device, DType, Int, Named, Ref, Seq, Tensor, Value
from raiselens_server.verify.request import (
    ConstantFact,
    Dim,
    Fact,
    MappingFact,
    NameFact,
    NamespaceFact,
    SequenceFact,
    SizeFact,
    TensorFact,
    UnknownFact,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raiselens_server.foresee.objects import HeapObject

_DEEPEST: Final = 4


def fact_from(value: Value, heap: Mapping[int, HeapObject] | None = None, deep: int = _DEEPEST) -> Fact:
    """What is known of one value; `heap` holds what references lead to. Of what cannot be written down, nothing is."""
    match value:
        case Tensor():
            return _tensor(value)
        case Const(value=None | bool() | int() | str() as constant):
            return ConstantFact(constant)
        case Const(value=float() as number) if math.isfinite(number):
            return ConstantFact(number)
        case Int(dim=dims.Linear() as dim):
            return SizeFact(_form(dim)) if dim.terms else ConstantFact(dim.constant)
        case DType(names=names) if len(names) == 1:
            return NameFact(f"torch.{next(iter(names))}")
        case Device():
            return ConstantFact(_device(value))
        case Named(name=name) if "." in name:
            return NameFact(name)
        case Seq(items=items, kind="tuple" | "list" | "torch.Size" as kind):
            return SequenceFact(tuple(fact_from(item, heap, deep - 1) for item in items), is_tuple=kind != "list")
        case Ref(uid=uid) if heap is not None and deep > 0:
            return _held(heap.get(uid), heap, deep - 1)
        case _:
            return UnknownFact()


def _held(contents: HeapObject | None, heap: Mapping[int, HeapObject], deep: int) -> Fact:
    match contents:
        case ListObject(items=tuple() as items):
            return SequenceFact(tuple(fact_from(item, heap, deep) for item in items))
        case DictObject(items=tuple() as pairs):
            known = [
                (key.value, fact_from(item, heap, deep))
                for key, item in pairs
                if isinstance(key, Const) and isinstance(key.value, (str, int, float, bool, type(None)))
            ]
            return MappingFact(tuple(known)) if len(known) == len(pairs) else UnknownFact()
        case InstanceObject(attributes=attributes):
            return NamespaceFact(tuple((name, fact_from(item, heap, deep)) for name, item in attributes))
        case _:
            return UnknownFact()


def _tensor(tensor: Tensor) -> TensorFact:
    dtype = next(iter(tensor.dtypes)) if len(tensor.dtypes) == 1 else None
    shape = None if tensor.shape is None else tuple(_size(size) for size in tensor.shape)
    strides = None if tensor.strides is None else tuple(_size(size) for size in tensor.strides)
    device = None if tensor.device is None else _device(tensor.device)
    contiguous = tensor.contiguous
    # Strides say more, but only where the tensor does not simply lie in order.
    return TensorFact(dtype, shape, device, contiguous, None if contiguous else strides, tensor.requires_grad)


def _device(device: Device) -> str:
    return device.type if device.index is None else f"{device.type}:{device.index}"


def _size(size: dims.Dim | None) -> Dim:
    """A size as a form over names that no two symbols share: `2*s7 + 1`."""
    return size if size is None or isinstance(size, int) else _form(size)


def _form(form: dims.Linear) -> str:
    parts = [
        f"{'-' if coefficient < 0 else '+'} {abs(coefficient)}*s{symbol.uid}".replace("s-", "sm")
        for symbol, coefficient in form.terms
    ]
    if form.constant:
        parts.append(f"{'-' if form.constant < 0 else '+'} {abs(form.constant)}")
    return " ".join(parts).removeprefix("+ ")
