"""Running a callee in a frame of its own: results, raises, effects, and results remembered."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from typing_extensions import assert_never

from raiselens_server.foresee.core import MAX_DEPTH, Core, fresh_uid, join_heaps
from raiselens_server.foresee.derived import derived
from raiselens_server.foresee.frames import Frame, Raising
from raiselens_server.foresee.objects import (
    Class,
    DictObject,
    EnumMember,
    Function,
    InstanceObject,
    ListObject,
    ModuleObject,
    Pending,
    SetObject,
)
from raiselens_server.source import units
from raiselens_server.values import lattice
from raiselens_server.values.lattice import (
    Callable,
    Ref,
    Seq,
    Tensor,
    Union,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from raiselens_server.foresee.objects import HeapObject
    from raiselens_server.source.units import FunctionUnit

KEPT_GARBAGE: Final = 4


@dataclass(frozen=True, slots=True)
class Result:
    """What calling a function with certain facts gives; `unsure`: a guard in it was not decided.

    `visited` are the functions of open files that were run for it.
    """

    value: Value
    unsure: bool
    visited: frozenset[FunctionUnit] = frozenset()


BUSY: Final = Result(Unknown("recursion"), unsure=False)
"""Stands for a result that is being computed."""


class Running(Core):
    """Runs functions."""

    def _worth_running(self, unit: FunctionUnit, values: dict[str, Value]) -> bool:
        """Whether an argument carries a fact. A function that gets none, and no object either, is run once for all."""
        objects = False
        for index, value in enumerate(values.values()):
            match value:
                case Unknown():
                    continue
                case Ref(kind="instance") if index == 0 and unit.name == "__init__":
                    objects = True
                case Ref(kind="instance"):
                    contents = self.contents(value)
                    if isinstance(contents, InstanceObject) and contents.exact and not contents.open:
                        return True
                    objects = True
                case Ref():
                    if self.items_of(value):
                        return True
                    objects = True
                case _:
                    return True
        return not objects

    def _memo_key(self, function: Function, values: dict[str, Value], frame: Frame) -> tuple[str, object] | None:
        """What the result of a call depends on, None where that cannot be told or is not worth keeping."""
        if self.witness is not None or function.closure is not None or function.module.path in self.live or frame.quiet:
            return None
        parts: list[object] = []
        for name, value in values.items():
            part = fact_key(value)
            if part is None:
                return None
            parts.append((name, part))
        return function.module.path, (function.unit, tuple(parts), self.ambient, self.replaced)

    def _remember(self, key: tuple[str, object], inner: Frame, frame: Frame) -> Result:
        self.scopes.results[key] = BUSY
        unsure, frame.unsure = frame.unsure, False
        changed = len(self.changed_tensors), self.at_large
        before, self.visited = self.visited, set()
        if inner.function is not None:
            self.note_visited(inner.function, frame)
        try:
            value = self.run_frame(inner, frame)
        except BaseException:
            del self.scopes.results[key]
            raise
        finally:
            visited, self.visited = self.visited, before
            before |= visited
        result = Result(value, frame.unsure, frozenset(visited))
        frame.unsure = frame.unsure or unsure
        if fact_key(value) is None or (len(self.changed_tensors), self.at_large) != changed:
            del self.scopes.results[key]
        else:
            self.scopes.results[key] = result
        return result

    def _defaults(self, function: Function, unsure: frozenset[str], values: dict[str, Value]) -> None:
        scope = function.closure or Frame(None, function.module, function.unit.base, {}, None, None, MAX_DEPTH - 1)
        for parameter in function.unit.parameters:
            if parameter.name in values or parameter.kind == units.VAR_KEYWORD:
                continue
            if parameter.name in unsure or parameter.default is None:
                values[parameter.name] = Unknown("starred")
                continue
            try:
                values[parameter.name] = self.evaluate(parameter.default, scope)
            except Raising:
                values[parameter.name] = Unknown("default")

    def _recursion(self, function: Function, frame: Frame) -> int:
        count = 0
        current: Frame | None = frame
        while current is not None:
            count += current.function is not None and current.function.unit is function.unit
            current = current.caller
        return count

    def run_frame(self, inner: Frame, caller: Frame) -> Value:
        """Run a prepared frame, and take its value, its raise and its effects."""
        assert inner.function is not None  # noqa: S101 states what the caller has checked
        unit = inner.function.unit
        body = unit.code
        inner.local, inner.rebound = body.assigned, body.rebound
        inner.derived = derived(unit)
        before = self.heap
        newest = fresh_uid()
        self.heap = dict(before)
        falls = self.block(body.block, inner)
        if falls:
            inner.returns.append((lattice.NONE, self.heap))
        proven = next((raising for raising in inner.raises if self.is_proven(raising)), None)
        if proven is not None:
            inner.raises = []
            raise proven
        if inner.returns:
            caller.unsure = caller.unsure or inner.unsure or bool(inner.raises)
            value, heap = inner.returns[0]
            for other, other_heap in inner.returns[1:]:
                value = lattice.join(value, other)
                heap = join_heaps(heap, other_heap)
            self.heap = self._kept_heap(heap, before, newest, value)
            # None is what is left where the paths that give something seem to raise: too little to build on.
            raised, inner.raises = bool(inner.raises), []
            return Unknown("some-path-raises") if raised and value == lattice.NONE else value
        if inner.raises:
            # The last one is reached where the guards before it pass, which undecided guards mostly do.
            last = inner.raises[-1]
            if len(inner.raises) > 1:
                last.levels = tuple(
                    replace(level, unsure=True) if level.frame is inner else level for level in last.levels
                )
                last.alternatives = tuple(dict.fromkeys(r.cls for r in inner.raises if r is not last))
            # A raise holds its frames: a frame that held its raises would never be freed without a collector.
            inner.raises = []
            raise last
        return Unknown("no-return")

    def _kept_heap(
        self, heap: dict[int, HeapObject], before: dict[int, HeapObject], newest: int, value: Value
    ) -> dict[int, HeapObject]:
        """The heap without objects that died with the callee; a heap that only grows makes every branch dear."""
        if len(heap) - len(before) < KEPT_GARBAGE:
            return heap
        reached: set[int] = set()
        roots: list[Value] = [value]
        for uid, contents in heap.items():
            if uid < newest and before.get(uid) is not contents:
                roots.extend(held_by(contents))
        while roots:
            match roots.pop():
                case Ref(uid=uid) if uid not in reached:
                    reached.add(uid)
                    if uid in heap:
                        roots.extend(held_by(heap[uid]))
                case Seq(items=items) | Union(options=items):
                    roots.extend(items)
                case Callable(target=Function(closure=None) | Class(closure=None) | EnumMember() | ModuleObject()):
                    pass
                case Callable():
                    return heap
                case _:
                    pass
        return {uid: contents for uid, contents in heap.items() if uid < newest or uid in reached}

    def run_pending(self, pending: Pending, frame: Frame) -> Value:
        """Run the body of a coroutine, or of a generator up to its first `yield`."""
        if frame.depth >= MAX_DEPTH:
            return Unknown("depth")
        inner = callee_frame(pending.function, dict(pending.arguments), frame)
        try:
            value = self.run_frame(inner, frame)
        except Raising:
            if inner.yielded:
                return Unknown("generator")
            raise
        return Unknown("generator") if pending.generator else value


def callee_frame(function: Function, values: dict[str, Value], caller: Frame) -> Frame:
    """The frame that a call of `function` with bound arguments runs in."""
    return Frame(
        function,
        function.module,
        function.unit.base,
        values,
        function.closure,
        caller,
        caller.depth + 1,
        owner=function.owner,
        quiet=caller.quiet,
    )


def fact_key(value: Value) -> object | None:
    """A hashable stand-in for what is known of a value, its provenance included; None for mutable objects."""
    match value:
        case Unknown():
            return "?"
        case Tensor():
            return (value, value.dtype_site, value.shape_site, value.device_site)
        case Seq(items=items) | Union(options=items):
            keys = tuple(fact_key(item) for item in items)
            return None if None in keys else (type(value), getattr(value, "kind", ""), keys)
        case Ref():
            return None
        case Callable(target=target):
            if isinstance(target, (Function, Class)):
                return target if target.closure is None else None
            return value if isinstance(target, EnumMember) else None
        case _:
            return value


def held_by(contents: HeapObject) -> tuple[Value, ...]:
    """The values that an object holds."""
    match contents:
        case ListObject(items=items) | SetObject(items=items):
            return items or ()
        case DictObject(items=pairs):
            return tuple(item for pair in pairs or () for item in pair)
        case InstanceObject(attributes=attributes):
            return tuple(item for _, item in attributes)
        case _:
            assert_never(contents)
