"""Which names a statement binds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raiselens_server.source import ir

if TYPE_CHECKING:
    from raiselens_server.source.ir import Expr, Stmt


def bound_by(statement: Stmt) -> frozenset[str]:
    """The names that a statement binds itself; those bound in its nested blocks are left out."""
    names: set[str] = set()
    match statement[0]:
        case ir.ASSIGN:
            for target in statement[3]:
                _bound_target(target, names)
        case ir.ANNOTATED | ir.AUGMENTED | ir.FOR:
            _bound_target(statement[3], names)
        case ir.TRY:
            names.update(name for _, name, _ in statement[4] if name is not None)
        case ir.WITH:
            for _, target in statement[3]:
                if target is not None:
                    _bound_target(target, names)
        case ir.FUNCTION | ir.CLASS:
            names.add(statement[3].name)
        case ir.IMPORT:
            names.update(alias or dotted.split(".", 1)[0] for dotted, alias in statement[3])
        case ir.FROM:
            names.update(alias for _, alias in statement[5] or ())
        case ir.DELETE:
            for target in statement[3]:
                _bound_target(target, names)
        case ir.UNREAD:
            names.update(statement[3])
        case ir.MATCH:
            for pattern, _, _ in statement[4]:
                _bound_pattern(pattern, names)
        case _:
            pass
    return frozenset(names)


def _bound_target(target: Expr, names: set[str]) -> None:
    match target[0]:
        case ir.NAME:
            names.add(target[3])
        case ir.TUPLE | ir.LIST:
            for item in target[3]:
                _bound_target(item, names)
        case ir.STAR:
            _bound_target(target[3], names)
        case _:
            pass


def _bound_pattern(pattern: tuple[Any, ...], names: set[str]) -> None:
    match pattern[0]:
        case ir.P_CAPTURE | ir.P_STAR:
            if pattern[3] is not None:
                names.add(pattern[3])
        case ir.P_OR | ir.P_SEQUENCE:
            for inner in pattern[3]:
                _bound_pattern(inner, names)
        case ir.P_AS:
            _bound_pattern(pattern[3], names)
            names.add(pattern[4])
        case ir.P_CLASS:
            for inner in pattern[4]:
                _bound_pattern(inner, names)
            for _, inner in pattern[5]:
                _bound_pattern(inner, names)
        case ir.P_OPAQUE:
            names.update(pattern[3])
        case _:
            pass
