"""A repair before it is checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raiselens_server.error import RepairKind
    from raiselens_server.repair.uses import Effect
    from raiselens_server.source.ir import Expr
    from raiselens_server.source.module import Module


@dataclass(frozen=True, slots=True)
class Change:
    """Replace the bytes `start:end` of a module by `text`; equal offsets insert."""

    module: Module
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Changed:
    """The expression whose value a proposal changes, and how, so that its other consumers can be looked at."""

    module: Module
    base: int
    expr: Expr
    effect: Effect


@dataclass(frozen=True, slots=True)
class Proposal:
    """Changes that may help; without `changed` nothing but the failing call sees the changed value.

    `doubtful` proposals run clean and may still not do what is meant, so they are never safe.
    """

    title: str
    kind: RepairKind
    changes: tuple[Change, ...]
    changed: Changed | None = None
    doubtful: bool = False
