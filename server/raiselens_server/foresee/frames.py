"""Frames of the abstract run, and the raise that travels through them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from raiselens_server.error import Hole

if TYPE_CHECKING:
    from raiselens_server.foresee.binding import Arguments, BindingFailure
    from raiselens_server.foresee.objects import Assumed, Class, Function, HeapObject
    from raiselens_server.foresee.shields import Shield
    from raiselens_server.source.ir import Expr, Stmt
    from raiselens_server.source.module import Module
    from raiselens_server.values.lattice import HolePart, Value


@dataclass(frozen=True, slots=True)
class Condition:
    """A test that was decided on the way to where the run now is. `derived`: from what the caller supplied.

    `handled`: it was decided by the raise that is being handled, and `test` is what the handler names.
    """

    test: Expr
    taken: bool
    derived: bool
    handled: bool = False


@dataclass(frozen=True, slots=True)
class Answered:
    """An undecided test on one of its branches: as written, and what the locals that it reads held."""

    text: str
    values: tuple[tuple[str, Value], ...]
    taken: bool


@dataclass(eq=False, slots=True)
class Frame:
    """One function (or module top level) being run on abstract values.

    `raises` are the raises that end some path here and are not handled; `returns` the values of the paths that return,
    with the heap at that point. `unsure` is set once a guard in here, or in a callee, was not decided.
    `caught` is the raise that the run is in the handler of, where it is certain which one that is. `handlers` are those of the `try`s that the run is in, `shields` the context managers and decorators around it.
    `branches` are the undecided tests of the branches the run is on, as text; only a root's are kept. `tests` are those tests
    themselves, `passed` the undecided ones whose other branch has left. `assumed` is what the last call's result rests on.
    """

    function: Function | None
    module: Module
    base: int
    variables: dict[str, Value]
    closure: Frame | None
    caller: Frame | None
    depth: int
    local: frozenset[str] = frozenset()
    rebound: frozenset[str] = frozenset()
    derived: frozenset[str] = frozenset()
    owner: Class | None = None
    statement: Stmt | None = None
    at: int = 0
    node: Expr | None = None
    returns: list[tuple[Value, dict[int, HeapObject]]] = field(default_factory=list)
    raises: list[Raising] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    branches: list[str] = field(default_factory=list)
    caught: Raising | None = None
    handlers: list[tuple[Expr | None, ...]] = field(default_factory=list)
    shields: list[Shield] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    quiet: int = 0
    unsure: bool = False
    yielded: bool = False
    live: bool = False
    tests: list[Expr] = field(default_factory=list)
    passed: list[Expr] = field(default_factory=list)
    answered: list[Answered] = field(default_factory=list)
    assumed: tuple[Assumed, ...] = ()

    @property
    def root(self) -> bool:
        """Whether the run began here."""
        return self.caller is None

    @property
    def qualname(self) -> str:
        """The function's name as a traceback prints it."""
        return "<module>" if self.function is None else self.function.unit.qualname


@dataclass(eq=False, slots=True)
class Loop:
    """A loop being run: the states at its `break`s and `continue`s.

    `tests`: of a round of several that are run one by one, how many undecided tests the loop itself stands on.
    """

    tests: int | None = None

    breaks: list[tuple[dict[str, Value], dict[int, HeapObject]]] = field(default_factory=list)
    continues: list[tuple[dict[str, Value], dict[int, HeapObject]]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Level:
    """A frame as it was when the raise happened."""

    frame: Frame
    statement: Stmt | None
    at: int
    node: Expr | None
    conditions: tuple[Condition, ...]
    unsure: bool


class Raising(Exception):  # noqa: N818 it carries an abstract raise, it is no error of ours
    """An exception that is raised for certain on this path.

    `alternatives` are the classes that an undecided guard before it may raise instead. `levels` run outermost first.
    `implicit`: raised by Python or torch itself, not by a `raise` or `assert`; `operands` is then what the operation took.
    `assumed` are the look-ups that may find another thing in a derived class, `arguments` those of a call that could not
    be bound, `wanted` the number of values unpacked to.
    """

    def __init__(
        self,
        cls: Class | str,
        message: tuple[str | HolePart, ...],
        frame: Frame,
        *,
        test: Expr | None = None,
        condition: str = "",
        implicit: str | None = None,
        callee: str | None = None,
        param: str | None = None,
        subject: Value | None = None,
        operands: tuple[Value, ...] = (),
        rule: str | None = None,
        value: Value | None = None,
        offset: int | None = None,
        earlier: bool = False,
    ) -> None:
        super().__init__()
        self.cls = cls
        self.message = message
        self.test = test
        self.condition = condition
        self.implicit = implicit
        self.callee = callee
        self.param = param
        self.subject = subject
        self.operands = operands
        self.rule = rule
        self.alternatives: tuple[Class | str, ...] = ()
        self.earlier = earlier
        self.assumed: tuple[Assumed, ...] = ()
        self.arguments: Arguments | None = None
        self.wanted: int | None = None
        self.value = value
        if offset is not None:
            frame.at = offset
        levels: list[Level] = []
        current: Frame | None = frame
        while current is not None:
            levels.append(
                Level(
                    current,
                    current.statement,
                    current.at,
                    current.node,
                    tuple(current.conditions),
                    current.unsure,
                )
            )
            current = current.caller
        levels.reverse()
        self.levels = tuple(levels)
        self.variables = dict(frame.variables)

    @property
    def classes(self) -> tuple[Class | str, ...]:
        """The class, and those that an undecided guard before it may raise instead."""
        return (self.cls, *self.alternatives)

    @property
    def class_name(self) -> str:
        """The class as a traceback prints it."""
        if isinstance(self.cls, str):
            return self.cls.removeprefix("builtins.")
        module = self.cls.module.name
        return self.cls.unit.qualname if module == "__main__" else f"{module}.{self.cls.unit.qualname}"

    def rendered(self) -> tuple[str, tuple[Hole, ...]]:
        """The message as text, and where its holes are."""
        text, holes = "", []
        for part in self.message:
            if isinstance(part, str):
                text += part
            else:
                shown = f"{{{part.expr}}}"
                holes.append(Hole(len(text), len(text) + len(shown), part.expr))
                text += shown
        return text, tuple(holes)


def binding_error(
    failure: BindingFailure, frame: Frame, callee: str, condition: str = "", arguments: Arguments | None = None
) -> Raising:
    """The TypeError of a call whose arguments do not fit."""
    raising = Raising(
        "TypeError",
        (failure.message,),
        frame,
        implicit="binding",
        rule=failure.rule,
        callee=callee,
        param=failure.param,
        condition=condition,
    )
    raising.arguments = arguments
    return raising
