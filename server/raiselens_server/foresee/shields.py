"""What stands around code and may keep its exceptions: context managers, and decorators of the function it is in.

The question is always the same one: does an exception that is thrown at a certain point of a body leave it? The point
is the `yield` of a generator that makes a context manager, or the call of the function that a decorator wraps.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from raiselens_server.source import ir
from raiselens_server.source.module import flatten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from raiselens_server.foresee.objects import Function
    from raiselens_server.source.ir import Block, Expr, Stmt


class Kept(enum.Enum):
    """A shield that treats all exceptions alike. `UNKNOWN` may swallow, `SWALLOWS` does so on purpose."""

    NONE = enum.auto()
    UNKNOWN = enum.auto()
    SWALLOWS = enum.auto()


@dataclass(frozen=True, slots=True)
class Around:
    """The body of `function` stands around the code; `names` are those it calls it by, none where it yields to it."""

    function: Function
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Suppressing:
    """`contextlib.suppress(…)` with these arguments."""

    kinds: tuple[Expr, ...]


Shield: TypeAlias = Kept | Around | Suppressing

_LEAVES: Final = frozenset({ir.RETURN, ir.BREAK, ir.CONTINUE})


def overrides(final: Block) -> bool:
    """Whether a `finally` may end what is being raised: by `return`, or by leaving the loop that the `try` is in."""
    for statement in final:
        match statement[0]:
            case ir.RETURN | ir.BREAK | ir.CONTINUE:
                return True
            case ir.FOR | ir.WHILE:
                # Its own `break` and `continue` leave no other loop.
                if any(inner[0] == ir.RETURN for inner in flatten((statement,))):
                    return True
            case _:
                if any(overrides(block) for block in _blocks(statement)):
                    return True
    return False


def reraises(block: Block, name: str | None) -> bool:
    """Whether a handler always raises what it caught again."""
    if not block or any(statement[0] in _LEAVES for statement in flatten(block)):
        return False
    last = block[-1]
    if last[0] == ir.IF:
        return bool(last[5]) and reraises(last[4], name) and reraises(last[5], name)
    if last[0] != ir.RAISE:
        return False
    raised = last[3]
    return raised is None or (raised[0] == ir.NAME and raised[3] == name)


def returns_false(block: Block) -> bool:
    """Whether an `__exit__` with this body always answers something false, and raises nothing of its own."""
    for statement in flatten(block):
        if statement[0] == ir.RAISE:
            return False
        if statement[0] == ir.RETURN and statement[3] is not None:
            value = statement[3]
            if value[0] != ir.CONST or value[3]:
                return False
    return True


def leaves(
    block: Block,
    holds: Callable[[object], bool],
    handles: Callable[[Expr | None], bool | None],
    passes: Callable[[Expr], bool],
) -> bool:
    """Whether an exception thrown at a point of `block` leaves it as it is.

    `holds` says whether a piece of IR holds such a point, `handles` whether `except kind` catches the exception, and
    `passes` whether a context manager lets it through.
    """
    return all(_leaves(statement, holds, handles, passes) for statement in block if holds(statement))


def _leaves(
    statement: Stmt,
    holds: Callable[[object], bool],
    handles: Callable[[Expr | None], bool | None],
    passes: Callable[[Expr], bool],
) -> bool:
    match statement[0]:
        case ir.TRY:
            if overrides(statement[6]):
                return False
            if holds(statement[3]) and not _unhandled(statement[4], handles):
                return False
        case ir.WITH:
            if not all(passes(context) for context, _ in statement[3]):
                return False
        case _:
            pass
    return all(leaves(block, holds, handles, passes) for block in _blocks(statement))


def _unhandled(
    handlers: Iterable[tuple[Expr | None, str | None, Block]], handles: Callable[[Expr | None], bool | None]
) -> bool:
    for kind, name, block in handlers:
        caught = handles(kind)
        if caught is not False and not reraises(block, name):
            return False
        if caught is True:
            return True
    return True


def _blocks(statement: Stmt) -> tuple[Block, ...]:
    """The blocks nested in a statement, bodies of functions and classes left out."""
    match statement[0]:
        case ir.IF | ir.WHILE:
            return (statement[4], statement[5])
        case ir.FOR:
            return (statement[5], statement[6])
        case ir.TRY:
            return (statement[3], *(body for _, _, body in statement[4]), statement[5], statement[6])
        case ir.WITH:
            return (statement[4],)
        case ir.MATCH:
            return tuple(body for _, _, body in statement[4])
        case _:
            return ()


def yields(node: object) -> bool:
    """Whether IR holds a `yield` of its own function."""
    return any(part[0] == ir.YIELD and len(part) == 4 for part in _parts(node))


def calls(node: object, names: frozenset[str]) -> bool:
    """Whether IR calls one of `names`."""
    return any(_calls(part, names) for part in _parts(node))


def only_calls(node: object, names: frozenset[str]) -> bool:
    """Whether IR calls one of `names`, and does nothing else with it than to read its attributes or its signature."""
    stack: list[Any] = [node]
    while stack:
        part = stack.pop()
        if not isinstance(part, tuple) or not part:
            continue
        if part[0] == ir.NAME and len(part) == 4 and part[3] in names:
            return False
        if _calls(part, names):
            stack.extend(part[4:])
        elif not (part[0] == ir.ATTRIBUTE and len(part) == 5 and _is_one(part[3], names)) and not _studies(part, names):
            stack.extend(part)
    return calls(node, names)


def _studies(part: tuple[Any, ...], names: frozenset[str]) -> bool:
    """Whether IR is `inspect.signature(f)` of one of `names`."""
    if part[0] != ir.CALL or len(part) != 6 or len(part[4]) != 1 or part[5] or not _is_one(part[4][0], names):
        return False
    function = part[3]
    return function[-1] in {"signature", "getfullargspec"} and function[0] in {ir.NAME, ir.ATTRIBUTE}


def _calls(part: tuple[Any, ...], names: frozenset[str]) -> bool:
    return part[0] == ir.CALL and len(part) == 6 and _is_one(part[3], names)


def _is_one(expr: Any, names: frozenset[str]) -> bool:
    """Whether an expression is one of `names`, or an attribute of `self` called so."""
    if not isinstance(expr, tuple) or not expr:
        return False
    if expr[0] == ir.NAME:
        return expr[3] in names
    return bool(expr[0] == ir.ATTRIBUTE and expr[3][0] == ir.NAME and f"{expr[3][3]}.{expr[4]}" in names)


def _parts(node: object) -> Iterable[tuple[Any, ...]]:
    stack: list[Any] = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, tuple) and part:
            yield part
            stack.extend(part)
