"""Tensors that change in place what is known of them: their shape, strides, dtype or storage.

A tensor is a value here and no object on the heap, so what holds it is searched: variables of every frame that can still
be read, and objects. Which of two equal tensors is meant is mostly not known: both are unknown then.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from raiselens_server.foresee.captures import names_of
from raiselens_server.foresee.core import Core
from raiselens_server.foresee.objects import (
    Bound,
    Class,
    DictObject,
    Function,
    InstanceObject,
    ListObject,
    Manager,
    Partial,
    Pending,
    SetObject,
    Wrapped,
)
from raiselens_server.foresee.running import held_by
from raiselens_server.source import ir
from raiselens_server.source.searched import IN_PLACE_METADATA, changes_metadata
from raiselens_server.values import lattice
from raiselens_server.values.lattice import Callable, Named, Ref, Seq, Tensor, Union, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable as Callable_
    from collections.abc import Iterable, Iterator

    from raiselens_server.foresee.frames import Frame
    from raiselens_server.foresee.objects import HeapObject
    from raiselens_server.source.units import FunctionUnit
    from raiselens_server.values.lattice import Value


class Mutation(Core):
    """Replaces what is known of a tensor wherever it is held."""

    def change_tensor(self, tensor: Tensor, now: Value, frame: Frame) -> None:
        """`tensor` itself has become `now`, wherever it is held; what only equals it may be the same one.

        Elsewhere than in `frame` it becomes unknown: a branch that is not taken restores this frame alone.
        """
        if now == tensor:
            return
        self.changed_tensors.append(tensor)
        for scope in _scopes(frame, self.live.values()):
            for name, held in list(scope.variables.items()):
                if held is tensor and scope is frame:
                    scope.variables[name] = now
                elif _holds(held, tensor):
                    scope.variables[name] = _without(held, tensor)
        for uid, contents in list(self.heap.items()):
            changed = _changed(contents, tensor)
            if changed is not contents:
                self.heap[uid] = changed

    def change_any(self, frame: Frame) -> None:
        """Something not known has changed in place: it may be any tensor that was out of sight."""
        scopes = [value for scope in _scopes(frame, self.live.values()) for value in scope.variables.values()]
        held = [value for contents in self.heap.values() for value in held_by(contents)]
        seen: set[int] = set()
        for value in (*scopes, *held):
            for tensor in self._tensors_in(value, seen):
                self.change_tensor(tensor, Unknown("in-place"), frame)

    def outdate(self, variables: dict[str, Value], since: int) -> None:
        """Forget in variables kept from before what has changed in place: all but the first `since` changes are later."""
        for tensor in self.changed_tensors[since:]:
            for name, held in variables.items():
                if _holds(held, tensor):
                    variables[name] = _without(held, tensor)

    def may_change(self, functions: Iterable[Value], values: Iterable[Value], frame: Frame) -> None:
        """Code that is not followed may call `functions`, on `values` and on what they close over."""
        values = tuple(values)
        called = [function for function in functions if isinstance(function, Callable | Named)]
        # What it is handed it may also give back, wrapped.
        self.at_large = self.at_large or any(map(_may_change, values))
        if any(map(_may_change, called)):
            self._change_all((*values, *called), frame)

    def may_be_changed(self, values: Iterable[Value], frame: Frame) -> None:
        """A callable that nobody knows is called on `values`: it may be one that was handed over before."""
        if self.at_large:
            self._change_all(values, frame)

    def _change_all(self, values: Iterable[Value], frame: Frame) -> None:
        seen: set[int] = set()
        for tensor in [tensor for value in values for tensor in self._tensors_in(value, seen)]:
            self.change_tensor(tensor, Unknown("in-place"), frame)

    def _tensors_in(self, value: Value, seen: set[int]) -> Iterator[Tensor]:
        match value:
            case Tensor():
                yield value
            case Seq(items=parts) | Union(options=parts):
                for part in parts:
                    yield from self._tensors_in(part, seen)
            case Ref(uid=uid) if uid not in seen:
                seen.add(uid)
                for part in held_by(self.contents(value)):
                    yield from self._tensors_in(part, seen)
            case Callable(target=Function(unit=unit, closure=scope)) if id(unit) not in seen:
                seen.add(id(unit))
                while scope is not None:
                    for name in names_of(unit):
                        yield from self._tensors_in(scope.variables.get(name, lattice.NONE), seen)
                    scope = scope.closure
            case Callable(target=target):
                for part in self.reached_from(target):
                    yield from self._tensors_in(part, seen)
            case _:
                return


def _may_change(function: Value) -> bool:
    """Whether a callable may change a tensor's metadata in place, as far as its text and that of its helpers tells."""
    match function:
        case Callable(target=Function() as target) | Callable(target=Bound(function=Function() as target)):
            return target.module.reshapes and says_so(target, changes_metadata)
        case Callable(target=Class(module=module, unit=unit)):
            return module.reshapes and changes_metadata(module.slice(unit.start, unit.end))
        case Callable(target=Partial(function=inner) | Wrapped(function=inner)):
            return _may_change(inner)
        case Callable(target=Bound(function=str() as name)) | Named(name=name):
            return name.rpartition(".")[2] in IN_PLACE_METADATA
        case _:
            return False


