"""Sizes as canonical linear forms over symbols: `3`, `bs + 1`, `2*n - 1`.

A form is kept canonical, so equality is structural. Comparisons are *must* answers: True and False hold for every
value that the symbols can take, None means that it depends.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Symbol:
    """An integer that is not known but stays the same wherever it is named, such as `x.shape[0]`.

    `minimum` is the least value it can take, None where nothing is known (a size is at least 0).
    """

    name: str
    uid: int
    minimum: int | None = None


@dataclass(frozen=True, slots=True)
class Linear:
    """`constant + sum(coefficient * symbol)`; `terms` is sorted by symbol, never empty, and holds no zero."""

    constant: int
    terms: tuple[tuple[Symbol, int], ...]


Dim = int | Linear
"""A size that is known at least as a form. An unknown size is None wherever a `Dim | None` is taken."""


def of_symbol(symbol: Symbol) -> Linear:
    """The form that is just `symbol`."""
    return Linear(0, ((symbol, 1),))


def _make(constant: int, terms: dict[Symbol, int]) -> Dim:
    kept = sorted(((s, c) for s, c in terms.items() if c), key=lambda term: (term[0].name, term[0].uid))
    return Linear(constant, tuple(kept)) if kept else constant


def add(left: Dim, right: Dim) -> Dim:
    """`left + right`."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    terms: dict[Symbol, int] = {}
    constant = 0
    for side in (left, right):
        if isinstance(side, int):
            constant += side
        else:
            constant += side.constant
            for symbol, coefficient in side.terms:
                terms[symbol] = terms.get(symbol, 0) + coefficient
    return _make(constant, terms)


def scale(dim: Dim, factor: int) -> Dim:
    """`dim * factor`."""
    if isinstance(dim, int):
        return dim * factor
    return _make(dim.constant * factor, {symbol: coefficient * factor for symbol, coefficient in dim.terms})


def subtract(left: Dim, right: Dim) -> Dim:
    """`left - right`."""
    return add(left, scale(right, -1))


def multiply(left: Dim | None, right: Dim | None) -> Dim | None:
    """`left * right`; None where the product is not linear."""
    if left == 0 or right == 0:
        return 0
    if left is None or right is None:
        return None
    if isinstance(right, int):
        return scale(left, right)
    if isinstance(left, int):
        return scale(right, left)
    return None


def floor_divide(left: Dim, right: Dim) -> Dim | None:
    """`left // right`; None where the quotient is not a linear form."""
    if not isinstance(right, int) or right == 0:
        return None
    if isinstance(left, int):
        return left // right
    if all(coefficient % right == 0 for _, coefficient in left.terms):
        return _make(left.constant // right, {symbol: coefficient // right for symbol, coefficient in left.terms})
    return None


def remainder(left: Dim, right: Dim) -> int | None:
    """`left % right` where it is the same for all values of the symbols, else None."""
    if not isinstance(right, int) or right == 0:
        return None
    if isinstance(left, int):
        return left % right
    if all(coefficient % right == 0 for _, coefficient in left.terms):
        return left.constant % right
    return None


def minimum(dim: Dim) -> int | None:
    """The least value `dim` can take, None where it has no bound that is known."""
    if isinstance(dim, int):
        return dim
    total = dim.constant
    for symbol, coefficient in dim.terms:
        if coefficient < 0 or symbol.minimum is None:
            return None
        total += coefficient * symbol.minimum
    return total


def equal(left: Dim | None, right: Dim | None) -> bool | None:
    """Whether the two must be equal (True), cannot be (False), or it depends (None)."""
    if left is None or right is None:
        return None
    if left == right:
        return True
    difference = subtract(left, right)
    if isinstance(difference, int):
        return difference == 0
    low, high = minimum(difference), minimum(scale(difference, -1))
    if (low is not None and low > 0) or (high is not None and high > 0):
        return False
    return None


def less(left: Dim | None, right: Dim | None) -> bool | None:
    """Whether `left < right` must hold (True), cannot hold (False), or depends (None)."""
    if left is None or right is None:
        return None
    difference = subtract(right, left)
    low, high = minimum(difference), minimum(scale(difference, -1))
    if low is not None and low > 0:
        return True
    if high is not None and high >= 0:
        return False
    return None


def render(dim: Dim) -> str:
    """The form as source text: `bs + 1`."""
    if isinstance(dim, int):
        return str(dim)
    parts: list[str] = []
    for symbol, coefficient in dim.terms:
        text = symbol.name if abs(coefficient) == 1 else f"{abs(coefficient)} * {symbol.name}"
        sign = "-" if coefficient < 0 else "+"
        parts.append(text if not parts and sign == "+" else f"-{text}" if not parts else f" {sign} {text}")
    if dim.constant:
        parts.append(f" {'-' if dim.constant < 0 else '+'} {abs(dim.constant)}")
    return "".join(parts)
