"""Statements on abstract values: branches are joined, loops over known items unrolled, raises followed to handlers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from raiselens_server.foresee import exceptions
from raiselens_server.foresee.core import Core
from raiselens_server.foresee.frames import Condition, Loop, Raising
from raiselens_server.foresee.narrowing import Narrowing
from raiselens_server.foresee.objects import UNKNOWN_CONTENTS, Class, Function, Pending
from raiselens_server.source import ir
from raiselens_server.source.lower import bound_by
from raiselens_server.source.module import flatten
from raiselens_server.values import lattice
from raiselens_server.values.lattice import Callable, Const, HolePart, Named, Ref, Seq, Unknown, Value

if TYPE_CHECKING:
    from collections.abc import Callable as Handler

    from raiselens_server.foresee.core import State
    from raiselens_server.foresee.frames import Frame
    from raiselens_server.source.ir import Block, Expr, Stmt

UNROLL_LIMIT: Final = 16
_EXITS: Final = frozenset({ir.RETURN, ir.RAISE, ir.CONTINUE, ir.BREAK})


class Statements(Narrowing, Core):
    """Runs statements. Every handler answers whether control may reach the next statement."""

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
            frame.variables[name] = self.scopes.import_module(target, frame.module, submodule=dotted)
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
        if statement[3] is None:
            raise Raising("", (), frame, test=test, condition=text, rule="reraise")
        value = self.evaluate(statement[3], frame)
        frame.at = frame.base + statement[1]
        cls, message = self.exception_of(value, frame, statement[3])
        raise Raising(cls, message, frame, test=test, condition=text, value=value)

    def _innermost(self, frame: Frame) -> tuple[Expr | None, str]:
        if not frame.conditions:
            return None, ""
        condition = frame.conditions[-1]
        text = self.source(frame, condition.test)
        return condition.test, text

    def _assert(self, statement: Stmt, frame: Frame) -> bool:
        self.guards_reached += 1
        answer = self.test(statement[3], frame)
        if answer is True:
            self.guards_decided += 1
            return True
        if answer is None:
            self._undecided(statement[3], frame)
            self.refine(statement[3], True, frame)
            return True
        self.guards_decided += 1
        self._decided(statement[3], frame, taken=False)
        parts: tuple[str | HolePart, ...] = ()
        if statement[4] is not None:
            message = self.evaluate(statement[4], frame)
            parts = self.text_of(message, "s", "", self.source(frame, statement[4]))
        frame.at = frame.base + statement[1]
        test, text = self._innermost(frame)
        raise Raising("AssertionError", parts, frame, test=test, condition=text)

    def _undecided(self, test: Expr, frame: Frame) -> None:
        frame.unsure = True
        cause = self.cause_of(test, frame)
        self.undecided[cause] = self.undecided.get(cause, 0) + 1

    def cause_of(self, test: Expr, frame: Frame) -> str:
        """Why a test was not decided, in a word, for statistics."""
        for name in self.names_in(test):
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
            self.guards_reached += 1
        answer = self.test(test, frame)
        if answer is None:
            return self._undecided_if(statement, frame, guard=guard)
        if guard:
            self.guards_decided += 1
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
        text = self.source(frame, test)
        for block, taken in ((body, True), (orelse, False)):
            self.restore(frame, (dict(entry[0]), dict(entry[1])))
            self.refine(test, taken, frame)
            frame.branches.append(text if taken else f"not ({text})")
            falls = self.block(block, frame)
            frame.branches.pop()
            del frame.conditions[depth:]
            if falls:
                states.append((frame.variables, self.heap))
        if len(frame.raises) > before and states:
            frame.unsure = True
        if not states:
            return False
        self.restore(frame, self.join_states(states))
        if len(states) == 1:
            # One side has left for good: what follows runs under the other's condition.
            self._follow(test, states[0] is not None, frame)
        return True

    def _follow(self, test: Expr, reached: bool, frame: Frame) -> None:
        return

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

    def _while(self, statement: Stmt, frame: Frame) -> bool:
        _, _, _, test, body, orelse = statement
        forever = test[0] == ir.CONST and bool(test[3])
        self._havoc(body, frame)
        answer = self.test(test, frame)
        if answer is False:
            return self.block(orelse, frame)
        entry = self.snapshot(frame)
        loop = Loop()
        frame.loops.append(loop)
        self.refine(test, True, frame)
        before = len(frame.raises)
        frame.branches.append(self.source(frame, test)) if answer is None else None
        falls = self.block(body, frame)
        frame.branches.pop() if answer is None else None
        frame.loops.pop()
        if len(frame.raises) > before:
            frame.unsure = True
        after = self.snapshot(frame)
        self._forget_changed(entry[1], frame)
        states: list[State] = [*loop.breaks]
        if not forever:
            self.restore(frame, (entry[0], {**entry[1], **self.heap}))
            self._havoc(body, frame)
            if self.block(orelse, frame):
                states.append((frame.variables, self.heap))
        elif not loop.breaks:
            # An endless loop leaves by break, return or raise only; a raise on its first round is certain.
            return False
        del falls, after
        self.restore(frame, self.join_states(states))
        self._havoc(body, frame)
        return True

    def _for(self, statement: Stmt, frame: Frame) -> bool:
        _, _, _, target, iterable, body, orelse = statement
        value = self.iterate(self.evaluate(iterable, frame), frame)
        if value is not None and len(value) <= UNROLL_LIMIT:
            return self._unrolled(value, target, body, orelse, frame)
        return self._unknown_rounds(value, target, body, orelse, frame)

    def iterate(self, value: Value, frame: Frame) -> tuple[Value, ...] | None:
        """The items that iterating gives, None where their number is not known. Runs a generator's beginning."""
        if isinstance(value, Callable) and isinstance(value.target, Pending) and value.target.generator:
            self.run_pending(value.target, frame)
            return None
        items = self.items_of(value)
        if items is None:
            items = self.rows_of(value)
        return items

    def _unrolled(self, items: tuple[Value, ...], target: Expr, body: Block, orelse: Block, frame: Frame) -> bool:
        leaving: list[State] = []
        falls = True
        depth = len(frame.conditions)
        for item in items:
            self.assign(target, item, frame)
            loop = Loop()
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
        self, items: tuple[Value, ...] | None, target: Expr, body: Block, orelse: Block, frame: Frame
    ) -> bool:
        entry = self.snapshot(frame)
        self._havoc(body, frame)
        element: Value = Unknown("loop-item")
        if items is not None and items and all(isinstance(i, Const) and isinstance(i.value, int) for i in items):
            element = lattice.Opaque("int")
        self.assign(target, element, frame)
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
        for name in _target_names(target):
            frame.variables[name] = Unknown("loop-item")
        states: list[State] = [(dict(v), dict(h)) for v, h in loop.breaks]
        if self.block(orelse, frame):
            states.append((frame.variables, self.heap))
        if not states:
            return False
        self.restore(frame, self.join_states(states))
        self._havoc(body, frame)
        return True

    def _havoc(self, body: Block, frame: Frame) -> None:
        """Forget what a loop's body may change, so that what is kept holds in any round."""
        for statement in flatten(body):
            for name in bound_by(statement):
                if name in frame.variables:
                    frame.variables[name] = Unknown("loop")
            for name in _touched(statement):
                value = frame.variables.get(name)
                if value is not None:
                    self.forget(value)

    def _forget_changed(self, before: dict[int, Any], frame: Frame) -> None:
        for uid, contents in list(self.heap.items()):
            old = before.get(uid)
            if old is not None and old is not contents:
                for value in [*frame.variables.values()]:
                    if isinstance(value, Ref) and value.uid == uid:
                        self.forget(value)
                        break
                else:
                    self.forget(Ref(uid, _kind_of(contents)))

    # try, with

    def _try(self, statement: Stmt, frame: Frame) -> bool:
        _, _, _, body, handlers, orelse, final = statement
        entry = self.snapshot(frame)
        outer = frame.raises
        frame.raises = []
        frame.handlers.append(tuple(kind for kind, _, _ in handlers))
        depth = len(frame.conditions)
        falls = self.block(body, frame)
        frame.handlers.pop()
        raised, frame.raises = frame.raises, outer
        at_end: State = (frame.variables, self.heap)
        states: list[State] = []
        if falls:
            if self.block(orelse, frame):
                states.append((frame.variables, self.heap))
            at_end = (dict(at_end[0]), dict(at_end[1]))
        certain = not falls and len(raised) > 0 and not any(True for _ in ())
        escaped = self._handle(handlers, raised, entry, at_end, states, frame, certain=certain)
        frame.raises.extend(escaped)
        if raised and states:
            frame.unsure = frame.unsure or bool(escaped)
        del frame.conditions[depth:]
        if not states:
            self.restore(frame, (dict(at_end[0]), dict(at_end[1])))
            self.block(final, frame)
            return False
        self.restore(frame, self.join_states(states))
        return self.block(final, frame)

    def _handle(
        self,
        handlers: tuple[tuple[Expr | None, str | None, Block], ...],
        raised: list[Raising],
        entry: State,
        at_end: State,
        states: list[State],
        frame: Frame,
        *,
        certain: bool,
    ) -> list[Raising]:
        escaped = list(raised)
        body_state = (dict(at_end[0]), dict(at_end[1])) if certain and len(raised) == 1 else _between(entry, at_end)
        for kind, name, block in handlers:
            caught = [raising for raising in escaped if self.catches(kind, raising.cls, frame) is not False]
            sure = any(self.catches(kind, raising.cls, frame) is True for raising in caught)
            if certain and not caught:
                continue
            self.restore(frame, (dict(body_state[0]), dict(body_state[1])))
            if name is not None:
                value = caught[0].value if len(caught) == 1 and sure else None
                frame.variables[name] = value or Unknown("exception")
            frame.branches.append("except" if kind is None else f"except {self.source(frame, kind)}")
            if self.block(block, frame):
                states.append((frame.variables, self.heap))
            frame.branches.pop()
            escaped = [raising for raising in escaped if self.catches(kind, raising.cls, frame) is not True]
            if certain and sure and not escaped:
                break
        return [raising for raising in escaped if not any(self.catches(k, raising.cls, frame) for k, _, _ in handlers)]

    def catches(self, kind: Expr | None, cls: Class | str, frame: Frame) -> bool | None:
        """Whether `except kind` catches an exception of the class; the empty class is one that is not known."""
        if kind is None:
            return True
        value = self.evaluate(kind, frame)
        options = value.items if isinstance(value, Seq) else (value,)
        chain = self.class_chain(cls)
        answer: bool | None = False
        for option in options:
            match option:
                case Callable(target=Class() as handled):
                    held: bool | None = handled in chain
                case Named(name=name):
                    bare = exceptions.ALIASES.get(name.removeprefix("builtins."), name.removeprefix("builtins."))
                    held = bare in chain
                    if not held and bare not in exceptions.BUILTIN and bare not in exceptions.NAMED:
                        held = None
                case _:
                    held = None
            if held is True:
                return True
            if held is None:
                answer = None
        return None if cls == "" else answer

    def _with(self, statement: Stmt, frame: Frame) -> bool:
        _, _, _, items, body = statement
        saved = self.ambient
        quiet = 0
        for context, target in items:
            value = self.evaluate(context, frame)
            if self.swallows(context, value, frame):
                quiet += 1
            self.enter(context, value, frame)
            if target is not None:
                self.assign(target, self.entered(value, frame), frame)
        frame.quiet += quiet
        before = len(frame.raises)
        falls = self.block(body, frame)
        frame.quiet -= quiet
        self.ambient = saved
        if quiet:
            del frame.raises[before:]
            return True
        return falls

    _statements: dict[int, Handler[[Any, Stmt, Frame], bool]] = {  # noqa: RUF012 a constant table
        ir.EXPRESSION: _expression,
        ir.ASSIGN: _assign,
        ir.ANNOTATED: _annotated,
        ir.AUGMENTED: _augmented,
        ir.RETURN: _return,
        ir.RAISE: _raise,
        ir.ASSERT: _assert,
        ir.IF: _if,
        ir.WHILE: _while,
        ir.FOR: _for,
        ir.TRY: _try,
        ir.WITH: _with,
        ir.FUNCTION: _function,
        ir.CLASS: _class,
        ir.IMPORT: _import,
        ir.FROM: _from,
        ir.GLOBAL: _pass,
        ir.NONLOCAL: _pass,
        ir.DELETE: _delete,
        ir.PASS: _pass,
        ir.BREAK: _break,
        ir.CONTINUE: _continue,
        ir.MATCH: _match,
        ir.UNREAD: _unread,
    }


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


