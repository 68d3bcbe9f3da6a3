"""What a callable can reach and change when it is called by code that is not followed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raiselens_server.foresee.core import Core
from raiselens_server.foresee.objects import Bound, Class, Function, Partial, Pending, Super, Virtual, Wrapped
from raiselens_server.source.bindings import names_read
from raiselens_server.source.units import ClassUnit, FunctionUnit
from raiselens_server.values.lattice import Callable, Ref, Seq

if TYPE_CHECKING:
    from raiselens_server.foresee.frames import Frame
    from raiselens_server.values.lattice import Value


class Captures(Core):
    """Closures, receivers and bound arguments."""

    def reached_from(self, target: object) -> tuple[Value, ...]:
        """The objects that calling `target` may change."""
        match target:
            case Function(unit=unit, closure=closure):
                return () if closure is None else self._captured(names_of(unit), closure)
            case Class(unit=unit, closure=closure):
                return () if closure is None else self._captured(names_of(unit), closure)
            case Bound(function=function, receiver=receiver):
                return (receiver, *(self.reached_from(function) if isinstance(function, Function) else ()))
            case Super(receiver=receiver):
                return (receiver,)
            case Virtual(receiver=receiver):
                return () if receiver is None else (receiver,)
            case Partial(function=function, positional=positional, keywords=keywords):
                return (function, *positional, *(value for _, value in keywords))
            case Pending(function=function, arguments=arguments):
                return (*self.reached_from(function), *(value for _, value in arguments))
            case Wrapped(function=function):
                return (function,)
            case _:
                return ()

    def _captured(self, names: frozenset[str] | set[str], closure: Frame | None) -> tuple[Value, ...]:
        found: list[Value] = []
        scope = closure
        while scope is not None:
            for name in names:
                value = scope.variables.get(name)
                if isinstance(value, (Ref, Seq)) or (isinstance(value, Callable) and _has_state(value.target)):
                    found.append(value)
            scope = scope.closure
        return tuple(found)


def _has_state(target: object) -> bool:
    """Whether a captured callable captures something itself."""
    return isinstance(target, (Bound, Virtual, Partial)) or (
        isinstance(target, (Function, Class)) and target.closure is not None
    )


def names_of(unit: FunctionUnit | ClassUnit) -> frozenset[str]:
    """The names that a function or class reads, those nested in it included."""
    if unit.read is None:
        unit.read = frozenset(names_read(unit.block if isinstance(unit, ClassUnit) else unit.code.block, nested=True))
    return unit.read
