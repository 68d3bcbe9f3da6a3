"""Loops: unrolled over known items, else run once on what holds in any round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from raiselens_server.foresee.frames import Loop
from raiselens_server.foresee.narrowing import Narrowing
from raiselens_server.foresee.objects import Pending, kind_of
from raiselens_server.foresee.scopes import BUILTINS
from raiselens_server.source import ir
from raiselens_server.source.bindings import bind_target, bound_by, calls_in
from raiselens_server.source.module import flatten
from raiselens_server.values import lattice
from raiselens_server.values.lattice import Callable, Const, Ref, Unknown, Value

if TYPE_CHECKING:
    from raiselens_server.foresee.core import State
    from raiselens_server.foresee.frames import Frame
    from raiselens_server.source.ir import Block, Expr, Stmt

UNROLL_LIMIT: Final = 16
UNROLL_TEXT: Final = 160
"""Characters of a text: what reads them one by one is a parser, of which a part is worth nothing."""


class Loops(Narrowing):
    """Runs loops."""

    def _while(self, statement: Stmt, frame: Frame) -> bool:
        _, _, _, test, body, orelse = statement
        forever = test[0] == ir.CONST and bool(test[3])
        self._havoc(body, frame)
        answer = self.test(test, frame)
        if answer is False:
            return self.block(orelse, frame)
        entry, changed = self.snapshot(frame), len(self.changed_tensors)
        loop = Loop()
        frame.loops.append(loop)
        self.refine(test, True, frame)
        before = len(frame.raises)
        if answer is None:
            frame.branches.append(self.source(frame, test))
        self.block(body, frame)
        if answer is None:
            frame.branches.pop()
        frame.loops.pop()
        if len(frame.raises) > before:
            frame.unsure = True
        self._forget_changed(entry[1], frame)
        states: list[State] = [*loop.breaks]
        for variables, _ in (entry, *states):
            self.outdate(variables, changed)
        if not forever:
            self.restore(frame, (entry[0], {**entry[1], **self.heap}))
            self._havoc(body, frame)
            if self.block(orelse, frame):
                states.append((frame.variables, self.heap))
        elif not loop.breaks:
            # An endless loop leaves by break, return or raise only; a raise on its first round is certain.
            return False
        if not states:
            return False
        self.restore(frame, self.join_states(states))
        self._havoc(body, frame)
        return True

    def _for(self, statement: Stmt, frame: Frame) -> bool:
        _, _, _, target, iterable, body, orelse = statement
        over = self.evaluate(iterable, frame)
        if over == lattice.NONE:
            text = "'NoneType' object is not iterable"
            raise self.none_error(text, "none-iterate", f"{self.source(frame, iterable)} is None", frame)
        value = self.iterate(over, frame)
        if value is not None and len(value) <= (UNROLL_TEXT if isinstance(over, Const) else UNROLL_LIMIT):
            return self._unrolled(value, statement, frame)
        return self._unknown_rounds(value, self.element_of(over), target, body, orelse, frame)

    def iterate(self, value: Value, frame: Frame) -> tuple[Value, ...] | None:
        """The items that iterating gives, None where their number is not known. Runs a generator's beginning."""
        if isinstance(value, Callable) and isinstance(value.target, Pending) and value.target.generator:
            self.run_pending(value.target, frame)
            # The rest of its body runs between the rounds.
            self.escape(value)
            return None
        items = self.items_of(value)
        if items is None:
            items = self.rows_of(value)
        return items

    def _unrolled(self, items: tuple[Value, ...], statement: Stmt, frame: Frame) -> bool:
        _, _, _, target, _, body, orelse = statement
        leaving: list[State] = []
        falls = True
        depth = len(frame.conditions)
        for item in items:
            # The round before has left the last statement of the body here.
            frame.statement, frame.at = statement, frame.base + statement[1]
            self.assign(target, item, frame)
            loop = Loop(tests=len(frame.tests))
            frame.loops.append(loop)
            ends = self.block(body, frame)
            frame.loops.pop()
            leaving.extend(loop.breaks)
            states = loop.continues
            if ends:
                states.append((frame.variables, self.heap))
            del frame.conditions[depth:]
            if not states:
                falls = False
                break
            self.restore(frame, self.join_states(states))
        if falls:
            falls = self.block(orelse, frame)
        if falls:
            leaving.append((frame.variables, self.heap))
        if not leaving:
            return False
        self.restore(frame, self.join_states(leaving))
        return True

    def _unknown_rounds(
        self,
        items: tuple[Value, ...] | None,
        each: Value | None,
        target: Expr,
        body: Block,
        orelse: Block,
        frame: Frame,
    ) -> bool:
        entry, changed = self.snapshot(frame), len(self.changed_tensors)
        self._havoc(body, frame)
        element: Value = Unknown("loop-item")
        if items is not None and items and all(isinstance(i, Const) and isinstance(i.value, int) for i in items):
            element = lattice.Opaque("int")
        self.assign(target, each or element, frame)
        loop = Loop()
        frame.loops.append(loop)
        before, depth = len(frame.raises), len(frame.conditions)
        start = dict(self.heap)
        self.block(body, frame)
        frame.loops.pop()
        del frame.conditions[depth:]
        if len(frame.raises) > before:
            frame.unsure = True
        self._forget_changed(start, frame)
        heap = self.heap
        self.restore(frame, (entry[0], heap))
        self._havoc(body, frame)
        bound: set[str] = set()
        bind_target(target, bound)
        frame.variables.update(dict.fromkeys(bound, Unknown("loop-item")))
        states: list[State] = [(dict(v), dict(h)) for v, h in loop.breaks]
        for variables, _ in ((frame.variables, heap), *states):
            self.outdate(variables, changed)
        if self.block(orelse, frame):
            states.append((frame.variables, self.heap))
        if not states:
            return False
        self.restore(frame, self.join_states(states))
        self._havoc(body, frame)
        return True

    def _havoc(self, body: Block, frame: Frame) -> None:
        """Forget what a loop's body may change, so that what is kept holds in any round."""
        variables = frame.variables
        for bound, touched in _changes(body, frame):
            for name in bound:
                if name in variables:
                    variables[name] = Unknown("loop")
            for name in touched:
                value = variables.get(name)
                if value is not None:
                    self.forget(value)

    def _forget_changed(self, before: dict[int, Any], frame: Frame) -> None:
        for uid, contents in list(self.heap.items()):
            old = before.get(uid)
            if old is not None and old is not contents:
                held = (v for v in frame.variables.values() if isinstance(v, Ref) and v.uid == uid)
                self.forget(next(held, Ref(uid, kind_of(contents))))


