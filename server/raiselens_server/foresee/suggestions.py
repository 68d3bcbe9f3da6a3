"""What Python 3.13 asks after an unexpected keyword argument: `Did you mean 'factor'?`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOVE: Final = 2
_CASE: Final = 1
_LONGEST: Final = 40
_MOST: Final = 750


def suggestion(name: str, candidates: Sequence[str]) -> str | None:
    """The candidate that is like `name`, None where none is; the first one where several are alike."""
    if len(candidates) >= _MOST:
        return None
    best: str | None = None
    best_cost = 0
    for candidate in candidates:
        # At most a third of the letters of both may differ, and only what is better than the best counts.
        limit = (len(name) + len(candidate) + 3) * _MOVE // 6
        limit = limit if best is None else min(limit, best_cost - 1)
        cost = _distance(name, candidate, limit)
        if candidate != name and cost <= limit:
            best, best_cost = candidate, cost
    return best


def _distance(left: str, right: str, limit: int) -> int:
    """The cost of turning one into the other; something above `limit` where it is more than that."""
    while left and right and left[0] == right[0]:
        left, right = left[1:], right[1:]
    while left and right and left[-1] == right[-1]:
        left, right = left[:-1], right[:-1]
    if not left or not right:
        return (len(left) + len(right)) * _MOVE
    if max(len(left), len(right)) > _LONGEST:
        return limit + 1
    row = [index * _MOVE for index in range(len(right) + 1)]
    for position, letter in enumerate(left, 1):
        previous, row[0] = row[0], position * _MOVE
        for index, other in enumerate(right, 1):
            changed = previous + _substitution(letter, other)
            previous = row[index]
            row[index] = min(changed, row[index] + _MOVE, row[index - 1] + _MOVE)
    return row[-1]


def _substitution(left: str, right: str) -> int:
    if left == right:
        return 0
    return _CASE if left.lower() == right.lower() else _MOVE