def says_so(function: Function, found: Callable_[[bytes], bool]) -> bool:
    """Whether something is found in the text of a function, or of the helpers of its module that it names."""
    module = function.module
    if not found(module.source):
        return False
    seen: set[FunctionUnit] = set()
    waiting = [function.unit]
    while waiting:
        unit = waiting.pop()
        if unit in seen:
            continue
        seen.add(unit)
        if found(module.slice(unit.start, unit.end)):
            return True
        for name in names_of(unit):
            nested = _enclosing(function.closure, name)
            if isinstance(nested, Callable) and isinstance(nested.target, Function):
                waiting.append(nested.target.unit)
            else:
                waiting.extend(bound[3] for bound in module.bindings.get(name, ()) if bound[0] == ir.FUNCTION)
    return False


def _enclosing(scope: Frame | None, name: str) -> Value | None:
    """What a name holds in the scopes around a function."""
    while scope is not None:
        if name in scope.variables:
            return scope.variables[name]
        scope = scope.closure
    return None


def _scopes(frame: Frame, live: Iterable[Frame]) -> Iterator[Frame]:
    """The frames whose variables can still be read: callers, the scopes around them, and modules being run."""
    seen: set[int] = set()
    waiting: list[Frame | None] = [frame, *live]
    while waiting:
        scope = waiting.pop()
        if scope is None or id(scope) in seen:
            continue
        seen.add(id(scope))
        yield scope
        waiting.extend((scope.caller, scope.closure))


def _holds(value: Value, tensor: Tensor) -> bool:
    match value:
        case Tensor():
            return value == tensor
        case Seq(items=items) | Union(options=items):
            return any(_holds(item, tensor) for item in items)
        case Callable(target=Bound(receiver=receiver)):
            return _holds(receiver, tensor)
        case Callable(target=Partial(function=function, positional=positional, keywords=keywords)):
            return any(_holds(item, tensor) for item in (function, *positional, *(held for _, held in keywords)))
        case Callable(target=Pending(arguments=arguments)):
            return any(_holds(item, tensor) for _, item in arguments)
        case Callable(target=Manager(arguments=items)):
            return any(_holds(item, tensor) for item in items)
        case _:
            return False


def _without(value: Value, tensor: Tensor) -> Value:
    if not _holds(value, tensor):
        return value
    if isinstance(value, Seq):
        return Seq(tuple(_without(item, tensor) for item in value.items), value.kind)
    return Unknown("in-place")


def _changed(contents: HeapObject, tensor: Tensor) -> HeapObject:
    match contents:
        case ListObject(items=items) if items is not None and any(_holds(item, tensor) for item in items):
            return ListObject(tuple(_without(item, tensor) for item in items))
        case SetObject(items=items) if items is not None and any(_holds(item, tensor) for item in items):
            return SetObject(None)
        case DictObject(items=pairs) if pairs is not None and any(_holds(item, tensor) for _, item in pairs):
            return DictObject(tuple((key, _without(item, tensor)) for key, item in pairs))
        case InstanceObject(attributes=attributes) if any(_holds(item, tensor) for _, item in attributes):
            return replace(contents, attributes=tuple((name, _without(item, tensor)) for name, item in attributes))
        case _:
            return contents
