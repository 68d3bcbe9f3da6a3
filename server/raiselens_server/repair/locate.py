"""Finding IR nodes by place, arguments by parameter, and how a file spells torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from raiselens_server.source import ir, units
from raiselens_server.source.module import flatten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raiselens_server.source.ir import Block, Expr, Stmt
    from raiselens_server.source.module import Module
    from raiselens_server.source.units import FunctionUnit
    from raiselens_server.values.lattice import Site


@dataclass(frozen=True, slots=True)
class Located:
    """An expression with the statement it stands in and the function around it, None at the top level."""

    module: Module
    base: int
    expr: Expr
    statement: Stmt
    unit: FunctionUnit | None

    @property
    def start(self) -> int:
        """Absolute byte offset of its beginning."""
        return self.base + int(self.expr[1])

    @property
    def end(self) -> int:
        """Absolute byte offset behind it."""
        return self.base + int(self.expr[2])


def blocks(module: Module) -> Iterator[tuple[Block, int, FunctionUnit | None]]:
    """Every block of a module with its base offset: the top level, class bodies and functions, nested ones too."""
    stack: list[tuple[Block, int, FunctionUnit | None]] = [(module.block, 0, None)]
    while stack:
        block, base, unit = stack.pop()
        yield block, base, unit
        for statement in flatten(block):
            if statement[0] == ir.FUNCTION:
                inner = statement[3]
                stack.append((inner.body.block, inner.base, inner))
            elif statement[0] == ir.CLASS:
                stack.append((statement[3].block, statement[3].base, unit))


def at_site(module: Module, site: Site) -> Located | None:
    """The expression that exactly covers a site, outermost first."""
    for block, base, unit in blocks(module):
        for statement in flatten(block):
            if not base + statement[1] <= site.start < base + statement[2]:
                continue
            for expr in expressions(statement):
                if base + expr[1] == site.start and base + expr[2] == site.end:
                    return Located(module, base, expr, statement, unit)
    return None


def expressions(node: object) -> Iterator[Expr]:
    """All expression tuples in a node, outermost first; nested blocks of compound statements are left out."""
    if not isinstance(node, tuple) or not node:
        return
    kind = node[0]
    if isinstance(kind, int) and kind < ir.EXPRESSION and len(node) >= 3 and isinstance(node[1], int):
        yield node
    parts = node
    if isinstance(kind, int) and kind >= ir.EXPRESSION:
        parts = own_parts(node)
    for part in parts:
        if isinstance(part, tuple):
            yield from expressions(part)


def own_parts(statement: Stmt) -> tuple[object, ...]:
    """The parts of a statement without the blocks nested in it."""
    match statement[0]:
        case ir.IF | ir.WHILE:
            return (statement[3],)
        case ir.FOR:
            return (statement[3], statement[4])
        case ir.WITH | ir.MATCH:
            return (statement[3],)
        case ir.TRY | ir.FUNCTION | ir.CLASS:
            return ()
        case _:
            return statement[3:]


def argument_of(call: Expr, unit: FunctionUnit, param: str, *, bound: bool) -> Expr | None:
    """The argument expression that fills a parameter; `bound`: the first parameter is the receiver."""
    if call[0] != ir.CALL:
        return None
    for name, value in call[5]:
        if name == param:
            return value  # type: ignore[no-any-return]
    if any(item[0] == ir.STAR for item in call[4]):
        return None
    positional = [p.name for p in unit.parameters if p.kind in {units.POSITIONAL_ONLY, units.POSITIONAL_OR_KEYWORD}]
    if bound:
        positional = positional[1:]
    if param in positional and positional.index(param) < len(call[4]):
        return call[4][positional.index(param)]  # type: ignore[no-any-return]
    return None


def argument_parameter(call: Expr, unit: FunctionUnit, argument: Expr) -> str | None:
    """The parameter of a plain function that an argument expression fills, None where that cannot be told."""
    for name, value in call[5]:
        if value is argument:
            return name if any(p.name == name for p in unit.parameters) else None
    for position, value in enumerate(call[4]):
        if value[0] == ir.STAR:
            return None
        if value is argument:
            positional = [p for p in unit.parameters if p.kind in {units.POSITIONAL_ONLY, units.POSITIONAL_OR_KEYWORD}]
            return positional[position].name if position < len(positional) else None
    return None


def torch_name(module: Module, unit: FunctionUnit | None = None) -> str | None:
    """What the file calls torch: `torch`, or the alias it imports it by."""
    found: str | None = None
    scopes = [module.block] if unit is None else [unit.body.block, module.block]
    for block in scopes:
        for statement in flatten(block):
            if statement[0] == ir.IMPORT:
                for dotted, alias in statement[3]:
                    if dotted == "torch" and alias is None:
                        return "torch"
                    if dotted == "torch":
                        found = found or alias
                    elif dotted.startswith("torch.") and alias is None:
                        return "torch"
    return found


def needs_parentheses(expr: Expr) -> bool:
    """Whether a method call behind the expression would bind to a part of it."""
    return expr[0] in {
        ir.BINARY,
        ir.UNARY,
        ir.BOOLEAN,
        ir.COMPARE,
        ir.CONDITIONAL,
        ir.LAMBDA,
        ir.AWAIT,
        ir.YIELD,
        ir.WALRUS,
    } or (expr[0] == ir.CONST and isinstance(expr[3], (int, float)))
