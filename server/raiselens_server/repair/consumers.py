"""Who else uses a value that a repair changes.

A repair is safe only if every other consumer of the changed value is known and still passes. That none of the known ones
raises is what the re-check shows; this follows the value through names, expressions and the functions it is handed to,
and lists what is not known to take it: returned to callers, stored, captured, or used in a way that no table has.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from raiselens_server.foresee.frames import Frame, Raising
from raiselens_server.foresee.objects import Function
from raiselens_server.repair.content import constant, fits, widens
from raiselens_server.repair.locate import argument_parameter, blocks, expressions, own_parts
from raiselens_server.repair.uses import Effect, NewDType, NewShape, Outcome, Stored, judge, judge_named
from raiselens_server.source import ir
from raiselens_server.source.bindings import bound_by
from raiselens_server.source.module import expression_text, flatten
from raiselens_server.values.lattice import Callable, Named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raiselens_server.foresee import Project
    from raiselens_server.repair.proposal import Changed
    from raiselens_server.source.ir import Block, Expr, Stmt
    from raiselens_server.source.module import Module
    from raiselens_server.source.units import FunctionUnit

_MOST_NAMES: Final = 12
_DEEPEST: Final = 3
_LONGEST: Final = 60


@dataclass(frozen=True, slots=True)
class _Scope:
    """A block that a changed value is followed in.

    `calls` are where the failing calls stand, which the re-check has looked at. With `until` only what begins before
    that offset counts.
    """

    project: Project
    module: Module
    base: int
    block: Block
    unit: FunctionUnit | None
    calls: frozenset[tuple[object, ...]]
    effect: Effect
    depth: int = 0
    until: int | None = None

    def text(self, node: Expr) -> str:
        text = expression_text(self.module, self.base, node)
        return f"`{text if len(text) <= _LONGEST else text[: _LONGEST - 3] + '…'}`"

    @property
    def scopes(self) -> list[Block]:
        return [self.block] if self.unit is None else [self.block, self.module.block]


def other_consumers(project: Project, changed: Changed, calls: Sequence[Expr]) -> tuple[str, ...]:
    """What else uses a changed expression and is not known to take the change, as written; empty where it is safe.

    `calls` are the failing call and those beside it that fail alike: the change mends them too.
    """
    start = changed.base + changed.expr[1]
    until = calls[0][1] if calls and isinstance(changed.effect, Stored) else None
    failing = frozenset(call[:3] for call in calls)
    for block, base, unit in blocks(changed.module):
        if base != changed.base:
            continue
        for statement in flatten(block):
            if not base + statement[1] <= start < base + statement[2]:
                continue
            scope = _Scope(project, changed.module, base, block, unit, failing, changed.effect, until=until)
            path = _path_to(statement, changed.expr)
            if path is not None:
                return tuple(dict.fromkeys(_followed(scope, statement, changed.expr, path)))
    return ("its surroundings",)


def _path_to(statement: Stmt, expr: Expr) -> tuple[Expr, ...] | None:
    return next((around for found, around in _walk(statement) if found is expr), None)


def _walk(statement: Stmt) -> Iterator[tuple[Expr, tuple[Expr, ...]]]:
    """The expressions of a statement, each with those around it, innermost first."""

    def inside(node: object, around: tuple[Expr, ...]) -> Iterator[tuple[Expr, tuple[Expr, ...]]]:
        if not isinstance(node, tuple) or not node:
            return
        if isinstance(node[0], int) and node[0] < ir.EXPRESSION and len(node) >= 3 and isinstance(node[1], int):
            yield node, around
            around = (node, *around)
        for part in node:
            if isinstance(part, tuple):
                yield from inside(part, around)

    for part in own_parts(statement):
        yield from inside(part, ())


def _followed(scope: _Scope, statement: Stmt, expr: Expr, around: tuple[Expr, ...]) -> Iterator[str]:
    """What is not known of the uses of a value that first stands in `statement`."""
    names, unknown = _use(scope, statement, expr, around)
    yield from unknown
    yield from _names(scope, names)


def _names(scope: _Scope, first: set[str]) -> Iterator[str]:
    """What is not known of the uses of the names, and of those that their values are handed on to."""
    if not first:
        return
    names = set(first)
    found: list[str] = []
    grown = True
    while grown:
        grown = False
        found.clear()
        for statement in flatten(scope.block):
            if scope.until is not None and statement[1] >= scope.until and not _is_loop_around(scope, statement):
                continue
            for expr, around in _walk(statement):
                if expr[0] != ir.NAME or expr[3] not in names or _is_bound_here(statement, expr, around):
                    continue
                fresh, unknown = _use(scope, statement, expr, around)
                found += unknown
                grown = grown or not fresh <= names
                names |= fresh
            if statement[0] == ir.FUNCTION and _captures(statement[3], names):
                found.append(f"`{statement[3].name}`")
        if len(names) > _MOST_NAMES:
            yield "many others"
            return
    yield from found


def _is_loop_around(scope: _Scope, statement: Stmt) -> bool:
    """Whether a statement behind the call may run before it, in an earlier round of a loop."""
    assert scope.until is not None  # noqa: S101 states what the caller has checked
    return any(
        outer[0] in {ir.FOR, ir.WHILE} and outer[1] <= scope.until and statement[2] <= outer[2]
        for outer in flatten(scope.block)
    )


def _is_bound_here(statement: Stmt, expr: Expr, around: tuple[Expr, ...]) -> bool:
    """Whether a name stands as a target: being bound anew uses nothing."""
    if statement[0] == ir.ASSIGN:
        return any(expr is t or (around and around[-1] is t and t[0] in {ir.TUPLE, ir.LIST}) for t in statement[3])
    return statement[0] in {ir.ANNOTATED, ir.FOR} and expr is statement[3]


def _captures(unit: FunctionUnit, names: set[str]) -> bool:
    body = unit.body
    return any(
        expr[0] == ir.NAME and expr[3] in names and expr[3] not in body.assigned
        for inner in flatten(body.block)
        for expr in expressions(inner)
    )


def _use(scope: _Scope, statement: Stmt, expr: Expr, around: tuple[Expr, ...]) -> tuple[set[str], list[str]]:
    """The names that a changed value is handed on to by one use, and what of it is not known."""
    inner = expr
    for outer in around:
        if outer[:3] in scope.calls:
            return set(), []
        match judge(scope.effect, outer, inner, scope.scopes):
            case Outcome.ENDS:
                return set(), []
            case Outcome.UNKNOWN if outer[0] == ir.COMPARE and scope.depth:
                # A guard of a function that the re-check ran.
                return set(), []
            case Outcome.UNKNOWN:
                return set(), [scope.text(outer[3] if outer[0] == ir.CALL else outer)]
            case Outcome.CALLED:
                match _into(scope, outer, inner):
                    case Outcome.ENDS:
                        return set(), []
                    case Outcome.GOES_ON:
                        pass
                    case _:
                        return set(), [scope.text(outer[3])]
            case Outcome.GOES_ON:
                pass
        inner = outer
    return _in_statement(scope, statement, inner)


def _in_statement(scope: _Scope, statement: Stmt, value: Expr) -> tuple[set[str], list[str]]:
    """What a statement does with a changed value that one of its own expressions gives."""
    match statement[0]:
        case ir.EXPRESSION | ir.DELETE | ir.WHILE | ir.IF:
            return set(), []
        case ir.ASSERT:
            return set(), [scope.text(statement[3])] if value is statement[3] else []
        case ir.ASSIGN if any(target is value for target in statement[3]):
            return set(), [] if _may_store(scope, value, statement[4]) else [scope.text(statement)]
        case ir.ASSIGN if value is statement[4]:
            stored = [target for each in statement[3] for target in _leaves(each) if target[0] != ir.NAME]
            return set(bound_by(statement)), [f"whatever reads {scope.text(target)}" for target in stored]
        case ir.ANNOTATED if statement[3][0] == ir.NAME:
            return {statement[3][3]}, []
        case ir.FOR if value is statement[4]:
            return set(bound_by(statement)), []
        case ir.AUGMENTED if value is statement[3]:
            number = constant(statement[5], [])
            fine = statement[4] in {"+", "-", "*"} and _fits(scope.effect, number)
            return set(), [] if fine else [scope.text(statement)]
        case ir.RETURN:
            # The caller of a function that was handed the value sees its result as that of the call.
            return set(), [] if scope.depth else ["the callers of this function"]
        case _:
            return set(), [scope.text(statement)]


def _leaves(target: Expr) -> Iterator[Expr]:
    """What an assignment binds, tuples and lists of targets taken apart."""
    if target[0] in {ir.TUPLE, ir.LIST}:
        for item in target[3]:
            yield from _leaves(item)
    elif target[0] == ir.STAR:
        yield from _leaves(target[3])
    else:
        yield target


def _may_store(scope: _Scope, target: Expr, value: Expr) -> bool:
    """Whether `target = value`, an item of the changed value, stores the same as before."""
    effect = scope.effect
    if isinstance(effect, (NewShape, Stored)) or target[0] != ir.SUBSCRIPT:
        return False
    number = constant(value, scope.scopes)
    if number is not None:
        return _fits(effect, number)
    indices = target[4][3] if target[4][0] == ir.TUPLE else (target[4],)
    plain = all(index[0] in {ir.SLICE, ir.CONST} for index in indices)
    return plain and isinstance(effect, NewDType) and widens(effect.old, effect.new)


def _fits(effect: Effect, number: float | None) -> bool:
    match effect:
        case NewDType(new=new):
            return fits(number, new)
        case Stored():
            return False
        case _:
            return number is not None


def _into(scope: _Scope, call: Expr, argument: Expr) -> Outcome:
    """What a function makes of the changed value that it is handed."""
    static = scope.project.scopes.static
    if scope.depth >= _DEEPEST or static is None:
        return Outcome.UNKNOWN
    frame = Frame(None, scope.module, scope.base, {}, None, None, 6)
    frame.quiet = 1
    try:
        value = static.evaluate(call[3], frame)
    except Raising:
        return Outcome.UNKNOWN
    match value:
        case Named(name=dotted):
            return judge_named(scope.effect, dotted, call)
        case Callable(target=Function() as function):
            return _into_function(scope, function, call, argument)
        case _:
            return Outcome.UNKNOWN


def _into_function(scope: _Scope, function: Function, call: Expr, argument: Expr) -> Outcome:
    unit = function.unit
    name = argument_parameter(call, unit, argument)
    if unit.decorators or unit.is_async or name is None or unit.body.generator:
        return Outcome.UNKNOWN
    inside = replace(
        scope,
        module=function.module,
        base=unit.base,
        block=unit.body.block,
        unit=unit,
        calls=frozenset(),
        until=None,
        depth=scope.depth + 1,
    )
    return Outcome.UNKNOWN if any(_names(inside, {name})) else Outcome.GOES_ON
