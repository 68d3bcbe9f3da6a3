"""Names that a file replaces behind the back of their own module: mocks, monkeypatching, assignment to a module."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from raiselens_server.source import ir
from raiselens_server.source.units import ClassUnit, FunctionUnit

if TYPE_CHECKING:
    from raiselens_server.source.ir import Expr
    from raiselens_server.source.module import Module

_ATTRIBUTE_ASSIGNMENT: Final = re.compile(rb"(?<![\w.])([A-Za-z_]\w*)\.[\w.]+\s*=(?!=)")
_PATCHERS: Final = frozenset(
    {"setattr", "patch", "object", "multiple", "setitem", "dict", "spy", "stub", "replace_attr"}
)
_PATCHER_WORD: Final = re.compile(rb"\b(?:" + b"|".join(sorted(name.encode() for name in _PATCHERS)) + rb")\b")


def replaced_names(module: Module) -> frozenset[str]:
    """The names, without saying of what: a name that is replaced anywhere in a file is opaque in all of it."""
    mocks = b"patch" in module.source or b"setattr" in module.source
    modules = _imported_modules(module)
    if not mocks and not _assigns_to(module.source, modules):
        return frozenset()
    found: set[str] = set()
    stack: list[Any] = [module.block]
    while stack:
        node = stack.pop()
        if isinstance(node, FunctionUnit):
            stack.extend(node.decorators)
            # Few functions of a file replace anything: the others need no walk.
            text = module.source[node.start : node.end]
            if (mocks and _PATCHER_WORD.search(text)) or _assigns_to(text, modules):
                stack.append(node.body.block)
        elif isinstance(node, ClassUnit):
            stack.extend((node.block, *node.decorators))
        elif isinstance(node, tuple) and node:
            if node[0] == ir.CALL and mocks and _patcher(node[3]):
                found |= _named_by(node)
            elif node[0] == ir.ASSIGN:
                found |= {t[4] for t in node[3] if t[0] == ir.ATTRIBUTE and _root(t[3]) in modules}
            stack.extend(node)
    return frozenset(found)


def _assigns_to(source: bytes, names: frozenset[str]) -> bool:
    """Whether a line may assign to an attribute of one of the names; most files hold none, and are not walked."""
    return any(match.group(1).decode() in names for match in _ATTRIBUTE_ASSIGNMENT.finditer(source))


def _named_by(call: Expr) -> set[str]:
    """The names that a call of a patcher replaces: its texts' last dotted parts, keywords of `patch.multiple`."""
    arguments = (*call[4], *(value for _, value in call[5]))
    found = {a[3].rsplit(".", 1)[-1] for a in arguments if a[0] == ir.CONST and isinstance(a[3], str)}
    if call[3][0] == ir.ATTRIBUTE and call[3][4] == "multiple":
        found |= {name for name, _ in call[5] if name is not None}
    return found


def _patcher(function: Expr) -> bool:
    name = function[3] if function[0] == ir.NAME else function[4] if function[0] == ir.ATTRIBUTE else None
    return name in _PATCHERS


def _root(expr: Expr) -> str | None:
    while expr[0] == ir.ATTRIBUTE:
        expr = expr[3]
    return str(expr[3]) if expr[0] == ir.NAME else None


def _imported_modules(module: Module) -> frozenset[str]:
    """Names bound by imports anywhere at the top level: what is assigned to their attributes may be a module's."""
    names: set[str] = set()
    for name, statements in module.bindings.items():
        if any(statement[0] in {ir.IMPORT, ir.FROM} for statement in statements):
            names.add(name)
    return frozenset(names)
