"""The interpreter, put together: one object runs one root."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raiselens_server.foresee.access import Access
from raiselens_server.foresee.builtin_calls import Builtins
from raiselens_server.foresee.calls import Calls
from raiselens_server.foresee.captures import Captures
from raiselens_server.foresee.comparing import Comparing
from raiselens_server.foresee.contexts import Contexts
from raiselens_server.foresee.decorators import Decorators
from raiselens_server.foresee.expressions import Expressions
from raiselens_server.foresee.fields import Fields
from raiselens_server.foresee.handling import Handling
from raiselens_server.foresee.instances import Instances
from raiselens_server.foresee.loops import Loops
from raiselens_server.foresee.methods import Methods
from raiselens_server.foresee.mutation import Mutation
from raiselens_server.foresee.operators import Operators
from raiselens_server.foresee.running import Running
from raiselens_server.foresee.statements import Statements
from raiselens_server.foresee.type_checks import TypeChecks
from raiselens_server.foresee.virtual import Virtuals

if TYPE_CHECKING:
    from raiselens_server.foresee.frames import Frame, Raising


class Run(
    Access,
    Captures,
    Fields,
    Virtuals,
    Contexts,
    Builtins,
    TypeChecks,
    Methods,
    Calls,
    Instances,
    Decorators,
    Running,
    Expressions,
    Operators,
    Comparing,
    Statements,
    Loops,
    Handling,
    Mutation,
):
    """An abstract run of one root: a module's top level, or a function with unknown arguments."""

    def report(self, raising: Raising, frame: Frame) -> bool:
        """Nobody listens: names of module scopes are evaluated for their value only."""
        return True
