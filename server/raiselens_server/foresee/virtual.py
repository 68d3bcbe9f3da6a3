"""Calls of methods that a derived class may replace: their arguments are bound, their bodies not run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from raiselens_server.foresee.binding import Arguments, with_receiver
from raiselens_server.foresee.core import Core
from raiselens_server.foresee.frames import Frame, Raising
from raiselens_server.foresee.statements import exits
from raiselens_server.source import ir
from raiselens_server.source.module import flatten
from raiselens_server.values import lattice
from raiselens_server.values.lattice import Seq, Unknown, Value

if TYPE_CHECKING:
    from raiselens_server.foresee.objects import Function, Virtual
    from raiselens_server.source.ir import Expr
    from raiselens_server.source.units import FunctionUnit

_RETURN: Final = re.compile(rb"\breturn\b[ \t\\]*[^\s#]")
_ABSTRACT: Final = ("abstractmethod", "overload")


class Virtuals(Core):
    """Methods of objects that may be of a derived class, and what calls that are not run give back."""

    def call_virtual(self, virtual: Virtual, arguments: Arguments, frame: Frame, expr: Expr | None) -> Value:
        """Bind the arguments to the method that is known. Raises what they would raise, with what that assumes."""
        function, receiver = virtual.function, virtual.receiver
        if receiver is not None:
            self.forget(receiver)
        self.note_visited(function, frame)
        if virtual.assumed.after is None and is_stub(function.unit):
            return self.not_followed(arguments, "abstract")
        passed = arguments if receiver is None else with_receiver(receiver, arguments)
        try:
            self.bound(function, passed, frame, expr)
        except Raising as raising:
            raising.assumed = (virtual.assumed,)
            raise
        self.not_followed(arguments, "virtual")
        value = self.returned(function, frame, expr, "virtual")
        if isinstance(value, Seq):
            frame.assumed = (virtual.assumed,)
        return value

    def returned(self, function: Function, frame: Frame, expr: Expr | None, cause: str) -> Value:
        """What a call that is not run gives: where its statement unpacks it, as many values as every return lists."""
        frame.assumed = ()
        if cause == "no-facts" and self._gives_nothing(function):
            return lattice.NONE
        if expr is None or not _unpacks(frame.statement, expr, awaited=function.unit.is_async):
            return Unknown(cause)
        count = arity(function.unit)
        return Unknown(cause) if count is None else Seq((Unknown(cause),) * count)

    def _gives_nothing(self, function: Function) -> bool:
        """Whether calling a function gives None for certain: no `return` of it has a value."""
        unit = function.unit
        if unit.nothing is None:
            text = function.module.slice(unit.start, unit.end)
            gives = unit.is_async or unit.name == "<lambda>" or b"yield" in text or _RETURN.search(text) is not None
            unit.nothing = not gives and not is_stub(unit) and not exits(unit.code.block)
        return unit.nothing


def _unpacks(statement: tuple[object, ...] | None, expr: Expr, *, awaited: bool) -> bool:
    if statement is None or statement[0] != ir.ASSIGN:
        return False
    targets, value = statement[3], statement[4]
    if awaited:
        if value[0] != ir.AWAIT:  # type: ignore[index]
            return False
        value = value[3]  # type: ignore[index]
    return value is expr and any(target[0] in {ir.TUPLE, ir.LIST} for target in targets)  # type: ignore[attr-defined]


def is_stub(unit: FunctionUnit) -> bool:
    """Whether a method only stands for those of derived classes: it is abstract, empty, or only raises."""
    for decorator in unit.decorators:
        if decorator[0] in {ir.NAME, ir.ATTRIBUTE} and decorator[-1] in _ABSTRACT:
            return True
    return all(_is_empty(statement) for statement in unit.code.block)


def _is_empty(statement: tuple[object, ...]) -> bool:
    match statement[0]:
        case ir.PASS | ir.RAISE:
            return True
        case ir.EXPRESSION:
            return bool(statement[3][0] == ir.CONST)  # type: ignore[index]
        case ir.RETURN:
            return statement[3] is None or statement[3][0] == ir.CONST  # type: ignore[index]
        case _:
            return False


def arity(unit: FunctionUnit) -> int | None:
    """How many values every `return` of a function lists; None where one gives something else."""
    body = unit.code
    if body.generator:
        return None
    counts: set[int] = set()
    for statement in flatten(body.block):
        if statement[0] != ir.RETURN:
            continue
        value = statement[3]
        if value is None or value[0] != ir.TUPLE or any(item[0] == ir.STAR for item in value[3]):
            return None
        counts.add(len(value[3]))
    return counts.pop() if len(counts) == 1 else None
