"""What would have passed a guard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from raiselens_server.values.lattice import Device


@dataclass(frozen=True, slots=True)
class WantDType:
    """`subject` must have dtype `name`."""

    subject: str
    name: str


@dataclass(frozen=True, slots=True)
class WantRank:
    """`subject` must have `rank` dimensions."""

    subject: str
    rank: int


@dataclass(frozen=True, slots=True)
class WantSize:
    """Dimension `axis` of `subject` must be `more` larger than it is; `nearest`: other sizes would pass as well."""

    subject: str
    axis: int
    more: int
    nearest: bool = False


@dataclass(frozen=True, slots=True)
class WantDevice:
    """`subject` must be on `device`, where `other` is."""

    subject: str
    device: Device
    other: str | None


@dataclass(frozen=True, slots=True)
class WantContiguous:
    """`subject` must be contiguous."""

    subject: str


@dataclass(frozen=True, slots=True)
class WantValue:
    """`subject` must be one of the constants `allowed`."""

    subject: str
    allowed: tuple[str | int | float | bool, ...]


@dataclass(frozen=True, slots=True)
class WantShapeOf:
    """`subject` must have the shape of `other`."""

    subject: str
    other: str


@dataclass(frozen=True, slots=True)
class WantTensor:
    """`subject` must be a tensor."""

    subject: str


Want: TypeAlias = WantDType | WantRank | WantSize | WantDevice | WantContiguous | WantValue | WantShapeOf | WantTensor
"""`subject` is a name in the guard's frame."""
