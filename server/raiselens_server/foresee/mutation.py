"""Tensors that change in place what is known of them: their shape, strides, dtype or storage.

A tensor is a value here and no object on the heap, so what holds it is searched: variables of every frame that can still
be read, and objects. Which of two equal tensors is meant is mostly not known: both are unknown then.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from raiselens_server.foresee.core import Core
from raiselens_server.foresee.objects import (
    Bound,
    DictObject,
    InstanceObject,
    ListObject,
    Manager,
    Partial,
    Pending,
    SetObject,
)
from raiselens_server.values.lattice import Callable, Seq, Tensor, Union, Unknown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from raiselens_server.foresee.frames import Frame
    from raiselens_server.foresee.objects import HeapObject
    from raiselens_server.values.lattice import Value


class Mutation(Core):
    """Replaces what is known of a tensor wherever it is held."""

    def change_tensor(self, tensor: Tensor, now: Value, frame: Frame) -> None:
        """`tensor` itself has become `now`, wherever it is held; what only equals it may be the same one.

        Elsewhere than in `frame` it becomes unknown: a branch that is not taken restores this frame alone.
        """
        if now == tensor:
            return
        self.changed_tensors += 1
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
