"""Which names a piece of IR binds, and which it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raiselens_server.source import ir
from raiselens_server.source.units import ClassUnit, FunctionUnit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raiselens_server.source.ir import Expr, Stmt


def bound_by(statement: Stmt) -> frozenset[str]:
    """The names that a statement binds itself; those bound in its nested blocks are left out."""
    names: set[str] = set()
    match statement[0]:
        case ir.ASSIGN:
            for target in statement[3]:
                bind_target(target, names)
        case ir.ANNOTATED | ir.AUGMENTED | ir.FOR:
            bind_target(statement[3], names)
        case ir.TRY:
            names.update(name for _, name, _ in statement[4] if name is not None)
        case ir.WITH:
            for _, target in statement[3]:
                if target is not None:
                    bind_target(target, names)
        case ir.FUNCTION | ir.CLASS:
            names.add(statement[3].name)
        case ir.IMPORT:
            names.update(alias or dotted.split(".", 1)[0] for dotted, alias in statement[3])
        case ir.FROM:
            names.update(alias for _, alias in statement[5] or ())
        case ir.DELETE:
            for target in statement[3]:
                bind_target(target, names)
        case ir.UNREAD:
            names.update(statement[3])
        case ir.MATCH:
            for pattern, _, _ in statement[4]:
                bind_pattern(pattern, names)
        case _:
            pass
    return frozenset(names)


def bind_target(target: Expr, names: set[str]) -> None:
    """Add the names that an assignment target binds."""
    match target[0]:
        case ir.NAME:
            names.add(target[3])
        case ir.TUPLE | ir.LIST:
            for item in target[3]:
                bind_target(item, names)
        case ir.STAR:
            bind_target(target[3], names)
        case _:
            pass


def bind_pattern(pattern: tuple[Any, ...], names: set[str]) -> None:
    """Add the names that a `case` pattern binds."""
    match pattern[0]:
        case ir.P_CAPTURE | ir.P_STAR:
            if pattern[3] is not None:
                names.add(pattern[3])
        case ir.P_OR | ir.P_SEQUENCE:
            for inner in pattern[3]:
                bind_pattern(inner, names)
        case ir.P_AS:
            bind_pattern(pattern[3], names)
            names.add(pattern[4])
        case ir.P_CLASS:
            for inner in pattern[4]:
                bind_pattern(inner, names)
            for _, inner in pattern[5]:
                bind_pattern(inner, names)
        case ir.P_OPAQUE:
            names.update(pattern[3])
        case _:
            pass


def names_read(node: object, *, nested: bool = False) -> Iterator[str]:
    """The names that IR of any kind reads, in the order of the source.

    `nested`: those in the bodies of functions and classes defined in it, too.
    """
    stack: list[object] = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, tuple) and current:
            if current[0] == ir.NAME and len(current) == 4 and isinstance(current[3], str):
                yield current[3]
            else:
                # Most of a node are numbers and names: only what may hold nodes is looked at.
                stack.extend([part for part in reversed(current) if not isinstance(part, (int, str))])
        elif nested and isinstance(current, FunctionUnit):
            stack.append(current.body.block)
        elif nested and isinstance(current, ClassUnit):
            stack.append(current.block)


def calls_in(node: object) -> Iterator[Expr]:
    """The calls anywhere in an expression, statement or block."""
    stack: list[object] = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, tuple) and part:
            if part[0] == ir.CALL and len(part) == 6:
                yield part
            stack.extend(part)
