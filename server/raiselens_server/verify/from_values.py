"""Abstract values at a call as the facts that a verification is built from."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from raiselens_server.values import dims
from raiselens_server.values.lattice import Const, Device, DType, Int, Named, Seq, Tensor, Value
from raiselens_server.verify.request import (
    Argument,
    ConstantFact,
    Dim,
    Fact,
    NameFact,
    SequenceFact,
    TensorFact,
    UnknownFact,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def arguments_from(positional: Iterable[Value], named: Mapping[str, Value]) -> tuple[Argument, ...]:
    """The arguments of a call, positional ones first."""
    return (
        *(Argument(None, fact_from(value)) for value in positional),
        *(Argument(name, fact_from(value)) for name, value in named.items()),
    )


def fact_from(value: Value) -> Fact:
    """What is known of one value; of what cannot be written down, nothing is."""
    match value:
        case Tensor():
            return _tensor(value)
        case Const(value=None | bool() | int() | str() as constant):
            return ConstantFact(constant)
        case Const(value=float() as number) if math.isfinite(number):
            return ConstantFact(number)
        case Int(dim=dims.Linear() as dim):
            return UnknownFact() if dim.terms else ConstantFact(dim.constant)
        case DType(names=names) if len(names) == 1:
            return NameFact(f"torch.{next(iter(names))}")
        case Device():
            return ConstantFact(_device(value))
        case Named(name=name) if "." in name:
            return NameFact(name)
        case Seq(items=items, kind="tuple" | "list" | "torch.Size" as kind):
            return SequenceFact(tuple(fact_from(item) for item in items), is_tuple=kind != "list")
        case _:
            return UnknownFact()


def _tensor(tensor: Tensor) -> TensorFact:
    dtype = next(iter(tensor.dtypes)) if len(tensor.dtypes) == 1 else None
    shape = None if tensor.shape is None else tuple(_size(size) for size in tensor.shape)
    device = None if tensor.device is None else _device(tensor.device)
    return TensorFact(dtype, shape, device, tensor.contiguous)


def _device(device: Device) -> str:
    return device.type if device.index is None else f"{device.type}:{device.index}"


def _size(size: dims.Dim | None) -> Dim:
    """A size as a form over names that no two symbols share: `2*s7 + 1`."""
    if size is None or isinstance(size, int):
        return size
    parts = [
        f"{'-' if coefficient < 0 else '+'} {abs(coefficient)}*s{symbol.uid}" for symbol, coefficient in size.terms
    ]
    if size.constant:
        parts.append(f"{'-' if size.constant < 0 else '+'} {abs(size.constant)}")
    return " ".join(parts).removeprefix("+ ")
