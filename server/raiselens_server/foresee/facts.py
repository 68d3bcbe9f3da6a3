"""What foreseeing knows of the tensors that a file binds to names, for people who want to see it beside the source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from raiselens_server.foresee.report import RootRun
from raiselens_server.source import ir
from raiselens_server.values import dims, dtypes
from raiselens_server.values.lattice import Device, Tensor, join_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from raiselens_server.foresee.frames import Frame
    from raiselens_server.foresee.scopes import Scopes
    from raiselens_server.source.ir import Expr
    from raiselens_server.source.module import Module
    from raiselens_server.values.lattice import Value
    from raiselens_server.values.ops import Ambient

UNKNOWN = "?"


@dataclass(frozen=True, slots=True)
class Fact:
    """A name that is bound to a tensor: `line` and `column` are the place behind it, both from 1.

    `text` is what is known: `int64[8, 16] cuda`, with `?` for an unknown size and `…` for an unknown rank.
    """

    line: int
    column: int
    text: str


class FactRun(RootRun):
    """The run of one root that also keeps what its own assignments bind to names."""

    def __init__(self, scopes: Scopes, ambient: Ambient, named: Callable[[str], bool]) -> None:
        super().__init__(scopes, ambient, named)
        self._bound: dict[int, list[Value]] = {}

    def assign(self, target: Expr, value: Value, frame: Frame) -> None:
        """Bind a target, and keep what a name of the root got."""
        super().assign(target, value, frame)
        if frame.root and target[0] == ir.NAME:
            self._bound.setdefault(frame.base + target[2], []).append(value)

    def facts(self, module: Module) -> Iterator[Fact]:
        """What holds on all passes over an assignment: a loop comes by several times."""
        for end, values in self._bound.items():
            value = join_all(values)
            text = described(value) if isinstance(value, Tensor) else ""
            if text:
                yield Fact(*module.position(end), text)


def described(tensor: Tensor) -> str:
    """Dtype, shape and device in one short line; empty where neither dtype nor rank is known."""
    dtype = dtypes.only(tensor.dtypes) or ("floating" if tensor.dtypes <= dtypes.FLOATING else None)
    if dtype is None and tensor.shape is None:
        return ""
    sizes = "…" if tensor.shape is None else ", ".join(_size(size) for size in tensor.shape)
    return f"{dtype or UNKNOWN}[{sizes}]" + (f" {_name(tensor.device)}" if tensor.device is not None else "")


def _size(size: dims.Dim | None) -> str:
    return UNKNOWN if size is None else dims.render(size)


def _name(device: Device) -> str:
    return device.type if device.index is None else f"{device.type}:{device.index}"
