"""What the parts of the interpreter may ask of each other: declared here once, supplied by one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from raiselens_server.foresee import strings
    from raiselens_server.foresee.binding import Arguments, Bindings
    from raiselens_server.foresee.frames import Frame, Raising
    from raiselens_server.foresee.objects import Class, DataField, Function, Pending, Virtual
    from raiselens_server.foresee.shields import Shield
    from raiselens_server.source.ir import Block, Expr, Stmt
    from raiselens_server.values import ops
    from raiselens_server.values.lattice import (
        HolePart,
        Ref,
        Tensor,
        Value,
    )


class Parts:
    """The seams; `Run` fills every one."""

    def evaluate(self, expr: Expr, frame: Frame) -> Value:
        """The value of an expression. Raises `Raising` where it certainly raises."""
        raise NotImplementedError

    def block(self, block: Block, frame: Frame) -> bool:
        """Run statements; False where control certainly does not reach their end."""
        raise NotImplementedError

    def assign(self, target: Expr, value: Value, frame: Frame) -> None:
        """Bind an assignment target."""
        raise NotImplementedError

    def call(self, function: Value, positional: list[Value], keywords: list[tuple[str, Value]], frame: Frame) -> Value:
        """Call a value with known argument structure."""
        raise NotImplementedError

    def apply(self, function: Value, arguments: Arguments, frame: Frame, expr: Expr | None) -> Value:
        """Call `function`; `expr` is the call expression, where there is one."""
        raise NotImplementedError

    def load_attribute(self, value: Value, name: str, frame: Frame, expr: Expr | None = None) -> Value:
        """`value.name`."""
        raise NotImplementedError

    def report(self, raising: Raising, frame: Frame) -> bool:
        """Take a certain raise that arrived in a root; False where a handler there may catch it."""
        raise NotImplementedError

    def binary(self, op: str, left: Value, right: Value, expr: Expr, frame: Frame) -> Value:
        """`left op right`."""
        raise NotImplementedError

    def outcome(
        self, outcome: ops.Outcome, expr: Expr, frame: Frame, callee: str, operands: tuple[Value, ...] = ()
    ) -> Value:
        """Take what an operation rule says."""
        raise NotImplementedError

    def store_attribute(self, receiver: Value, name: str, value: Value, frame: Frame) -> None:
        """`receiver.name = value`."""
        raise NotImplementedError

    def iterate(self, value: Value, frame: Frame) -> tuple[Value, ...] | None:
        """The items that iterating gives."""
        raise NotImplementedError

    def test(self, expr: Expr, frame: Frame) -> bool | None:
        """What `bool(expr)` must be."""
        raise NotImplementedError

    def change_tensor(self, tensor: Tensor, now: Value, frame: Frame) -> None:
        """`tensor` itself has become `now`, wherever it is held."""
        raise NotImplementedError

    def refused(self, error: Exception, frame: Frame) -> None:
        """Python refuses constants, which a handler may wait for."""
        raise NotImplementedError

    def change_any(self, frame: Frame) -> None:
        """Something not known has changed in place."""
        raise NotImplementedError

    def outdate(self, variables: dict[str, Value], since: int) -> None:
        """Forget in variables kept from before what has changed in place."""
        raise NotImplementedError

    def may_be_changed(self, values: Iterable[Value], frame: Frame) -> None:
        """A callable that nobody knows is called on `values`."""
        raise NotImplementedError

    def may_change(self, functions: Iterable[Value], values: Iterable[Value], frame: Frame) -> None:
        """Code that is not followed may call `functions` on `values`."""
        raise NotImplementedError

    def equal(self, left: Value, right: Value) -> bool | None:
        """Whether `left == right` must hold."""
        raise NotImplementedError

    def decorate(self, value: Value, decorators: tuple[Expr, ...], frame: Frame) -> Value:
        """Apply decorators."""
        raise NotImplementedError

    def text_of(self, value: Value, conversion: str, spec: str | None, source: str) -> strings.Parts:
        """How a value prints."""
        raise NotImplementedError

    def class_chain(self, cls: Class | str) -> tuple[Class | str, ...]:
        """A class and its bases."""
        raise NotImplementedError

    def printable(self, value: Value) -> Value:
        """The value as it prints."""
        raise NotImplementedError

    def call_builtin(
        self, name: str, positional: list[Value], keywords: list[tuple[str, Value]], frame: Frame
    ) -> Value | None:
        """A builtin function or class, or a known function of the standard library; None where there is no rule."""
        raise NotImplementedError

    def call_method(
        self, name: str, receiver: Value, positional: list[Value], keywords: list[tuple[str, Value]], frame: Frame
    ) -> Value | None:
        """A method of a builtin type, `list.append`; None where there is no rule."""
        raise NotImplementedError

    def expand(self, items: tuple[Expr, ...], frame: Frame) -> list[Value] | None:
        """Evaluate items, stars expanded."""
        raise NotImplementedError

    def exception_text(self, value: Ref) -> Value | None:
        """`str()` of an exception instance."""
        raise NotImplementedError

    def run_pending(self, pending: Pending, frame: Frame) -> Value:
        """Run the body of a coroutine or generator."""
        raise NotImplementedError

    def refine(self, test: Expr, taken: bool, frame: Frame) -> None:
        """Narrow the names that `test` speaks of; supplied by the statements."""
        raise NotImplementedError

    def subscript(self, value: Value, index: Value, expr: Expr, frame: Frame) -> Value:
        """`value[index]`."""
        raise NotImplementedError

    def _comprehension(self, expr: Expr, frame: Frame) -> Value:
        raise NotImplementedError

    def _call(self, expr: Expr, frame: Frame) -> Value:
        raise NotImplementedError

    def lookup(self, name: str, frame: Frame) -> Value:
        """The value of a name."""
        raise NotImplementedError

    def identical(self, left: Value, right: Value) -> bool | None:
        """Whether `left is right` must hold."""
        raise NotImplementedError

    def is_instance(self, value: Value, cls: Value) -> bool | None:
        """Whether `isinstance(value, cls)` must hold."""
        raise NotImplementedError

    def augment(self, statement: Stmt, frame: Frame) -> None:
        """`target op= value`."""
        raise NotImplementedError

    def exception_of(self, value: Value, frame: Frame, expr: Expr) -> tuple[Class | str, tuple[str | HolePart, ...]]:
        """Class and message of what a `raise` raises."""
        raise NotImplementedError

    def rows_of(self, value: Value) -> tuple[Value, ...] | None:
        """The rows of a tensor with a known first size."""
        raise NotImplementedError

    def shield_of(self, context: Expr, value: Value, frame: Frame) -> Shield:
        """What a context manager does with exceptions of its body."""
        raise NotImplementedError

    def lets_through(self, shield: Shield, cls: Class | str, frame: Frame) -> bool:
        """Whether an exception of this class certainly leaves the shield as it is."""
        raise NotImplementedError

    def catches(self, kind: Expr | None, cls: Class | str, frame: Frame) -> bool | None:
        """Whether `except kind` catches an exception of the class."""
        raise NotImplementedError

    def enter(self, context: Expr, value: Value, frame: Frame) -> None:
        """What entering a context manager changes: the ambient device."""
        raise NotImplementedError

    def entered(self, value: Value, frame: Frame) -> Value:
        """What `with … as name` binds."""
        raise NotImplementedError

    def reached_from(self, target: object) -> tuple[Value, ...]:
        """The objects that calling `target` may change: receivers, bound arguments, what closures capture."""
        raise NotImplementedError

    def field(self, ref: Ref, cls: Class, name: str, *, exact: bool) -> Value | None:
        """The attribute as the methods of its class and bases store it, None where none of them does."""
        raise NotImplementedError

    def backend_of(self, function: Function, arguments: Arguments, frame: Frame) -> Value | None:
        """The object that does a library's work on a tensor."""
        raise NotImplementedError

    def chained(self, args: list[Value], frame: Frame) -> Value:
        """`itertools.chain(…)`."""
        raise NotImplementedError

    def data_fields(self, cls: Class) -> tuple[DataField, ...] | None:
        """The fields of a generated constructor."""
        raise NotImplementedError

    def not_followed(self, arguments: Arguments, cause: str, frame: Frame | None = None) -> Value:
        """The result of a call that is not followed: its arguments are out of sight from now on."""
        raise NotImplementedError

    def bound(self, function: Function, arguments: Arguments, frame: Frame, expr: Expr | None) -> Bindings:
        """Bind the arguments of a call. Raises the TypeError of those that do not fit."""
        raise NotImplementedError

    def returned(self, function: Function, frame: Frame, expr: Expr | None, cause: str) -> Value:
        """What a call that is not run gives, as far as its statement asks."""
        raise NotImplementedError

    def call_virtual(self, virtual: Virtual, arguments: Arguments, frame: Frame, expr: Expr | None) -> Value:
        """Bind the arguments of a method that a derived class may replace."""
        raise NotImplementedError

    def invoke(self, function: Function, arguments: Arguments, frame: Frame, expr: Expr | None) -> Value:
        """Bind and run a function of followed source."""
        raise NotImplementedError

    def instantiate(self, cls: Class, arguments: Arguments, frame: Frame, expr: Expr | None) -> Value:
        """Make an instance of a followed class."""
        raise NotImplementedError

    def instantiate_derived(self, cls: Class, arguments: Arguments, frame: Frame, expr: Expr | None) -> Value:
        """Make an instance of a class or of one derived from it."""
        raise NotImplementedError

    def call_instance(self, ref: Ref, arguments: Arguments, frame: Frame, expr: Expr | None) -> Value:
        """Call an object."""
        raise NotImplementedError
