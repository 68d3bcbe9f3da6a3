"""The rule tables joined, and a call looked up in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from raiselens_server.values.ops import (
    arrays,
    conversions,
    einsum,
    factories,
    gathering,
    info,
    joining,
    layers,
    linalg,
    linear,
    literals,
    losses,
    masking,
    matmul,
    misc,
    normalization,
    ordering,
    pointwise,
    queries,
    ranges,
    reductions,
    shaping,
    splitting,
    ternary,
    views,
    writing,
)
from raiselens_server.values.ops.outcome import NO_RULE, Ambient, Outcome
from raiselens_server.values.ops.table import Entry, entries, positional, run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raiselens_server.values.lattice import Value

_TABLES: Final = (
    arrays,
    conversions,
    einsum,
    factories,
    gathering,
    info,
    joining,
    layers,
    linalg,
    linear,
    literals,
    losses,
    masking,
    matmul,
    misc,
    normalization,
    ordering,
    pointwise,
    queries,
    ranges,
    reductions,
    shaping,
    splitting,
    ternary,
    views,
    writing,
)
TABLE: Final[dict[str, Entry]] = {name: entry for module in _TABLES for name, entry in entries(module.ROWS).items()}


def call(name: str, args: Sequence[Value], kwargs: Mapping[str, Value], ambient: Ambient) -> Outcome:
    """Call the operation `name`; a method takes its tensor as the first argument."""
    entry = TABLE.get(name)
    return NO_RULE if entry is None or ambient.overridden else run(entry, args, kwargs, ambient)


def parameters(name: str) -> tuple[str, ...]:
    """What may be given to the operation by position, in order; nothing where there is no rule for `name`."""
    entry = TABLE.get(name)
    return () if entry is None else positional(entry)


def knows(name: str) -> bool:
    """Whether there is a rule for `name`."""
    return name in TABLE
