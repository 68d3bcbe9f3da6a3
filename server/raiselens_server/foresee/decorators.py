"""Decorators: those that change nothing for the caller, descriptors, and followed ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from raiselens_server.foresee import shields
from raiselens_server.foresee.attributes import Attributes
from raiselens_server.foresee.frames import Frame, Raising
from raiselens_server.foresee.mutation import says_so
from raiselens_server.foresee.objects import Bound, Class, Function, InstanceObject, Wrapped
from raiselens_server.foresee.shields import Around, Kept
from raiselens_server.source import ir
from raiselens_server.values.lattice import (
    Callable,
    Named,
    Ref,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from raiselens_server.foresee.shields import Shield
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
        "torch.compile",
        "torch.amp.custom_fwd",
        "torch.amp.custom_bwd",
        "torch.cuda.amp.custom_fwd",
        "torch.cuda.amp.custom_bwd",
        "torch._dynamo.disable",
        "typing.runtime_checkable",
        "typing_extensions.runtime_checkable",
    }
)
"""Decorators that give back something called the same way."""
_TRANSPARENT: Final = frozenset(
    {
        "abc",
        "atexit",
        "click",
        "contextlib",
        "dataclasses",
        "enum",
        "fastapi",
        "functools",
        "numba",
        "pydantic",
        "pytest.fixture",
        "pytest.mark",
        "ray",
        "torch",
        "triton",
        "typer",
        "types",
        "typing",
        "typing_extensions",
        "unittest.mock",
        "unittest.skipIf",
        "unittest.skipUnless",
    }
)
"""Where decorators come from that let the exceptions of what they decorate through; a module stands for all of it."""
_EXPECTING: Final = ("xfail", "skip", "expect", "suppress", "ignore", "retry", "catch")
_REGISTERING: Final = frozenset(
    {
        "api_route",
        "command",
        "delete",
        "fixture",
        "get",
        "getter",
        "group",
        "impl",
        "on_event",
        "overload",
        "post",
        "put",
        "register",
        "register_fake",
        "register_kernel",
        "remote",
        "route",
        "setter",
        "deleter",
        "validator",
        "websocket",
    }
)
"""Methods of registries of every kind: `@app.post("/generate")`, `@size.setter`."""


class Decorators(Attributes):
    """Applies decorators."""

    def decorate(self, value: Value, decorators: tuple[Expr, ...], frame: Frame) -> Value:
        """Apply decorators, innermost first."""
        for decorator in reversed(decorators):
            value = self._decorated(value, decorator, frame)
        return value

    def decorator_shields(self, function: Function, frame: Frame) -> list[Shield]:
        """What the decorators of a function do with its exceptions, one for each that may keep some."""
        found: list[Shield] = []
        plain: Value = Callable(function, function.dotted)
        value = plain
        for decorator in reversed(function.unit.decorators):
            now = self._decorated(value, decorator, frame)
            if isinstance(now, Unknown):
                if not self._registers(decorator, frame):
                    found.append(Kept.UNKNOWN)
                continue
            shield = self._wrapper(now, value)
            if shield is not Kept.NONE:
                found.append(shield)
            value = now
        return found

    def _registers(self, decorator: Expr, frame: Frame) -> bool:
        """Whether a decorator that is not followed is known to let exceptions through."""
        called = decorator[3] if decorator[0] == ir.CALL else decorator
        name = called[3] if called[0] == ir.NAME else called[4] if called[0] == ir.ATTRIBUTE else ""
        if any(word in str(name).lower() for word in _EXPECTING):
            return str(name).lower() in {"skipif", "skipunless"}
        if called[0] == ir.ATTRIBUTE and name in _REGISTERING:
            return True
        parts = self._dotted(called, frame).split(".")
        return any(".".join(parts[: index + 1]) in _TRANSPARENT for index in range(len(parts)))

    def _dotted(self, expr: Expr, frame: Frame) -> str:
        """The full name of what a decorator is, as far as it can be told."""
        try:
            value = self.evaluate(expr, frame)
        except Raising:
            return ""
        if isinstance(value, (Named, Callable)):
            return value.name
        return f"{self._dotted(expr[3], frame)}.{expr[4]}" if expr[0] == ir.ATTRIBUTE else ""

    def _wrapper(self, now: Value, before: Value) -> Shield:
        """What stands around `before` once a decorator has made `now` of it."""
        inner = _target(before)
        match now:
            case Callable(target=Wrapped(function=function)):
                return self._wrapper(function, before)
            case Callable(target=Function() as wrapper):
                if wrapper.unit is getattr(inner, "unit", None):
                    return Kept.NONE
                names: set[str] = set()
                scope = wrapper.closure
                while scope is not None:
                    names.update(name for name, held in scope.variables.items() if _target(held) is inner)
                    scope = scope.closure
                return _around(wrapper, names)
            case Ref(kind="instance", cls=Class() as cls):
                member = self.find_member(cls, "__call__")
                contents = self.contents(now)
                if not isinstance(contents, InstanceObject) or member is None:
                    return Kept.UNKNOWN
                call = _target(member[0])
                held_as = {f"self.{name}" for name, held in contents.attributes if _target(held) is inner}
                return _around(call, held_as) if isinstance(call, Function) else Kept.UNKNOWN
            case _:
                return Kept.UNKNOWN

    def _accessor(self, value: Value, decorator: Expr, frame: Frame) -> Value:
        """`@size.setter`: the property with this setter."""
        try:
            known = self.evaluate(decorator[3], frame)
        except Raising:
            return Unknown("decorator")
        if not isinstance(known, Callable) or not isinstance(known.target, Wrapped):
            return Unknown("decorator")
        match decorator[4]:
            case "setter":
                return Callable(replace(known.target, setter=value), known.name)
            case "getter":
                return Callable(replace(known.target, function=value), known.name)
            case _:
                return known

    def _decorated(self, value: Value, decorator: Expr, frame: Frame) -> Value:
        called = decorator[0] == ir.CALL
        if decorator[0] == ir.ATTRIBUTE and decorator[4] in {"setter", "getter", "deleter"}:
            return self._accessor(value, decorator, frame)
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
                if not isinstance(value, Callable) or not isinstance(value.target, Class):
                    return Unknown("decorator")
                if "dataclass" in function.name:
                    options = dict(decorator[5]) if called else {}
                    init = options.get("init")
                    if None in options or (init is not None and init[0] != ir.CONST):
                        return Unknown("decorator")
                    value.target.dataclass = init is None or bool(init[3])
                return value
            case Named(name="functools.wraps"):
                return value
            case Named(name="contextlib.contextmanager" | "contextlib.asynccontextmanager"):
                if isinstance(value, Callable) and isinstance(value.target, Function):
                    return Callable(replace(value.target, manager=True), value.name)
                return Unknown("decorator")
            case Callable(target=Function() as target) if _sets_members(target, value):
                return Unknown("decorator")
            case Callable(target=Function() | Class() | Bound()):
                try:
                    if called:
                        function = self.evaluate(decorator, frame)
                    return self.call(function, [value], [], frame)
                except Raising:
                    return Unknown("decorator")
            case _:
                self.escape(function)
                self.escape(value)
                return Unknown("decorator")


def _sets_members(decorator: Function, value: Value) -> bool:
    """Whether a class is decorated by what may give it members by name, a constructor among them."""
    is_class = isinstance(value, Callable) and isinstance(value.target, Class)
    return is_class and says_so(decorator, lambda text: b"setattr(" in text)


def _target(value: Value) -> object:
    """What a callable stands for, descriptors taken off."""
    while isinstance(value, Callable) and isinstance(value.target, Wrapped):
        value = value.target.function
    return value.target if isinstance(value, Callable) else None


def _around(wrapper: Function, names: set[str]) -> Shield:
    """A wrapper that does nothing with the function but call it stands around it; any other may do anything."""
    called_by = frozenset(names)
    if not called_by or not shields.only_calls(wrapper.unit.body.block, called_by):
        return Kept.UNKNOWN
    return Around(wrapper, called_by)
