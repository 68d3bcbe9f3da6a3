"""Sets as mathematics has them, and the few helpers of collections that parsers of little languages lean on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raiselens_server.foresee.binding import Arguments
from raiselens_server.foresee.core import Core, settled
from raiselens_server.foresee.objects import Class, SetObject
from raiselens_server.values import lattice
from raiselens_server.values.lattice import Array, Callable, Const, Opaque, Ref, Seq, Tensor, Unknown, Value

if TYPE_CHECKING:
    from raiselens_server.foresee.frames import Frame
    from raiselens_server.foresee.objects import Function

_BACKENDS = {Tensor: "TorchBackend", Array: "NumpyBackend"}


class Containers(Core):
    """Sets, chains and the object that serves a kind of tensor."""

    def set_method(self, method: str, receiver: Ref, args: list[Value], frame: Frame) -> Value:
        """A method of a set of settled items; one of unknown items makes the result unknown."""
        held = self.items_of(receiver)
        if method == "add" and len(args) == 1:
            known = held if held is None or args[0] in held else (*held, args[0])
            self.heap[receiver.uid] = SetObject(known if settled(args[0]) else None)
            return lattice.NONE
        if method in {"remove", "discard"} and len(args) == 1:
            left = None if held is None or not settled(args[0]) else tuple(item for item in held if item != args[0])
            self.heap[receiver.uid] = SetObject(left)
            return lattice.NONE
        others = [self.iterate(arg, frame) for arg in args]
        result = held
        for items in others:
            if result is None or items is None or not all(settled(item) for item in items):
                result = None
                break
            result = _combined(method, result, items)
        if method == "update":
            self.heap[receiver.uid] = SetObject(result)
            return lattice.NONE
        if method in _COMBINING or method == "copy":
            return self.new("set", SetObject(result))
        if method in {"issubset", "issuperset", "isdisjoint"} and len(args) == 1:
            return self._compared(method, held, others[0])
        self.heap[receiver.uid] = SetObject(None)
        return Unknown("method")

    def _compared(self, method: str, held: tuple[Value, ...] | None, items: tuple[Value, ...] | None) -> Value:
        if held is None or items is None or not all(settled(item) for item in items):
            return Opaque("bool")
        left, right = set(held), set(items)
        answers = {"issubset": left <= right, "issuperset": left >= right, "isdisjoint": not left & right}
        return Const(answers[method])

    def index_in(self, items: tuple[Value, ...] | None, args: list[Value]) -> Value:
        """`items.index(x)`, where everything before it surely differs."""
        for position, item in enumerate(items or ()):
            answer = self.equal(item, args[0]) if len(args) == 1 else None
            if answer is True:
                return Const(position)
            if answer is None:
                break
        return Opaque("int")

    def chained(self, args: list[Value], frame: Frame) -> Value:
        """`itertools.chain(…)`."""
        parts = [self.iterate(arg, frame) for arg in args]
        if any(part is None for part in parts):
            return Unknown("builtin")
        return Seq(tuple(item for part in parts for item in part or ()), "generator")

    def backend_of(self, function: Function, arguments: Arguments, frame: Frame) -> Value | None:
        """The object that does einops' work on a tensor: it is found by what was imported before, in a global cache."""
        if function.dotted != "einops._backends.get_backend" or len(arguments.positional) != 1:
            return None
        name = _BACKENDS.get(type(arguments.positional[0]))
        value = None if name is None else self.scopes.attribute(function.module, name, self)
        if not isinstance(value, Callable) or not isinstance(value.target, Class):
            return None
        return self.instantiate(value.target, Arguments((), ()), frame, None)


_COMBINING = frozenset({"union", "intersection", "difference", "symmetric_difference"})


def _combined(method: str, left: tuple[Value, ...], right: tuple[Value, ...]) -> tuple[Value, ...] | None:
    match method:
        case "union" | "update":
            return tuple(dict.fromkeys((*left, *right)))
        case "intersection":
            return tuple(item for item in left if item in right)
        case "difference":
            return tuple(item for item in left if item not in right)
        case "symmetric_difference":
            return tuple(dict.fromkeys((*_without(left, right), *_without(right, left))))
        case _:
            return None


def _without(left: tuple[Value, ...], right: tuple[Value, ...]) -> tuple[Value, ...]:
    return tuple(item for item in left if item not in right)
