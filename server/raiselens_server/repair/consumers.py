"""Who else uses a value that a repair changes.

A repair is safe only if every other consumer of the changed value is known and still passes. Passing is what the
re-check shows; this says whether all are known: a value that is returned, stored, captured or handed to a call that was
not followed has consumers that nobody has looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from raiselens_server.repair.locate import expressions
from raiselens_server.source import ir
from raiselens_server.source.module import expression_text, flatten
from raiselens_server.values import ops

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raiselens_server.repair.proposal import Changed
    from raiselens_server.source.ir import Block, Expr, Stmt
    from raiselens_server.source.module import Module
    from raiselens_server.source.units import FunctionUnit

_HARMLESS: Final = frozenset(
    {"print", "len", "type", "isinstance", "repr", "str", "id", "bool", "int", "float", "list"}
)
_READ_ATTRIBUTES: Final = frozenset(
    {"shape", "dtype", "device", "ndim", "is_cuda", "layout", "itemsize", "nbytes", "requires_grad", "grad"}
)
_MAX_NAMES: Final = 12


@dataclass(frozen=True, slots=True)
class Consumers:
    """`unknown` lists what else uses the value and was not followed, as written; empty where the change is safe."""

    unknown: tuple[str, ...]


def other_consumers(changed: Changed, call: Expr | None, followed: frozenset[int]) -> Consumers:
    """The consumers of a changed expression besides the failing call.

    `followed` are the absolute offsets of calls whose callee the re-check ran.
    """
    scope = _enclosing(changed)
    if scope is None:
        return Consumers(("its surroundings",))
    block, unit, statement = scope
    if _is_within(changed.expr, call) and not _bound_names(statement):
        return Consumers(())
    names = _bound_names(statement)
    if not names:
        direct = _direct(statement, changed)
        return Consumers(() if direct is None else (direct,))
    return Consumers(tuple(dict.fromkeys(_uses(changed.module, changed.base, block, unit, names, call, followed))))


def _is_within(expr: Expr, call: Expr | None) -> bool:
    return call is not None and call[1] <= expr[1] and expr[2] <= call[2]


def _enclosing(changed: Changed) -> tuple[Block, FunctionUnit | None, Stmt] | None:
    from raiselens_server.repair.locate import blocks

    start = changed.base + changed.expr[1]
    for block, base, unit in blocks(changed.module):
        if base != changed.base:
            continue
        for statement in flatten(block):
            if base + statement[1] <= start < base + statement[2] and any(
                expr is changed.expr for expr in expressions(statement)
            ):
                return block, unit, statement
    return None


def _bound_names(statement: Stmt) -> set[str]:
    if statement[0] == ir.ASSIGN:
        return {target[3] for target in statement[3] if target[0] == ir.NAME}
    if statement[0] == ir.ANNOTATED and statement[3][0] == ir.NAME:
        return {statement[3][3]}
    return set()


def _direct(statement: Stmt, changed: Changed) -> str | None:
    """What a value that is bound to no name goes to, where that is not known."""
    text = expression_text(changed.module, changed.base, statement)
    match statement[0]:
        case ir.RETURN:
            return "the callers of this function"
        case ir.ASSIGN | ir.ANNOTATED | ir.AUGMENTED:
            return _shorten(text)
        case _:
            return None


def _shorten(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "…"


def _uses(
    module: Module,
    base: int,
    block: Block,
    unit: FunctionUnit | None,
    names: set[str],
    call: Expr | None,
    followed: frozenset[int],
) -> Iterator[str]:
    """What uses the names and is not known; names bound to views of them are followed too."""
    known = set(names)
    changed = True
    while changed and len(known) < _MAX_NAMES:
        changed = False
        for statement in flatten(block):
            if statement[0] == ir.ASSIGN and _passes_on(statement[4], known):
                fresh = _bound_names(statement) - known
                known |= fresh
                changed = changed or bool(fresh)
    for statement in flatten(block):
        if statement[0] in {ir.FUNCTION, ir.CLASS} and _captured(statement, known):
            yield f"`{statement[3].name}`"
        for expr, parent in _name_uses(statement, known):
            use = _judge(module, base, statement, expr, parent, call, followed)
            if use is not None:
                yield use
    if unit is None and any(_captured(s, known) for s in flatten(block) if s[0] == ir.FUNCTION):
        yield "functions of this module"


def _captured(statement: Stmt, names: set[str]) -> bool:
    if statement[0] != ir.FUNCTION:
        return False
    body = statement[3].body
    return any(
        expr[0] == ir.NAME and expr[3] in names and expr[3] not in body.assigned
        for inner in flatten(body.block)
        for expr in expressions(inner)
    )


def _passes_on(expr: Expr, names: set[str]) -> bool:
    """Whether an expression gives (a view of) one of the names: `x`, `x.view(…)`, `x[0]`, `x.T`."""
    while expr[0] in {ir.ATTRIBUTE, ir.SUBSCRIPT, ir.CALL}:
        expr = expr[3]
    return expr[0] == ir.NAME and expr[3] in names


def _name_uses(statement: Stmt, names: set[str]) -> Iterator[tuple[Expr, tuple[Expr, ...]]]:
    """The uses of the names in a statement, each with the expressions around it, innermost first."""

    def walk(node: object, around: tuple[Expr, ...]) -> Iterator[tuple[Expr, tuple[Expr, ...]]]:
        if not isinstance(node, tuple) or not node:
            return
        is_expr = isinstance(node[0], int) and node[0] < ir.EXPRESSION and len(node) >= 3 and isinstance(node[1], int)
        if is_expr and node[0] == ir.NAME:
            if node[3] in names:
                yield node, around
            return
        inner = (node, *around) if is_expr else around
        for part in node:
            if isinstance(part, tuple):
                yield from walk(part, inner)

    from raiselens_server.repair.locate import _own_parts

    parts = _own_parts(statement)
    if statement[0] in {ir.ASSIGN, ir.ANNOTATED}:
        targets = statement[3] if statement[0] == ir.ASSIGN else (statement[3],)
        for target in targets:
            if target[0] != ir.NAME:
                yield from walk(target, ())
        parts = statement[4:]
    for part in parts:
        yield from walk(part, ())


def _judge(
    module: Module,
    base: int,
    statement: Stmt,
    name: Expr,
    around: tuple[Expr, ...],
    call: Expr | None,
    followed: frozenset[int],
) -> str | None:
    """What a use is, as text, where nobody has looked at it; None where it is known."""
    for parent in around:
        if call is not None and parent[1:3] == call[1:3] and parent[0] == call[0]:
            return None
        match parent[0]:
            case ir.ATTRIBUTE if parent[4] in _READ_ATTRIBUTES:
                return None
            case ir.ATTRIBUTE | ir.SUBSCRIPT | ir.BINARY | ir.COMPARE | ir.UNARY | ir.STAR | ir.CONDITIONAL:
                continue
            case ir.CALL:
                if _known_call(parent, base, followed, name):
                    continue
                return f"`{_shorten(expression_text(module, base, parent[3]))}`"
            case ir.FSTRING:
                return None
            case ir.TUPLE | ir.LIST | ir.SET | ir.DICT:
                continue
            case _:
                return f"`{_shorten(expression_text(module, base, parent))}`"
    match statement[0]:
        case ir.RETURN:
            return "the callers of this function"
        case ir.ASSIGN if any(target[0] != ir.NAME for target in statement[3]) and not around:
            return f"`{_shorten(expression_text(module, base, statement))}`"
        case _:
            return None


def _known_call(parent: Expr, base: int, followed: frozenset[int], name: Expr) -> bool:
    function = parent[3]
    if function[0] == ir.NAME and function[3] in _HARMLESS:
        return True
    if base + parent[1] in followed:
        return True
    if function[0] == ir.ATTRIBUTE:
        inside_receiver = function[1] <= name[1] and name[2] <= function[2]
        if inside_receiver and ops.knows(f"torch.Tensor.{function[4]}"):
            return True
        dotted = _dotted(function)
        return dotted is not None and ops.knows(
            dotted.replace("th.", "torch.", 1) if dotted.startswith("th.") else dotted
        )
    return False


def _dotted(expr: Expr) -> str | None:
    if expr[0] == ir.NAME:
        return str(expr[3])
    if expr[0] == ir.ATTRIBUTE:
        head = _dotted(expr[3])
        return None if head is None else f"{head}.{expr[4]}"
    return None
