"""Hold what was raised against what was predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def printed_class(error: BaseException) -> str:
    """The class as a traceback prints it: with its module, but for builtins and `__main__`."""
    kind = type(error)
    return (
        kind.__qualname__ if kind.__module__ in {"builtins", "__main__"} else f"{kind.__module__}.{kind.__qualname__}"
    )


def same_class(raised: str, predicted: str, *, own: bool = False) -> bool:
    """Whether two printed classes are the same one; a prediction without a module takes any module's.

    `own`: the class raised was defined by the program itself, whose module has another name when it is imported.
    """
    last = predicted.rpartition(".")[2]
    return raised == predicted or (own and raised == last) or (last == predicted == raised.rpartition(".")[2])


def same_message(raised: str, predicted: str, holes: Sequence[tuple[int, int]]) -> bool:
    """Whether `raised` is `predicted` with some text in each hole `predicted[start:end]`.

    Linear: the first piece must begin it, the last must end it, and each one between is looked for from the left.
    """
    pieces = []
    at = 0
    for start, end in sorted(holes):
        pieces.append(predicted[at:start])
        at = end
    pieces.append(predicted[at:])
    if len(pieces) == 1:
        return raised == predicted
    first, *middle, last = pieces
    if not raised.startswith(first) or not raised.endswith(last):
        return False
    at, stop = len(first), len(raised) - len(last)
    for piece in middle:
        found = raised.find(piece, at, stop)
        if found < 0:
            return False
        at = found + len(piece)
    return at <= stop
