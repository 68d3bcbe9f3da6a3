"""`try` and `with`: which handler catches what, and the states that reach it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from raiselens_server.foresee import exceptions, shields
from raiselens_server.foresee.core import Core, join_heaps
from raiselens_server.foresee.frames import Condition, Raising
from raiselens_server.foresee.objects import UNKNOWN_CONTENTS, Class, kind_of
from raiselens_server.foresee.shields import Kept
from raiselens_server.source import ir
from raiselens_server.source.bindings import names_read
from raiselens_server.values.lattice import Callable, Named, Seq, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable as Handler

    from raiselens_server.foresee.core import State
    from raiselens_server.foresee.frames import Frame
    from raiselens_server.foresee.shields import Shield
    from raiselens_server.source.ir import Block, Expr, Stmt
    from raiselens_server.values.lattice import Value

_ANYTHING: Final = (ir.CONST, 0, 0, None)
"""What a bare `except:` names."""


class Handling(Core):
    """Runs statements that handle exceptions."""

    def _try(self, statement: Stmt, frame: Frame) -> bool:
        final = statement[6]
        if not shields.overrides(final):
            return self._handled(statement, frame)
        # What the `finally` leaves by takes the place of whatever was being raised.
        frame.shields.append(Kept.UNKNOWN)
        entry = self.snapshot(frame)
        before = len(frame.raises)
        falls = self._handled((*statement[:6], ()), frame)
        frame.shields.pop()
        if len(frame.raises) > before or not falls:
            self.restore(frame, _between(entry, (dict(frame.variables), dict(self.heap))))
        del frame.raises[before:]
        return self.block(final, frame)

    def _handled(self, statement: Stmt, frame: Frame) -> bool:
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
        certain = not falls and len(raised) > 0
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
            if certain and sure and kind is not None:
                # What the caller decided there decides what the handler raises.
                frame.conditions.append(Condition(kind, taken=True, derived=all(map(_decided_below(frame), caught))))
            frame.branches.append("except" if kind is None else f"except {self.source(frame, kind)}")
            depth, outer = len(frame.conditions), frame.caught
            frame.caught = caught[0] if certain and sure and len(raised) == 1 else None
            if frame.caught is not None:
                derived = self._came_from_caller(frame.caught, frame)
                frame.conditions.append(Condition(kind or _ANYTHING, taken=True, derived=derived, handled=True))
            if self.block(block, frame):
                states.append((frame.variables, self.heap))
            frame.caught = outer
            del frame.conditions[depth:]
            frame.branches.pop()
            escaped = [raising for raising in escaped if self.catches(kind, raising.cls, frame) is not True]
            if certain and sure and not escaped:
                break
        return [raising for raising in escaped if not any(self.catches(k, raising.cls, frame) for k, _, _ in handlers)]

    def _came_from_caller(self, raising: Raising, frame: Frame) -> bool:
        """Whether what the caller of `frame` supplied decided a raise that is handled in it."""
        index = next(i for i, level in enumerate(raising.levels) if level.frame is frame)
        at = raising.levels[index]
        supplied = frame.function is None or any(name in frame.derived for name in names_read(at.statement))
        below = raising.levels[index + 1 :]
        decided = raising.implicit is not None or any(c.derived for level in below for c in level.conditions)
        return any(condition.derived for condition in at.conditions) or (supplied and decided)

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

    def refused(self, error: Exception, frame: Frame) -> None:
        """Python refuses these constants: raised where a handler here waits for it, and nothing is said of it elsewhere."""
        cls = type(error).__name__
        if any(self.catches(kind, cls, frame) is True for kinds in frame.handlers for kind in kinds):
            raise Raising(cls, (str(error),), frame, implicit="operation")

    def _with(self, statement: Stmt, frame: Frame) -> bool:
        saved = self.ambient
        entry = self.snapshot(frame)
        before, depth = len(frame.raises), len(frame.shields)
        managers: list[Value] = []
        try:
            for context, target in statement[3]:
                value = self.evaluate(context, frame)
                shield = self.shield_of(context, value, frame)
                frame.shields.append(shield)
                managers.append(value)
                self.enter(context, value, frame)
                if target is not None:
                    self.assign(target, self.entered(value, frame), frame)
            falls = self.block(statement[4], frame)
        except Raising as raising:
            if all(self._passes_out(shield, raising, frame) for shield in frame.shields[depth:]):
                raise
            falls = True
        finally:
            around = frame.shields[depth:]
            del frame.shields[depth:]
            self.ambient = saved
            for value in managers:
                # Its `__exit__` has run.
                self.forget(value)
        if all(shield is Kept.NONE for shield in around):
            return falls
        thrown = frame.raises[before:]
        kept = [raising for raising in thrown if all(self._passes_out(shield, raising, frame) for shield in around)]
        frame.raises[before:] = kept
        swallowed = len(kept) < len(thrown)
        if not falls and not swallowed:
            return False
        at_end = (frame.variables, self.heap)
        self.restore(frame, _between(entry, at_end) if swallowed else _softened(entry, at_end))
        return True

    def _passes_out(self, shield: Shield, raising: Raising, frame: Frame) -> bool:
        return all(self.lets_through(shield, cls, frame) for cls in raising.classes)


def _softened(entry: State, at_end: State) -> State:
    """The state after a body that may have been left early: a name bound in it has its value, or is not bound."""
    variables = {
        name: value if name not in entry[0] or entry[0][name] is value else Unknown("with")
        for name, value in at_end[0].items()
    }
    return variables, join_heaps(entry[1], at_end[1])


def _decided_below(frame: Frame) -> Handler[[Raising], bool]:
    """Whether a raise that arrived in `frame` was decided by what the frame's caller supplied."""

    def decided(raising: Raising) -> bool:
        inner = [level for level in raising.levels if level.frame is frame or _is_below(level.frame, frame)]
        return any(condition.derived for level in inner for condition in level.conditions)

    return decided


def _is_below(inner: Frame, frame: Frame) -> bool:
    current = inner.caller
    while current is not None and current is not frame:
        current = current.caller
    return current is frame


def _between(entry: State, at_end: State) -> State:
    """The state at an unknown point between two."""
    variables = {
        name: entry[0][name] if entry[0].get(name) is value else Unknown("try") for name, value in at_end[0].items()
    }
    heap = {
        uid: contents if entry[1].get(uid) is contents else UNKNOWN_CONTENTS[kind_of(contents)]
        for uid, contents in at_end[1].items()
    }
    return variables, heap
