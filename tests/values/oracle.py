"""Torch as the oracle: what a concrete value is abstractly, and what an abstract one says wrongly of it."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from raiselens_server.values.dtypes import ALL
from raiselens_server.values.lattice import (
    Array,
    Const,
    Device,
    DType,
    HolePart,
    Named,
    Opaque,
    Seq,
    Slice,
    Tensor,
    Unknown,
    Value,
)
from raiselens_server.values.ops import (
    Ambient,
    NoRule,
    Outcome,
    Raise,
    Result,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

AMBIENT = Ambient(frozenset({"float32"}), Device("cpu"))
LOOSE = Ambient(frozenset({"float16", "bfloat16", "float32", "float64"}), None)
DTYPES = [
    torch.float32, torch.float32, torch.float32, torch.int64, torch.int64, torch.int32, torch.bool, torch.float16,
    torch.bfloat16, torch.float64, torch.uint8, torch.int16, torch.int8, torch.complex64,
]  # fmt: skip


def abstract(value: Any) -> Value:
    """Everything that can be known of a concrete value."""
    if isinstance(value, torch.Tensor):
        return Tensor(
            dtypes=frozenset({str(value.dtype).removeprefix("torch.")}),
            shape=tuple(value.shape),
            device=Device(value.device.type, value.device.index),
            strides=tuple(value.stride()),
            requires_grad=value.requires_grad,
            contiguous=value.is_contiguous(),
            parameter=isinstance(value, torch.nn.Parameter),
        )
    if isinstance(value, np.ndarray):
        return Array(frozenset({str(value.dtype)}), tuple(value.shape))
    if isinstance(value, torch.dtype):
        return DType(frozenset({str(value).removeprefix("torch.")}))
    if isinstance(value, torch.device):
        return Device(value.type, value.index)
    if isinstance(value, slice):
        return Slice(abstract(value.start), abstract(value.stop), abstract(value.step))
    if isinstance(value, torch.Size):
        return Seq(tuple(abstract(item) for item in value), "torch.Size")
    if isinstance(value, list | tuple):
        return Seq(tuple(abstract(item) for item in value), type(value).__name__)
    return Const(value)


def forget(value: Value, rng: random.Random) -> Value:
    """The value with less known of it.

    A size of 0 and a meta device are never forgotten: an unknown size is taken to be at least 1, and an unknown device
    to be a real one.
    """
    if isinstance(value, Tensor) and value.shape is not None and 0 in value.shape:
        return value
    if rng.random() < 0.15 and not (isinstance(value, Tensor) and value.device == Device("meta")):
        return Unknown("test")
    if isinstance(value, Tensor):
        shape, strides = value.shape, value.strides
        choice = rng.randrange(6)
        if choice == 0:
            return replace(value, dtypes=ALL if rng.random() < 0.5 else value.dtypes | {"int32", "bfloat16"})
        if choice == 1:
            return replace(value, shape=None, strides=None, contiguous=rng.choice([None, value.contiguous]))
        if choice == 2 and shape:
            gone = rng.randrange(len(shape))
            known = tuple(None if dim == gone else size for dim, size in enumerate(shape))
            return replace(value, shape=known, strides=None, contiguous=rng.choice([None, value.contiguous]))
        if choice == 3:
            return replace(value, strides=None, contiguous=rng.choice([None, value.contiguous]))
        if choice == 4 and strides:
            return replace(value, strides=(None, *strides[1:]), contiguous=None)
        if value.device == Device("cpu"):
            return replace(value, device=None, requires_grad=None)
        return value
    if isinstance(value, Const) and type(value.value) in (int, float, bool):
        return Opaque(type(value.value).__name__)
    if isinstance(value, DType):
        return DType(value.names | {"int64", "float32"})
    if isinstance(value, Seq):
        return replace(value, items=tuple(forget(item, rng) if rng.random() < 0.4 else item for item in value.items))
    return value


def message_matches(parts: tuple[str | HolePart, ...], text: str) -> bool:
    """Whether the holes of a foreseen message can be filled to give `text`."""
    pattern = "".join(".*?" if isinstance(part, HolePart) else re.escape(part) for part in parts)
    return re.fullmatch(pattern, text, re.DOTALL) is not None


def contradiction(value: Value, real: Any) -> str | None:
    """What the abstract value says wrongly of the real one."""
    match value:
        case Unknown():
            return None
        case Tensor():
            return _tensor_contradiction(value, real)
        case Array():
            if not isinstance(real, np.ndarray):
                return f"array for {type(real)}"
            if str(real.dtype) not in value.dtypes:
                return f"dtype {real.dtype}"
            return _sizes_contradiction("shape", value.shape, real.shape)
        case Seq():
            kind = type(real).__name__
            kind = (
                "torch.Size"
                if isinstance(real, torch.Size)
                else f"torch.return_types.{kind}"
                if kind not in ("tuple", "list")
                else kind
            )
            if value.kind != kind:
                return f"kind {kind}"
            if len(real) != len(value.items):
                return f"length {len(real)}"
            found = (contradiction(item, one) for item, one in zip(value.items, real, strict=True))
            return next((wrong for wrong in found if wrong), None)
        case Opaque():
            return None if type(real).__name__ == value.type.rpartition(".")[2] else f"type {type(real)}"
        case Const():
            return None if value == Const(real) else f"constant {real!r}"
        case DType():
            return None if str(real).removeprefix("torch.") in value.names else f"dtype {real}"
        case Named():
            return None if value.name.startswith(("torch.iinfo(", "torch.finfo(")) else f"an unexpected {value}"
        case Device():
            return None if value.type == real.type and value.index in (None, real.index) else f"device {real}"
        case _:
            return f"an unexpected {value}"


def _tensor_contradiction(value: Tensor, real: Any) -> str | None:
    if not isinstance(real, torch.Tensor):
        return f"tensor for {type(real)}"
    if str(real.dtype).removeprefix("torch.") not in value.dtypes:
        return f"dtype {real.dtype}"
    wrong = _sizes_contradiction("shape", value.shape, real.shape) or _sizes_contradiction(
        "strides", value.strides, real.stride()
    )
    if wrong:
        return wrong
    if value.device is not None and value.device.type != real.device.type:
        return f"device {real.device}"
    if value.contiguous is not None and value.contiguous != real.is_contiguous():
        return f"contiguous {real.is_contiguous()}"
    if value.requires_grad is not None and value.requires_grad != real.requires_grad:
        return f"requires_grad {real.requires_grad}"
    if value.item is not None and (real.numel() != 1 or value.item != Const(real.item())):
        return f"item {real}"
    return None


def _sizes_contradiction(what: str, sizes: Any, real: Any) -> str | None:
    if sizes is None:
        return None
    if len(sizes) != len(real) or any(size not in (None, one) for size, one in zip(sizes, real, strict=True)):
        return f"{what} {tuple(real)}"
    return None


@dataclass(slots=True)
class Tally:
    """What came of the operations that were run."""

    runs: int = 0
    ruled: Counter[str] = field(default_factory=Counter)
    raised: Counter[str] = field(default_factory=Counter)
    foreseen: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    unhedged: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def check(self, name: str, outcome: Outcome, act: Callable[[], Any], shown: str, *, precise: bool) -> Any:
        """Run `act` for real and compare; the real value, None where it raised."""
        self.runs += 1
        real, raised = None, None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                real = act()
        except Exception as exception:  # noqa: BLE001 - whatever torch raises is the oracle's answer
            raised = exception
        if raised is not None and precise:
            self.raised[name] += 1
        match outcome:
            case NoRule():
                if raised is not None and precise:
                    self.missed[f"{name}: no rule"] += 1
            case Raise():
                if raised is None:
                    self.wrong.append(f"{shown}: foresees {outcome}, torch gives {describe(real)}")
                elif outcome.earlier:
                    pass
                elif type(raised).__name__ != outcome.class_name or not message_matches(outcome.message, str(raised)):
                    self.wrong.append(
                        f"{shown}: foresees {outcome}, torch raises {type(raised).__name__}: {str(raised)[:300]}"
                    )
                elif precise:
                    self.foreseen[name] += 1
            case Result():
                self.ruled[name] += 1
                if raised is not None:
                    if precise:
                        self.missed[f"{name}: {type(raised).__name__}: {str(raised)[:90]}"] += 1
                        if not outcome.may_raise:
                            self.unhedged[f"{name}: {type(raised).__name__}: {str(raised)[:90]}"] += 1
                else:
                    wrong = contradiction(outcome.value, real)
                    if wrong:
                        self.wrong.append(f"{shown}: gives {outcome.value}, torch has {wrong}")
        return real


def describe(value: Any) -> str:
    """A short text for a value in a report."""
    if isinstance(value, torch.Tensor):
        return f"<{str(value.dtype)[6:]} {tuple(value.shape)} {value.stride()} {value.device}{' grad' if value.requires_grad else ''}>"
    if isinstance(value, list | tuple):
        return f"{type(value).__name__}({', '.join(describe(item) for item in value)})"
    return repr(value)[:80]
