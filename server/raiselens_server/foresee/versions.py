"""Tests of versions: a branch for some versions of a library may not be for the installed one, whose guards were read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from raiselens_server.source import ir
from raiselens_server.source.bindings import bound_by, names_read
from raiselens_server.source.module import expression_text, flatten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raiselens_server.foresee.frames import Frame
    from raiselens_server.source.ir import Expr, Stmt

_WORDS: Final = ("version", "release")
_MAX_STEPS: Final = 3


def for_other_versions(frame: Frame) -> bool:
    """Whether the frame stands on, or behind, a test that speaks of a version, also through names it assigned before."""
    return any(_speaks_of_version(test, frame, _MAX_STEPS) for test in (*frame.tests, *frame.passed))


def _speaks_of_version(expr: Expr, frame: Frame, steps: int) -> bool:
    text = expression_text(frame.module, frame.base, expr).lower()
    if any(word in text for word in _WORDS):
        return True
    if not steps:
        return False
    return any(
        _speaks_of_version(value, frame, steps - 1)
        for name in names_read(expr)
        for statement in _assignments(name, frame)
        if (value := _value(statement)) is not None
    )


def _assignments(name: str, frame: Frame) -> Iterator[Stmt]:
    if frame.function is not None:
        for statement in flatten(frame.function.unit.body.block):
            if name in bound_by(statement):
                yield statement
    yield from frame.module.bindings.get(name, ())


def _value(statement: Stmt) -> Expr | None:
    match statement[0]:
        case ir.ASSIGN:
            return statement[4]  # type: ignore[no-any-return]
        case ir.ANNOTATED:
            return statement[5]  # type: ignore[no-any-return]
        case _:
            return None
