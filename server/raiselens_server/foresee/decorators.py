"""Decorators: those that change nothing for the caller, descriptors, and followed ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from raiselens_server.foresee.core import Core
from raiselens_server.foresee.frames import Frame, Raising
from raiselens_server.foresee.objects import (
    Class,
    Function,
    Wrapped,
)
from raiselens_server.source import ir
from raiselens_server.values.lattice import (
    Callable,
    Named,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from raiselens_server.source.ir import Expr

_KEPT_DECORATORS: Final = frozenset(
    {
        "abc.abstractmethod",
        "functools.cache",
        "functools.lru_cache",
        "typing.overload",
        "typing.final",
        "typing.override",
        "typing_extensions.override",
        "torch.no_grad",
        "torch.inference_mode",
        "torch.enable_grad",
        "torch.compiler.disable",
        "torch.jit.ignore",
        "torch.jit.unused",
    }
)
"""Decorators that give back something called the same way."""


class Decorators(Core):
    """Applies decorators."""

    def decorate(self, value: Value, decorators: tuple[Expr, ...], frame: Frame) -> Value:
        """Apply decorators, innermost first."""
        for decorator in reversed(decorators):
            value = self._decorated(value, decorator, frame)
        return value

    def _decorated(self, value: Value, decorator: Expr, frame: Frame) -> Value:
        called = decorator[0] == ir.CALL
        try:
            function = self.evaluate(decorator[3] if called else decorator, frame)
        except Raising:
            return Unknown("decorator")
        match function:
            case Named(name="staticmethod" | "classmethod" | "property" | "functools.cached_property" as kind):
                return Callable(Wrapped(kind.replace("functools.cached_", ""), value), kind)
            case Named(name=name) if name in _KEPT_DECORATORS:
                return value
            case Named(name="dataclasses.dataclass" | "functools.total_ordering" | "enum.unique"):
                if isinstance(value, Callable) and isinstance(value.target, Class) and "dataclass" in function.name:
                    options = dict(decorator[5]) if called else {}
                    init = options.get("init")
                    value.target.dataclass = not (init is not None and init[0] == ir.CONST and init[3] is False)
                return value
            case Named(name="functools.wraps"):
                return value
            case Callable(target=Function() | Class()):
                try:
                    if called:
                        function = self.evaluate(decorator, frame)
                    return self.call(function, [value], [], frame)
                except Raising:
                    return Unknown("decorator")
            case _:
                return Unknown("decorator")
