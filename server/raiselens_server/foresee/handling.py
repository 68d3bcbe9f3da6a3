"""`try` and `with`: which handler catches what, and the states that reach it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raiselens_server.foresee import exceptions
from raiselens_server.foresee.core import Core
from raiselens_server.foresee.objects import UNKNOWN_CONTENTS, Class, kind_of
from raiselens_server.values.lattice import Callable, Named, Seq, Unknown

if TYPE_CHECKING:
    from raiselens_server.foresee.core import State
    from raiselens_server.foresee.frames import Frame, Raising
    from raiselens_server.source.ir import Block, Expr, Stmt


class Handling(Core):
    """Runs statements that handle exceptions."""

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
