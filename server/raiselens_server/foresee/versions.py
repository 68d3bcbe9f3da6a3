"""Tests of versions: a branch for some versions of a library may not be for the installed one, whose guards were read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from raiselens_server.source import ir
from raiselens_server.source.bindings import bound_by, calls_in, names_read
from raiselens_server.source.module import expression_text, flatten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raiselens_server.foresee.frames import Frame
    from raiselens_server.source.ir import Expr, Stmt

_WORDS: Final = ("version", "release", "signature(")
_PROBES: Final = frozenset({"hasattr", "getattr"})
_ABSENT: Final = ("ImportError", "ModuleNotFoundError", "AttributeError")
_MAX_STEPS: Final = 3


def for_other_versions(frame: Frame) -> bool:
    """Whether the frame stands on, or behind, a test that speaks of a version, also through names it assigned before."""
    return any(_speaks_of_version(test, frame, _MAX_STEPS) for test in (*frame.tests, *frame.passed))


def _speaks_of_version(expr: Expr, frame: Frame, steps: int) -> bool:
    text = expression_text(frame.module, frame.base, expr).lower()
    if any(word in text for word in _WORDS) or any(_probes(part, frame) for part in calls_in(expr)):
        return True
    if any(_found_out(name, frame) for name in names_read(expr)):
        return True
    if not steps:
        return False
    return any(
        _speaks_of_version(value, frame, steps - 1)
        for name in names_read(expr)
        for statement in _assignments(name, frame)
        if (value := _value(statement)) is not None
    )


def _probes(call: Expr, frame: Frame) -> bool:
    """Whether a call asks if a module or class has an attribute: `hasattr(torch, "compile")`."""
    if call[3][0] != ir.NAME or call[3][3] not in _PROBES or not call[4]:
        return False
    subject = call[4][0]
    while subject[0] == ir.ATTRIBUTE:
        subject = subject[3]
    bound = frame.module.bindings.get(subject[3], ()) if subject[0] == ir.NAME else ()
    return any(statement[0] in {ir.IMPORT, ir.FROM, ir.CLASS} for statement in bound)


def _found_out(name: str, frame: Frame) -> bool:
    """Whether a name of the module is bound in a `try` that copes with something not being there."""
    for statement in flatten(frame.module.block):
        if statement[0] != ir.TRY:
            continue
        kinds = [expression_text(frame.module, 0, kind) for kind, _, _ in statement[4] if kind is not None]
        if not any(word in kind for word in _ABSENT for kind in kinds):
            continue
        if any(name in bound_by(inner) for inner in flatten((statement,))):
            return True
    return False


def _assignments(name: str, frame: Frame) -> Iterator[Stmt]:
    if frame.function is not None:
        for statement in flatten(frame.function.unit.code.block):
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
