"""Functions and classes as units: the smallest parts that are lowered, run and cached by themselves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from raiselens_server.source.ir import Block, Expr

POSITIONAL_ONLY, POSITIONAL_OR_KEYWORD, VAR_POSITIONAL, KEYWORD_ONLY, VAR_KEYWORD = range(5)
"""Kinds of parameter, in the order `inspect.Parameter` has them."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter; `default` and `annotation` are expressions of the enclosing unit."""

    name: str
    kind: int
    default: Expr | None
    annotation: Expr | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Body:
    """The lowered body of a function, and what its statements say of its names.

    `assigned` are the names bound anywhere in it (parameters included), `globals` and `nonlocals` those it declares,
    `rebound` the names that functions nested in it declare nonlocal: their value can change behind its back.
    """

    block: Block
    assigned: frozenset[str]
    globals: frozenset[str]
    nonlocals: frozenset[str]
    rebound: frozenset[str]
    generator: bool


def _lowered() -> Body:
    raise AssertionError("a body is lowered once")


@dataclass(eq=False, slots=True)
class FunctionUnit:
    """A `def` or `lambda`. Positions in `body`, defaults and decorators are relative to `base`.

    `base` is an absolute byte offset in the file; `end` the absolute end. `lower` gives the body and is called once.
    """

    name: str
    qualname: str
    parameters: tuple[Parameter, ...]
    decorators: tuple[Expr, ...]
    returns: Expr | None
    is_async: bool
    base: int
    start: int
    end: int
    lower: Callable[[], Body] = field(repr=False)
    _body: Body | None = field(default=None, repr=False)
    derived: frozenset[str] | None = field(default=None, repr=False)
    nothing: bool | None = field(default=None, repr=False)
    rewritten: bool = field(default=False, repr=False)
    read: frozenset[str] | None = field(default=None, repr=False)
    stores: dict[str, tuple[Expr | None, ...]] | None = field(default=None, repr=False)
    """What the body stores as attributes of its first parameter; None where nobody has looked."""
    changes: dict[int, tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]] = field(default_factory=dict, repr=False)
    """By where a loop's body begins: the names that its statements bind, and those whose objects they may change."""
    again: Callable[[], Body] | None = field(default=None, repr=False)
    """Lowers the body from the text, as often as it is asked to; None where only the syntax tree can give it."""
    watch: set[FunctionUnit] | None = field(default=None, repr=False)
    """Where to note that what somebody keeps may depend on the body; for functions that may be edited."""

    def become(self, other: FunctionUnit) -> None:
        """Take the place and the body of `other`, the same function after an edit, and stay the same object.

        Whoever holds this unit, a class or a remembered value, goes on with the function as it is now.
        """
        self.parameters, self.returns = other.parameters, other.returns
        self.base, self.start, self.end = other.base, other.start, other.end
        self.lower, self.again, self._body = other.lower, other.again, other._body
        self.derived = self.read = self.nothing = self.stores = None
        self.changes = {}

    @property
    def lowered(self) -> bool:
        """Whether the body is at hand."""
        return self._body is not None

    def release(self) -> None:
        """Free the body; it is lowered again if it is asked for. For functions of modules and classes only."""
        if self.again is not None:
            self._body, self.lower = None, self.again

    @property
    def body(self) -> Body:
        """The lowered body, for whoever studies it and may keep what is seen."""
        if self.watch is not None:
            self.watch.add(self)
        return self.code

    @property
    def code(self) -> Body:
        """The lowered body, for whoever runs it, or keeps nothing of it but what is forgotten with the function."""
        if self._body is None:
            self._body = self.lower()
            # What lowers holds the syntax tree, or the text; neither is needed any more.
            self.lower = _lowered
        return self._body


@dataclass(eq=False, slots=True)
class ClassUnit:
    """A `class`; positions in `block`, bases and decorators are relative to `base`."""

    name: str
    qualname: str
    bases: tuple[Expr, ...]
    keywords: tuple[tuple[str | None, Expr], ...]
    decorators: tuple[Expr, ...]
    block: Block
    base: int
    start: int
    end: int
    read: frozenset[str] | None = field(default=None, repr=False)
