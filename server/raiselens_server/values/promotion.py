"""torch's type promotion, on sets of possible dtypes.

An operand takes part with a priority: a tensor with dimensions first, then a 0-d tensor, then a Python number. A lower
one changes the result only where it is of a higher category (bool < integral < floating < complex).
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Final

from raiselens_server.values.dtypes import ALL, ANY_FLOATING, COMPLEX, INTEGRAL

_ORDER: Final = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex32",
    "complex64",
    "complex128",
]
_CODES: Final = dict(zip(["b", "u", "1", "2", "4", "8", "h", "g", "f", "d", "H", "F", "D"], _ORDER, strict=True))
_ROWS: Final = """
b u 1 2 4 8 h g f d H F D
u u 2 2 4 8 h g f d H F D
1 2 1 2 4 8 h g f d H F D
2 2 2 2 4 8 h g f d H F D
4 4 4 4 4 8 h g f d H F D
8 8 8 8 8 8 h g f d H F D
h h h h h h h f f d H F D
g g g g g g f g f d F F D
f f f f f f f f f d F F D
d d d d d d d d d d D D D
H H H H H H H F F D H F D
F F F F F F F F F D F F D
D D D D D D D D D D D D D
"""
_TABLE: Final = {
    (left, right): _CODES[code]
    for left, row in zip(_ORDER, _ROWS.split("\n")[1:-1], strict=True)
    for right, code in zip(_ORDER, row.split(), strict=True)
}
_UNSIGNED: Final = frozenset({"uint16", "uint32", "uint64"})
_PLAIN_FLOATS: Final = frozenset({"float16", "bfloat16", "float32", "float64"})
_TO_COMPLEX: Final = {
    "float16": "complex32",
    "bfloat16": "complex64",
    "float32": "complex64",
    "float64": "complex128",
}

DIMENSIONED: Final = 0
ZERO_DIM: Final = 1
NUMBER: Final = 2

_CASTS_DOWN: Final = {
    "bool": 0,
    **dict.fromkeys(INTEGRAL, 1),
    **dict.fromkeys(ANY_FLOATING, 2),
    **dict.fromkeys(COMPLEX, 3),
}


def promote(left: str, right: str) -> str | None:
    """`torch.promote_types`; None where it raises."""
    if left == right:
        return left
    found = _TABLE.get((left, right))
    if found is None:
        if left in _PLAIN_FLOATS and right in _UNSIGNED:
            return left
        if right in _PLAIN_FLOATS and left in _UNSIGNED:
            return right
    return found


@lru_cache(maxsize=4096)
def promote_sets(left: frozenset[str], right: frozenset[str]) -> frozenset[str]:
    """The results of `promote` over all pairs; empty where every pair raises."""
    if len(left) == 1 and left == right:
        return left
    found = {promote(a, b) for a, b in product(left, right)}
    return frozenset(name for name in found if name is not None)


def combine(higher: str, lower: str) -> str | None:
    """The dtype of an operand of priority `higher` with one of a lower priority."""
    if higher in COMPLEX:
        return higher
    if higher in ANY_FLOATING:
        return _TO_COMPLEX.get(higher) if lower in COMPLEX else higher
    if higher == "bool" or lower in ANY_FLOATING or lower in COMPLEX:
        return promote(higher, lower)
    return higher


@lru_cache(maxsize=4096)
def combine_sets(higher: frozenset[str], lower: frozenset[str]) -> frozenset[str]:
    """The results of `combine` over all pairs."""
    found = {combine(a, b) for a, b in product(higher, lower)}
    return frozenset(name for name in found if name is not None)


def number_dtypes(kind: str, default: frozenset[str]) -> frozenset[str]:
    """The dtypes a Python number of type `kind` takes part with; `default` are the possible default dtypes."""
    if kind == "float":
        return default
    if kind == "complex":
        return frozenset(_TO_COMPLEX[name] for name in default if name in _TO_COMPLEX)
    return frozenset({"bool"}) if kind == "bool" else frozenset({"int64"})


@lru_cache(maxsize=4096)
def result_types(operands: tuple[tuple[frozenset[str], frozenset[int]], ...]) -> frozenset[str]:
    """The possible `torch.result_type` of operands, each given as its dtypes and its possible priorities.

    Empty where every combination raises.
    """
    results: set[str] = set()
    for priorities in product(*(sorted(options) for _, options in operands)):
        levels: dict[int, frozenset[str]] = {}
        for (names, _), priority in zip(operands, priorities, strict=True):
            levels[priority] = promote_sets(levels[priority], names) if priority in levels else names
        combined: frozenset[str] | None = None
        for priority in sorted(levels):
            combined = levels[priority] if combined is None else combine_sets(combined, levels[priority])
        results |= combined or frozenset()
        if len(results) == len(ALL):
            break
    return frozenset(results)


def can_cast(source: str, target: str) -> bool:
    """`torch.can_cast`: whether an in-place operation may store `source` in `target`."""
    low, high = _CASTS_DOWN.get(source), _CASTS_DOWN.get(target)
    if low is None or high is None:
        return source == target
    return low <= high


def category(name: str) -> int | None:
    """0 bool, 1 integral, 2 floating, 3 complex; None for quantised dtypes."""
    return _CASTS_DOWN.get(name)
