"""Context managers: those that expect or swallow an exception, and those that set the ambient device or dtype."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from raiselens_server.foresee.core import Core
from raiselens_server.foresee.objects import Bound, Class, Function, Pending
from raiselens_server.source import ir
from raiselens_server.values.lattice import Callable, Device, Named, Ref, Unknown

if TYPE_CHECKING:
    from raiselens_server.foresee.frames import Frame
    from raiselens_server.source.ir import Expr
    from raiselens_server.values.lattice import Value

_SWALLOWING: Final = ("raises", "suppress", "ignore", "expect", "warns", "skip")


class Contexts(Core):
    """What `with` does."""

    def swallows(self, context: Expr, value: Value, frame: Frame) -> bool:
        """Whether a context manager may swallow or expect an exception, by what it is called.

        A manager of followed source is trusted to let exceptions through unless its name says otherwise: managers that
        swallow are rare and say so.
        """
        name = _called(context).lower()
        return any(word in name for word in _SWALLOWING)

    def enter(self, context: Expr, value: Value, frame: Frame) -> None:
        """`with torch.device(…)` sets the default device; a manager that is not known may set device or dtype."""
        match value:
            case Device():
                self.ambient = replace(self.ambient, default_device=value)
            case Named() | Callable(target=Class() | Function() | Bound() | Pending()) | Ref() | Unknown():
                if _sets_defaults(_called(context)):
                    self.ambient = replace(self.ambient, default_device=None)
            case _:
                return

    def entered(self, value: Value, frame: Frame) -> Value:
        """What `with … as name` binds."""
        return Unknown("context")


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


def _sets_defaults(name: str) -> bool:
    lowered = name.lower()
    return any(word in lowered for word in ("device", "dtype", "meta", "init", "empty", "fake"))
