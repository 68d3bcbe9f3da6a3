"""Must-answers as values, and the methods behind the operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from raiselens_server.values.lattice import Const, Opaque

if TYPE_CHECKING:
    from raiselens_server.values.lattice import Value

SOME_BOOL: Final = Opaque("bool")
BINARY_NAMES: Final = {
    "+": "__add__",
    "-": "__sub__",
    "*": "__mul__",
    "/": "__truediv__",
    "//": "__floordiv__",
    "%": "__mod__",
    "@": "__matmul__",
    "**": "__pow__",
    "&": "__and__",
    "|": "__or__",
    "^": "__xor__",
    "<<": "__lshift__",
    ">>": "__rshift__",
    "==": "__eq__",
    "!=": "__ne__",
    "<": "__lt__",
    "<=": "__le__",
    ">": "__gt__",
    ">=": "__ge__",
}


def constant_bool(value: bool | None) -> Value:
    """A must-answer as a value."""
    return SOME_BOOL if value is None else Const(value)
