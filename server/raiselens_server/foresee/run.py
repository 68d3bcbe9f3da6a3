"""The interpreter, put together: one object runs one root."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raiselens_server.foresee.access import Access
from raiselens_server.foresee.builtin_calls import Builtins
from raiselens_server.foresee.calls import Calls
from raiselens_server.foresee.captures import Captures
from raiselens_server.foresee.contexts import Contexts
from raiselens_server.foresee.expressions import Expressions
from raiselens_server.foresee.statements import Statements

if TYPE_CHECKING:
    from raiselens_server.foresee.frames import Frame, Raising


class Run(Access, Captures, Contexts, Builtins, Calls, Expressions, Statements):
    """An abstract run of one root: a module's top level, or a function with unknown arguments."""

    def report(self, raising: Raising, frame: Frame) -> bool:
        """Nobody listens: names of module scopes are evaluated for their value only."""
        return True