def _changes(body: Block, frame: Frame) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """Of each statement of a loop's body the names that it binds, and those whose objects it may change."""
    known = None if frame.function is None else frame.function.unit.changes
    start = body[0][1] if body else 0
    if known is not None and start in known:
        return known[start]
    pairs = ((tuple(bound_by(statement)), tuple(_touched(statement))) for statement in flatten(body))
    found = tuple((bound, touched) for bound, touched in pairs if bound or touched)
    if known is not None:
        known[start] = found
    return found


def _touched(statement: Stmt) -> list[str]:
    """Names whose object a statement may change: `x.append(…)`, `x[i] = …`, `x.a += …`, `fill(x)`."""
    found: list[str] = []
    match statement[0]:
        case ir.ASSIGN:
            targets: tuple[Expr, ...] = statement[3]
        case ir.AUGMENTED | ir.ANNOTATED:
            targets = (statement[3],)
        case _:
            targets = ()
    found.extend(name for target in targets if (name := _holder(target)) is not None)
    for call in calls_in(_header(statement)):
        function = call[3]
        if function[0] == ir.NAME and function[3] in BUILTINS:
            continue
        handed = (*call[4], *(value for _, value in call[5]))
        found.extend(argument[3] for argument in handed if argument[0] == ir.NAME)
        holder = _holder(function)
        if holder is not None:
            found.append(holder)
    return found


def _holder(target: Expr) -> str | None:
    """The name at the root of attributes and items, None for a name itself."""
    base = target
    while base[0] in {ir.ATTRIBUTE, ir.SUBSCRIPT}:
        base = base[3]
    return base[3] if base is not target and base[0] == ir.NAME else None


def _header(statement: Stmt) -> tuple[object, ...]:
    """The parts of a statement that are no blocks: those are looked at statement by statement."""
    match statement[0]:
        case ir.IF | ir.WHILE | ir.WITH | ir.MATCH:
            return (statement[3],)
        case ir.FOR:
            return statement[3:5]
        case ir.TRY | ir.FUNCTION | ir.CLASS:
            return ()
        case _:
            return statement[3:]
