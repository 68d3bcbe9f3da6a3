"""Names that a file replaces behind the back of their own module: mocks, monkeypatching, assignment to a module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raiselens_server.source import ir
from raiselens_server.source.searched import PATCHERS, assigns_to, calls_patcher, may_mock
from raiselens_server.source.units import ClassUnit, FunctionUnit

if TYPE_CHECKING:
    from raiselens_server.source.ir import Expr
    from raiselens_server.source.module import Module


def replaced_names(module: Module) -> frozenset[str]:
    """The names, without saying of what: a name that is replaced anywhere in a file is opaque in all of it."""
    mocks = may_mock(module.source)
    modules = module.imported
    if not mocks and not assigns_to(module.source, modules):
        return frozenset()
    found: set[str] = set()
    stack: list[Any] = [module.block]
    while stack:
        node = stack.pop()
        if isinstance(node, FunctionUnit):
            stack.extend(node.decorators)
            # Few functions of a file replace anything: the others need no walk.
            text = module.slice(node.start, node.end)
            if (mocks and calls_patcher(text)) or assigns_to(text, modules):
                stack.append(node.code.block)
        elif isinstance(node, ClassUnit):
            stack.extend((node.block, *node.decorators))
        elif isinstance(node, tuple) and node:
            if node[0] == ir.CALL and mocks and _patcher(node[3]):
                found |= _named_by(node)
            elif node[0] == ir.ASSIGN:
                found |= {t[4] for t in node[3] if t[0] == ir.ATTRIBUTE and _root(t[3]) in modules}
            stack.extend(node)
    return frozenset(found)


def _named_by(call: Expr) -> set[str]:
    """The names that a call of a patcher replaces: its texts' last dotted parts, keywords of `patch.multiple`."""
    arguments = (*call[4], *(value for _, value in call[5]))
    found = {a[3].rsplit(".", 1)[-1] for a in arguments if a[0] == ir.CONST and isinstance(a[3], str)}
    if call[3][0] == ir.ATTRIBUTE and call[3][4] == "multiple":
        found |= {name for name, _ in call[5] if name is not None}
    return found


def _patcher(function: Expr) -> bool:
    name = function[3] if function[0] == ir.NAME else function[4] if function[0] == ir.ATTRIBUTE else None
    return name in PATCHERS


def _root(expr: Expr) -> str | None:
    while expr[0] == ir.ATTRIBUTE:
        expr = expr[3]
    return str(expr[3]) if expr[0] == ir.NAME else None
