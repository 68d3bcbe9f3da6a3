"""Statements on abstract values: branches are joined, loops over known items unrolled, raises followed to handlers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from raiselens_server.foresee.core import Core
from raiselens_server.foresee.frames import Answered, Condition, Raising
from raiselens_server.foresee.narrowing import Narrowing
from raiselens_server.foresee.objects import Class, Function
from raiselens_server.source import ir
from raiselens_server.source.bindings import bound_by, names_read
from raiselens_server.values import lattice
from raiselens_server.values.lattice import Callable, HolePart, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable as Handler

    from raiselens_server.foresee.core import State
    from raiselens_server.foresee.frames import Frame
    from raiselens_server.source.ir import Block, Expr, Stmt

_EXITS: Final = frozenset({ir.RETURN, ir.RAISE, ir.CONTINUE, ir.BREAK})


_STATEMENTS: Final = {
    ir.EXPRESSION: "_expression",
    ir.ASSIGN: "_assign",
    ir.ANNOTATED: "_annotated",
    ir.AUGMENTED: "_augmented",
    ir.RETURN: "_return",
    ir.RAISE: "_raise",
    ir.ASSERT: "_assert",
    ir.IF: "_if",
    ir.WHILE: "_while",
    ir.FOR: "_for",
    ir.TRY: "_try",
    ir.WITH: "_with",
    ir.FUNCTION: "_function",
    ir.CLASS: "_class",
    ir.IMPORT: "_import",
    ir.FROM: "_from",
    ir.GLOBAL: "_pass",
    ir.NONLOCAL: "_pass",
    ir.DELETE: "_delete",
    ir.PASS: "_pass",
    ir.BREAK: "_break",
    ir.CONTINUE: "_continue",
    ir.MATCH: "_match",
    ir.UNREAD: "_unread",
}
"""The handlers, by name: some are those of other parts of the interpreter."""


class Statements(Narrowing, Core):
    """Runs statements. Every handler answers whether control may reach the next statement."""

    _statements: ClassVar[dict[int, Handler[[Any, Stmt, Frame], bool]]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._statements = {kind: getattr(cls, name) for kind, name in _STATEMENTS.items() if hasattr(cls, name)}

    def block(self, block: Block, frame: Frame) -> bool:
        """Run statements; False where control certainly does not reach their end."""
        for statement in block:
            self.step()
            frame.statement = statement
            frame.at = frame.base + statement[1]
            try:
                if not self._statements[statement[0]](self, statement, frame):
                    return False
            except Raising as raising:
                raising.__traceback__ = None
                frame.statement = statement
                if frame.root and self.report(raising, frame):
                    for name in bound_by(statement):
                        frame.variables[name] = Unknown("raised")
                    continue
                frame.raises.append(raising)
                return False
        return True

    # Simple statements

    def _expression(self, statement: Stmt, frame: Frame) -> bool:
        value = self.evaluate(statement[3], frame)
        return not (isinstance(value, Unknown) and value.cause == "no-return")

    def _assign(self, statement: Stmt, frame: Frame) -> bool:
        value = self.evaluate(statement[4], frame)
        for target in statement[3]:
            self.assign(target, value, frame)
        return True

    def _annotated(self, statement: Stmt, frame: Frame) -> bool:
        if statement[5] is not None:
            self.assign(statement[3], self.evaluate(statement[5], frame), frame)
        return True

    def _augmented(self, statement: Stmt, frame: Frame) -> bool:
        self.augment(statement, frame)
        return True

    def _return(self, statement: Stmt, frame: Frame) -> bool:
        value = lattice.NONE if statement[3] is None else self.evaluate(statement[3], frame)
        frame.returns.append((value, dict(self.heap)))
        return False

    def _pass(self, statement: Stmt, frame: Frame) -> bool:
        return True

    def _break(self, statement: Stmt, frame: Frame) -> bool:
        if frame.loops:
            frame.loops[-1].breaks.append(self.snapshot(frame))
        return False

    def _continue(self, statement: Stmt, frame: Frame) -> bool:
        if frame.loops:
            frame.loops[-1].continues.append(self.snapshot(frame))
        return False

    def _delete(self, statement: Stmt, frame: Frame) -> bool:
        for target in statement[3]:
            if target[0] == ir.NAME:
                frame.variables.pop(target[3], None)
            elif target[0] in {ir.SUBSCRIPT, ir.ATTRIBUTE}:
                self.forget(self.evaluate(target[3], frame))
        return True

    def _unread(self, statement: Stmt, frame: Frame) -> bool:
        for name in statement[3]:
            frame.variables[name] = Unknown("not-understood")
        return True

    def _function(self, statement: Stmt, frame: Frame) -> bool:
        unit = statement[3]
        closure = frame if frame.function is not None or frame.live else None
        function = Function(unit, frame.module, closure, None)
        frame.variables[unit.name] = self.decorate(Callable(function, function.dotted), unit.decorators, frame)
        return True

    def _class(self, statement: Stmt, frame: Frame) -> bool:
        unit = statement[3]
        cls = Class(unit, frame.module, frame if frame.function is not None or frame.live else None)
        frame.variables[unit.name] = self.decorate(Callable(cls, cls.dotted), unit.decorators, frame)
        return True

    def _import(self, statement: Stmt, frame: Frame) -> bool:
        for dotted, alias in statement[3]:
            name = alias or dotted.split(".", 1)[0]
            target = dotted if alias else name
            frame.variables[name] = self.scopes.import_module(target, frame.module)
        return True

    def _from(self, statement: Stmt, frame: Frame) -> bool:
        if statement[5] is None:
            return True
        for name, alias in statement[5]:
            frame.variables[alias] = self.scopes.import_from(frame.module, statement[3], statement[4], name, self)
        return True

    # Raises and guards

    def _raise(self, statement: Stmt, frame: Frame) -> bool:
        test, text = self._innermost(frame)
        if statement[3] is None and frame.caught is not None:
            raise frame.caught
        if statement[3] is None:
            raise Raising("", (), frame, test=test, condition=text, rule="reraise")
        value = self.evaluate(statement[3], frame)
        frame.at = frame.base + statement[1]
        cls, message = self.exception_of(value, frame, statement[3])
        raise Raising(cls, message, frame, test=test, condition=text, value=value)

    def _innermost(self, frame: Frame) -> tuple[Expr | None, str]:
        for condition in reversed(frame.conditions):
            if not condition.handled:
                return condition.test, self.source(frame, condition.test)
        return None, ""

    def _assert(self, statement: Stmt, frame: Frame) -> bool:
        self.statistics.guards_reached += 1
        answer = self.test(statement[3], frame)
        if answer is True:
            self.statistics.guards_decided += 1
            return True
        if answer is None:
            self._undecided(statement[3], frame)
            if self.witness is None or not self.is_proven(failed := self._failed(statement, frame)):
                self.refine(statement[3], True, frame)
                return True
            raise failed
        self.statistics.guards_decided += 1
        self._decided(statement[3], frame, taken=False)
        raise self._failed(statement, frame)

    def _failed(self, statement: Stmt, frame: Frame) -> Raising:
        """What a failing `assert` raises."""
        parts: tuple[str | HolePart, ...] = ()
        if statement[4] is not None:
            message = self.evaluate(statement[4], frame)
            parts = self.text_of(message, "s", "", self.source(frame, statement[4]))
        frame.at = frame.base + statement[1]
        test, text = self._innermost(frame)
        return Raising("AssertionError", parts, frame, test=test, condition=text)

    def _undecided(self, test: Expr, frame: Frame) -> None:
        frame.unsure = True
        cause = self.cause_of(test, frame)
        self.statistics.undecided[cause] += 1

    def cause_of(self, test: Expr, frame: Frame) -> str:
        """Why a test was not decided, in a word, for statistics."""
        # The operand that is compared against is mostly the one nobody knows.
        for name in reversed([*names_read(test)]):
            value = self.lookup(name, frame)
            if isinstance(value, Unknown):
                return value.cause
        return "value"

    def _decided(self, test: Expr, frame: Frame, *, taken: bool) -> None:
        frame.conditions.append(Condition(test, taken, self.depends_on_caller(test, frame)))

    # Branches

    def _if(self, statement: Stmt, frame: Frame) -> bool:
        _, _, _, test, body, orelse = statement
        guard = _is_guard(body) or _is_guard(orelse)
        if guard:
            self.statistics.guards_reached += 1
        answer = self.test(test, frame)
        if answer is None:
            answer = self.already(test, frame)
            if answer is not None:
                # Asked again: the branch that cannot be reached is dead, the other one as undecided as before.
                return self.block(body if answer else orelse, frame)
            return self._undecided_if(statement, frame, guard=guard)
        if guard:
            self.statistics.guards_decided += 1
        taken, other = (body, orelse) if answer else (orelse, body)
        depth = len(frame.conditions)
        self._decided(test, frame, taken=answer)
        falls = self.block(taken, frame)
        if falls and not exits(other):
            del frame.conditions[depth:]
        return falls

    def _undecided_if(self, statement: Stmt, frame: Frame, *, guard: bool) -> bool:
        _, _, _, test, body, orelse = statement
        before = len(frame.raises)
        depth = len(frame.conditions)
        if guard:
            self._undecided(test, frame)
        entry = self.snapshot(frame)
        states: list[State] = []
        left = True
        text = self.source(frame, test)
        known = len(frame.answered)
        values = self.locals_of(test, frame)
        for block, taken in ((body, True), (orelse, False)):
            self.restore(frame, (dict(entry[0]), dict(entry[1])))
            if values is not None:
                frame.answered.append(Answered(text, values, taken))
            self.refine(test, taken, frame)
            frame.branches.append(text if taken else f"not ({text})")
            frame.tests.append(test)
            if self.witness is not None:
                # What the run has proved to be raised here, it has proved to be raised under this test.
                self._decided(test, frame, taken=taken)
            falls = self.block(block, frame)
            frame.tests.pop()
            frame.branches.pop()
            del frame.conditions[depth:]
            del frame.answered[known:]
            if falls:
                left = taken
                states.append((frame.variables, self.heap))
        if values is not None and len(states) == 1:
            frame.answered.append(Answered(text, values, left))
        if len(frame.raises) > before and states:
            frame.unsure = True
        if not states:
            return False
        self.restore(frame, self.join_states(states))
        if len(states) == 1:
            frame.passed.append(test)
        return True

    def _match(self, statement: Stmt, frame: Frame) -> bool:
        subject = self.evaluate(statement[3], frame)
        entry = self.snapshot(frame)
        states: list[State] = []
        depth = len(frame.conditions)
        open_end = True
        for pattern, guard, body in statement[4]:
            self.restore(frame, (dict(entry[0]), dict(entry[1])))
            answer = self.matches(pattern, subject, frame)
            if answer is not False and guard is not None:
                held = self.test(guard, frame)
                answer = answer if held is True else False if held is False else None
            if answer is False:
                self._decided(statement[3], frame, taken=False)
                continue
            if answer is True:
                self._decided(statement[3], frame, taken=True)
            else:
                frame.branches.append(f"case {frame.module.text(frame.base + pattern[1], frame.base + pattern[2])}")
            before = len(frame.raises)
            if self.block(body, frame):
                states.append((frame.variables, self.heap))
            if answer is None:
                frame.branches.pop()
                frame.unsure = frame.unsure or len(frame.raises) > before
                del frame.conditions[depth:]
            else:
                open_end = False
                break
        if open_end:
            states.append(entry)
        del frame.conditions[depth:]
        if not states:
            return False
        self.restore(frame, self.join_states(states))
        return True

    # Loops

    # try, with


def exits(block: Block) -> bool:
    """Whether a block always leaves: its last statement returns, raises, breaks or continues."""
    if not block:
        return False
    last = block[-1]
    if last[0] in _EXITS:
        return True
    if last[0] == ir.IF:
        return exits(last[4]) and exits(last[5])
    return last[0] == ir.WITH and exits(last[4])


def ends_in_raise(block: Block) -> bool:
    """Whether a block that is left at its end is left by a raise."""
    if not block:
        return False
    last = block[-1]
    return last[0] == ir.RAISE or (last[0] == ir.IF and ends_in_raise(last[4]) and ends_in_raise(last[5]))


def _is_guard(block: Block) -> bool:
    return any(statement[0] == ir.RAISE for statement in block)
