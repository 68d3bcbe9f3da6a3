"""Context managers: those that expect or swallow an exception, and those that set the ambient device or dtype."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from raiselens_server.foresee import shields
from raiselens_server.foresee.attributes import Attributes
from raiselens_server.foresee.frames import Frame, Raising
from raiselens_server.foresee.objects import Class, Function, Manager
from raiselens_server.foresee.scopes import BUILTINS, STATIC_DEPTH
from raiselens_server.foresee.shields import Around, Kept, Suppressing
from raiselens_server.source import ir
from raiselens_server.source.module import flatten
from raiselens_server.source.searched import names_default
from raiselens_server.values import dtypes
from raiselens_server.values.lattice import Callable, Device, Named, Ref, Unknown

if TYPE_CHECKING:
    from raiselens_server.foresee.shields import Shield
    from raiselens_server.source.ir import Expr
    from raiselens_server.values.lattice import Value

_SWALLOWING: Final = ("raises", "suppress", "ignore", "expect", "warns", "skip", "subtest")
_OPEN_ENDED: Final = frozenset(
    {
        "contextlib.ExitStack",
        "contextlib.AsyncExitStack",
        "contextlib.AbstractContextManager",
        "contextlib.AbstractAsyncContextManager",
        "contextlib.ContextDecorator",
        "asyncio.TaskGroup",
    }
)
"""Managers of the standard library that swallow or change an exception as they are told."""
_LIBRARIES: Final = frozenset({"torch", "numpy", "triton", *sys.stdlib_module_names})
"""Libraries whose context managers let exceptions through, unless they say otherwise."""
_LOCKS: Final = ("lock", "mutex", "semaphore")
_MODES: Final = ("Mode", "TorchFunction", "TorchDispatch")


class Contexts(Attributes):
    """What `with` does."""

    def shield_of(self, context: Expr, value: Value, frame: Frame) -> Shield:
        """What the context manager `value`, written as `context`, does with exceptions of its body.

        A manager that is not known may swallow. One that is called a lock is taken for one.
        """
        name = _called(context).lower()
        if name == "suppress" and context[0] == ir.CALL and not any(kind[0] == ir.STAR for kind in context[4]):
            made_by = self._called_value(context, frame)
            return Suppressing(context[4]) if made_by == Named("contextlib.suppress") else Kept.SWALLOWS
        if any(word in name for word in _SWALLOWING):
            return Kept.SWALLOWS
        match value:
            case Callable(target=Manager(function=function)):
                return Around(function, frozenset())
            case Ref(kind="instance", cls=Class() as cls) if self._is_exact(value):
                return self._exit_of(cls)
            case Device():
                return Kept.NONE
            case Named(name=dotted):
                return _of_library(dotted)
            case _:
                pass
        made_by = self._called_value(context, frame)
        match made_by:
            case Named(name=dotted):
                return _of_library(dotted)
            case Callable(target=Class() as cls):
                return self._exit_of(cls)
            case _:
                return Kept.NONE if any(word in name for word in _LOCKS) else Kept.UNKNOWN

    def _is_exact(self, ref: Ref) -> bool:
        return bool(getattr(self.contents(ref), "exact", False))

    def _called_value(self, context: Expr, frame: Frame) -> Value:
        """The value of what `context` calls, where looking at it changes nothing."""
        if context[0] != ir.CALL:
            return Unknown("context")
        function = context[3]
        while function[0] == ir.ATTRIBUTE:
            function = function[3]
        if function[0] != ir.NAME:
            return Unknown("context")
        try:
            return self.evaluate(context[3], frame)
        except Raising:
            return Unknown("context")

    def _exit_of(self, cls: Class) -> Shield:
        found = False
        for name in ("__exit__", "__aexit__"):
            match self.find_member(cls, name):
                case (Callable(target=Function(unit=unit)), _):
                    found = True
                    if not shields.returns_false(unit.body.block):
                        return Kept.UNKNOWN
                case None:
                    continue
                case _:
                    return Kept.UNKNOWN
        return Kept.NONE if found else Kept.UNKNOWN

    def lets_through(self, shield: Shield, cls: Class | str, frame: Frame) -> bool:
        """Whether an exception of this class certainly leaves the shield as it is; `frame` is where it is thrown."""
        if isinstance(shield, Suppressing):
            return all(self.catches(kind, cls, frame) is False for kind in shield.kinds)
        if not isinstance(shield, Around):
            return shield is Kept.NONE
        names = shield.names
        scope = self._body_scope(shield.function)
        return shields.leaves(
            shield.function.unit.body.block,
            lambda node: shields.calls(node, names) if names else shields.yields(node),
            lambda kind: self.catches(kind, cls, scope),
            lambda context: self._passes(context, cls, scope),
        )

    def _passes(self, context: Expr, cls: Class | str, scope: Frame) -> bool:
        value = self._value_of(context, scope)
        return self.lets_through(self.shield_of(context, value, scope), cls, scope)

    def enter(self, context: Expr, value: Value, frame: Frame) -> None:
        """What holds from here on: `with torch.device(…)` sets a default, autocast overrides what operations do."""
        match value:
            case Device():
                self.ambient = replace(self.ambient, default_device=value)
            case _:
                if self._sets_defaults(context, value, frame):
                    self.ambient = replace(self.ambient, default_device=None, default_dtypes=dtypes.FLOATING)
                if self._overrides_operations(context, value, frame):
                    self.ambient = replace(self.ambient, overridden=True)
        self.forget(value)

    def _sets_defaults(self, context: Expr, value: Value, frame: Frame) -> bool:
        lowered = _called(context).lower()
        if any(word in lowered for word in ("device", "dtype", "meta", "init", "empty", "fake")):
            return True
        text = _text_behind(value)
        return names_default(text) if text is not None else not isinstance(self._called_value(context, frame), Named)

    def _overrides_operations(self, context: Expr, value: Value, frame: Frame) -> bool:
        """Whether a manager may change what the operations of torch do: autocast, a function or dispatch mode."""
        if "autocast" in _called(context).lower():
            return True
        match value:
            case Named(name=dotted):
                return any(word in dotted for word in (*_MODES, "autocast"))
            case Ref(cls=Class() as cls):
                return any(isinstance(base, str) and any(word in base for word in _MODES) for base in self.order(cls))
            case Callable(target=Manager(function=function)):
                return self._overrides_within(function)
            case _:
                made_by = self._called_value(context, frame)
                return isinstance(made_by, Named) and any(word in made_by.name for word in _MODES)

    def _overrides_within(self, function: Function) -> bool:
        """Whether a generator yields within such a manager."""
        scope = self._body_scope(function)
        for statement in flatten(function.unit.body.block):
            if statement[0] != ir.WITH or not shields.yields(statement):
                continue
            for context, _ in statement[3]:
                value = self._value_of(context, scope)
                if self._overrides_operations(context, value, scope):
                    return True
        return False

    def _body_scope(self, function: Function) -> Frame:
        """A frame to look at a function's body in, of which nothing is known but the names around it."""
        scope = Frame(
            None,
            function.module,
            function.unit.base,
            {},
            function.closure,
            None,
            STATIC_DEPTH,
            local=function.unit.body.assigned,
            owner=function.owner,
        )
        scope.quiet = 1
        return scope

    def _value_of(self, context: Expr, scope: Frame) -> Value:
        """The value of a context manager, its effects undone."""
        heap = dict(self.heap)
        try:
            return self.evaluate(context, scope)
        except Raising:
            return Unknown("context")
        finally:
            self.heap = heap

    def entered(self, value: Value, frame: Frame) -> Value:
        """What `with … as name` binds."""
        return Unknown("context")


def _text_behind(value: Value) -> bytes | None:
    """The source of a followed manager."""
    match value:
        case Callable(target=Manager(function=Function(unit=unit, module=module))):
            return module.slice(unit.start, unit.end)
        case Ref(cls=Class(unit=unit, module=module)):
            return module.slice(unit.start, unit.end)
        case _:
            return None


def _of_library(dotted: str) -> Kept:
    if dotted in _OPEN_ENDED:
        return Kept.UNKNOWN
    head, _, rest = dotted.rpartition(".")
    if any(word in rest.lower() for word in _SWALLOWING) or head.startswith("unittest"):
        return Kept.SWALLOWS
    known = dotted in BUILTINS or dotted.partition(".")[0] in _LIBRARIES
    return Kept.NONE if known and not any(word in rest for word in _MODES) else Kept.UNKNOWN


def _called(context: Expr) -> str:
    node = context
    while node[0] in {ir.CALL, ir.SUBSCRIPT, ir.AWAIT}:
        node = node[3]
    match node[0]:
        case ir.NAME:
            return str(node[3])
        case ir.ATTRIBUTE:
            return str(node[4])
        case _:
            return ""