def _is_guard(block: Block) -> bool:
    return any(statement[0] == ir.RAISE for statement in block)


def _target_names(target: Expr) -> list[str]:
    match target[0]:
        case ir.NAME:
            return [target[3]]
        case ir.TUPLE | ir.LIST:
            return [name for item in target[3] for name in _target_names(item)]
        case ir.STAR:
            return _target_names(target[3])
        case _:
            return []


def _touched(statement: Stmt) -> list[str]:
    """Names whose object a statement changes: `x.append(…)`, `x[i] = …`, `x.a += …`."""
    found: list[str] = []
    match statement[0]:
        case ir.ASSIGN:
            targets: tuple[Expr, ...] = statement[3]
        case ir.AUGMENTED | ir.ANNOTATED:
            targets = (statement[3],)
        case ir.EXPRESSION if statement[3][0] == ir.CALL and statement[3][3][0] == ir.ATTRIBUTE:
            targets = (statement[3][3],)
        case _:
            targets = ()
    for target in targets:
        base = target
        while base[0] in {ir.ATTRIBUTE, ir.SUBSCRIPT}:
            base = base[3]
        if base is not target and base[0] == ir.NAME:
            found.append(base[3])
    return found


def _between(entry: State, at_end: State) -> State:
    """The state at an unknown point between two."""
    variables = {
        name: entry[0][name] if entry[0].get(name) is value else Unknown("try") for name, value in at_end[0].items()
    }
    heap = {
        uid: contents if entry[1].get(uid) is contents else UNKNOWN_CONTENTS[_kind_of(contents)]
        for uid, contents in at_end[1].items()
    }
    return variables, heap


def _kind_of(contents: object) -> str:
    return {"ListObject": "list", "SetObject": "set", "DictObject": "dict"}.get(type(contents).__name__, "instance")
