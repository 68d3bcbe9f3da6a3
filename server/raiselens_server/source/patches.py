"""Names that a file replaces behind the back of their own module: mocks, monkeypatching, assignment to a module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from raiselens_server.source import ir
from raiselens_server.source.units import ClassUnit, FunctionUnit

if TYPE_CHECKING:
    from raiselens_server.source.module import Module

_PATCHERS: Final = frozenset({"setattr", "patch", "object", "multiple", "setitem", "dict", "spy", "stub", "replace_attr"})


def replaced_names(module: Module) -> frozenset[str]:
    """The names, without saying of what: a name that is replaced anywhere in a file is opaque in all of it."""
    mocks = b"patch" in module.source or b"setattr" in module.source
    modules = _imported_modules(module)
    if not mocks and not modules:
        return frozenset()
    found: set[str] = set()
    stack: list[object] = [module.block]
    while stack:
        node = stack.pop()
        match node:
            case FunctionUnit():
                stack.extend((node.body.block, *node.decorators))
            case ClassUnit():
                stack.extend((node.block, *node.decorators))
            case (ir.CALL, int(), int(), function, positional, keywords) if mocks and _patcher(function):
                for argument in (*positional, *(value for _, value in keywords)):
                    if argument[0] == ir.CONST and isinstance(argument[3], str):
                        found.add(argument[3].rsplit(".", 1)[-1])
                if function[0] == ir.ATTRIBUTE and function[4] == "multiple":
                    found.update(name for name, _ in keywords if name is not None)
                stack.extend((*positional, *(value for _, value in keywords), function))
            case (ir.ASSIGN, int(), int(), targets, value):
                for target in targets:
                    if target[0] == ir.ATTRIBUTE and target[3][0] == ir.NAME and target[3][3] in modules:
                        found.add(target[4])
                    elif target[0] == ir.ATTRIBUTE and target[3][0] == ir.ATTRIBUTE and _root(target) in modules:
                        found.add(target[4])
                stack.append(value)
            case tuple():
                stack.extend(node)
            case _:
                continue
    return frozenset(found)


def _patcher(function: object) -> bool:
    match function:
        case (ir.NAME, _, _, str() as name):
            return name in _PATCHERS
        case (ir.ATTRIBUTE, _, _, _, str() as name):
            return name in _PATCHERS
        case _:
            return False


def _root(expr: tuple[object, ...]) -> object:
    while expr[0] == ir.ATTRIBUTE:
        expr = expr[3]  # type: ignore[assignment]
    return expr[3] if expr[0] == ir.NAME else None


def _imported_modules(module: Module) -> frozenset[str]:
    """Names bound by imports anywhere at the top level: what is assigned to their attributes may be a module's."""
    names: set[str] = set()
    for name, statements in module.bindings.items():
        if any(statement[0] in {ir.IMPORT, ir.FROM} for statement in statements):
            names.add(name)
    return frozenset(names)
