"""Calls: what is called, binding, running the callee, making instances."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from raiselens_server.foresee import exceptions
from raiselens_server.foresee.binding import Arguments, BindingFailure, Bindings, bind, with_receiver
from raiselens_server.foresee.core import MAX_DEPTH
from raiselens_server.foresee.frames import Frame, Raising, binding_error
from raiselens_server.foresee.objects import (
    Bound,
    Class,
    Derived,
    DictObject,
    Function,
    InstanceObject,
    Manager,
    Partial,
    Pending,
    Super,
    Virtual,
    Wrapped,
)
from raiselens_server.foresee.running import BUSY, Running, callee_frame
from raiselens_server.source import ir, units
from raiselens_server.source.searched import IN_PLACE_METADATA
from raiselens_server.values import dtypes, lattice, ops
from raiselens_server.values.dtypes import INTEGRAL
from raiselens_server.values.lattice import (
    Callable,
    Const,
    Named,
    Ref,
    Seq,
    Tensor,
    Union,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from raiselens_server.source.ir import Expr

RECURSION_LIMIT: Final = 2


_METHOD_OWNERS: Final = frozenset({"str", "list", "dict", "set"})


class Calls(Running):
    """Calls of every kind of value."""

    # The call expression

    def _call(self, expr: Expr, frame: Frame) -> Value:
        if frame.module is self.checked:
            self.seen.add((frame.base + expr[1], frame.base + expr[2]))
        if expr[3][0] == ir.NAME and expr[3][3] == "super":
            special = self._super(expr, frame)
            if special is not None:
                return special
        function = self.evaluate(expr[3], frame)
        positional, open_positional = self._positional(expr[4], frame)
        keywords, open_keywords = self._keywords(expr[5], frame)
        frame.at, frame.node = frame.base + expr[1], expr
        if isinstance(function, Unknown) and expr[3][0] == ir.ATTRIBUTE and _is_chain(expr[3][3]):
            # A method that is not followed may change what it is called on.
            receiver = self.evaluate(expr[3][3], frame)
            self.forget(receiver)
            if isinstance(receiver, Tensor) and expr[3][4].endswith("_"):
                self.change_tensor(receiver, Unknown("in-place"), frame)
            elif isinstance(receiver, Unknown) and expr[3][4] in IN_PLACE_METADATA:
                self.change_any(frame)
        repeated = _repeated(expr[5], keywords)
        if repeated is not None and not open_positional:
            self._refuse_repeated(function, repeated, expr, frame)
        arguments = Arguments(tuple(positional), tuple(keywords), open_positional, open_keywords)
        value = self.apply(function, arguments, frame, expr)
        return self.placed(value, frame, expr)

    def _positional(self, items: tuple[Expr, ...], frame: Frame) -> tuple[list[Value], bool]:
        values: list[Value] = []
        for index, item in enumerate(items):
            if item[0] != ir.STAR:
                values.append(self.evaluate(item, frame))
                continue
            inner = self.unpacked(self.evaluate(item[3], frame))
            if inner is None:
                for later in items[index + 1 :]:
                    self.escape(self.evaluate(later, frame))
                return values, True
            values.extend(inner)
        return values, False

    def _keywords(
        self, items: tuple[tuple[str | None, Expr], ...], frame: Frame
    ) -> tuple[list[tuple[str, Value]], bool]:
        values: list[tuple[str, Value]] = []
        unknown = False
        for name, item in items:
            value = self.evaluate(item, frame)
            if name is not None:
                values.append((name, value))
                continue
            contents = self.contents(value) if isinstance(value, Ref) else None
            if isinstance(contents, DictObject) and contents.items is not None:
                for key, inner in contents.items:
                    if isinstance(key, Const) and isinstance(key.value, str):
                        values.append((key.value, inner))
                    else:
                        unknown = True
            else:
                unknown = True
        return values, unknown

    def _refuse_repeated(self, function: Value, name: str, expr: Expr, frame: Frame) -> None:
        """The TypeError of a keyword that a `**` passes again; it comes before anything is bound."""
        target = function.target if isinstance(function, Callable) else None
        if isinstance(target, Bound):
            target = target.function
        if not isinstance(target, (Function, Class)):
            return
        module = "__main__" if target.module.path in self.live else target.module.name
        raise Raising(
            "TypeError",
            (f"{module}.{target.unit.qualname}() got multiple values for keyword argument '{name}'",),
            frame,
            implicit="binding",
            rule="call-repeated-argument",
            callee=target.dotted,
            param=name,
            offset=frame.base + expr[1],
        )

    def _super(self, expr: Expr, frame: Frame) -> Value | None:
        if expr[4] or expr[5]:
            if len(expr[4]) != 2:
                return None
            cls, receiver = self.evaluate(expr[4][0], frame), self.evaluate(expr[4][1], frame)
            if isinstance(cls, Callable) and isinstance(cls.target, Class):
                return Callable(Super(cls.target, receiver), "super")
            return Unknown("super")
        scope: Frame | None = frame
        while scope is not None and (scope.owner is None or scope.function is None):
            scope = scope.closure
        if scope is None or scope.function is None or scope.owner is None or not scope.function.unit.parameters:
            return Unknown("super")
        receiver = scope.variables.get(scope.function.unit.parameters[0].name, Unknown("super"))
        return Callable(Super(scope.owner, receiver), "super")

    # Application

    def call(self, function: Value, positional: list[Value], keywords: list[tuple[str, Value]], frame: Frame) -> Value:
        """Call a value with known argument structure."""
        return self.apply(function, Arguments(tuple(positional), tuple(keywords)), frame, None)

    def apply(self, function: Value, arguments: Arguments, frame: Frame, expr: Expr | None) -> Value:
        """Call `function`; `expr` is the call expression, where there is one."""
        match function:
            case Callable(target=Function() as target):
                return self.invoke(target, arguments, frame, expr)
            case Callable(target=Bound(function=Function() as target, receiver=receiver)):
                return self.invoke(target, with_receiver(receiver, arguments), frame, expr)
            case Callable(target=Derived(cls=cls)):
                return self.instantiate_derived(cls, arguments, frame, expr)
            case Callable(target=Virtual() as virtual):
                return self.call_virtual(virtual, arguments, frame, expr)
            case Callable(target=Bound(function=str() as name, receiver=receiver)):
                return self._method(name, receiver, arguments, frame, expr)
            case Callable(target=Class() as cls):
                return self.instantiate(cls, arguments, frame, expr)
            case Callable(target=Partial() as partial):
                merged = dict(partial.keywords) | dict(arguments.keywords)
                return self.apply(
                    partial.function,
                    Arguments(
                        (*partial.positional, *arguments.positional),
                        tuple(merged.items()),
                        arguments.open_positional,
                        arguments.open_keywords,
                    ),
                    frame,
                    expr,
                )
            case Callable(target=Wrapped(kind="staticmethod", function=inner)):
                return self.apply(inner, arguments, frame, expr)
            case Ref(kind="instance"):
                return self.call_instance(function, arguments, frame, expr)
            case Named(name=name):
                return self._named(name, arguments, frame, expr)
            case Const(value=None):
                raise Raising(
                    "TypeError",
                    ("'NoneType' object is not callable",),
                    frame,
                    condition="" if expr is None else f"{self.source(frame, expr[3])} is None",
                    implicit="none-call",
                    rule="none-call",
                    callee="" if expr is None else self.source(frame, expr[3]),
                )
            case Union(options=options):
                return self.over_options(options, lambda option: self.apply(option, arguments, frame, expr), frame)
            case _:
                self.escape(function)
                self.may_be_changed(arguments.values, frame)
                return self.not_followed(arguments, "unknown-callee", frame)

    def not_followed(self, arguments: Arguments, cause: str, frame: Frame | None = None) -> Value:
        """The result of a call that is not followed: its arguments are out of sight from now on."""
        if frame is not None:
            self.may_change(arguments.values, arguments.values, frame)
        for value in arguments.values:
            self.escape(value)
        return Unknown(cause)

    def _method(self, name: str, receiver: Value, arguments: Arguments, frame: Frame, expr: Expr | None) -> Value:
        positional, keywords = list(arguments.positional), list(arguments.keywords)
        if name == "?.to":
            given = [*positional, *(value for _, value in keywords)]
            if any(isinstance(value, lattice.DType) and value.names <= INTEGRAL for value in given):
                # Modules refuse these, so it is a tensor.
                return self.operation("torch.Tensor.to", [Tensor(), *positional], keywords, frame, expr)
            self.escape(receiver)
            return self.not_followed(arguments, "unknown-callee")
        if name.startswith("?."):
            path = receiver.path if isinstance(receiver, Unknown) else None
            shown = ", ".join(str(v.value) for v in positional if isinstance(v, Const))
            if path is None or keywords or len(positional) != shown.count(",") + bool(shown):
                return Unknown("parameter")
            if name == "?.size" and positional:
                return Unknown("parameter", f"{path}.shape[{shown}]")
            return Unknown("parameter", f"{path}.{name[2:]}({shown})")
        if arguments.open_positional or arguments.open_keywords:
            self.escape(receiver)
            return self.not_followed(arguments, "starred")
        if isinstance(receiver, (Tensor, lattice.Array, lattice.DType, lattice.Device)):
            return self.operation(name, [receiver, *positional], keywords, frame, expr)
        handed = (*positional, *(value for _, value in keywords))
        if any(isinstance(value, Callable) for value in handed):
            # Such as the key of `sort`.
            self.may_change(handed, (receiver, *handed), frame)
        found = self.call_method(name, receiver, positional, keywords, frame)
        if found is not None:
            return found
        self.escape(receiver)
        return self.not_followed(arguments, "method", frame)

    def operation(
        self, name: str, positional: list[Value], keywords: list[tuple[str, Value]], frame: Frame, expr: Expr | None
    ) -> Value:
        """An operation of torch or numpy, by rule."""
        plain = [self.plain(value) for value in positional]
        outcome = ops.call(name, plain, {key: self.plain(value) for key, value in keywords}, self.ambient)
        if isinstance(outcome, ops.NoRule):
            for value in (*positional, *(value for _, value in keywords)):
                self.escape(value)
            result: Value = Unknown("operation")
        else:
            result = self.outcome(outcome, expr, frame, name, (*plain, *(self.plain(value) for _, value in keywords)))
        if name.endswith("_") and positional and isinstance(positional[0], Tensor):
            self.change_tensor(positional[0], result, frame)
        for out in (value for key, value in keywords if key == "out"):
            self._written(out, result, frame)
        return result

    def _written(self, out: Value, result: Value, frame: Frame) -> None:
        """`out=` takes the shape of what is written to it."""
        if isinstance(out, Tensor):
            self.change_tensor(out, result, frame)
        else:
            for item in self.items_of(out) or ():
                self._written(item, Unknown("out"), frame)

    def outcome(
        self,
        outcome: ops.Outcome,
        expr: Expr | None,
        frame: Frame,
        callee: str,
        operands: tuple[Value, ...] = (),
    ) -> Value:
        """Take what an operation rule says: its value, or its raise."""
        match outcome:
            case ops.Result(value=value, may_raise=may_raise):
                frame.unsure = frame.unsure or (may_raise and not frame.root)
                return value if expr is None else self.placed(value, frame, expr)
            case ops.Raise(class_name=cls, message=message, param=param, condition=condition):
                if expr is not None:
                    frame.node = expr
                raise Raising(
                    cls,
                    message,
                    frame,
                    condition=condition,
                    implicit="operation",
                    callee=callee,
                    param=param,
                    operands=operands,
                    offset=None if expr is None else frame.base + expr[1],
                    earlier=outcome.earlier,
                )
            case _:
                return Unknown("operation")

    def _named(self, name: str, arguments: Arguments, frame: Frame, expr: Expr | None) -> Value:
        positional, keywords = list(arguments.positional), list(arguments.keywords)
        known = not arguments.open_positional and not arguments.open_keywords
        if known:
            found = self.call_builtin(name, positional, keywords, frame)
            if found is not None:
                return found
            if ops.knows(name):
                return self.operation(name, positional, keywords, frame, expr)
            head, _, method = name.partition(".")
            if head in _METHOD_OWNERS and positional and "." not in method:
                return self._method(
                    name, positional[0], Arguments(tuple(positional[1:]), arguments.keywords), frame, expr
                )
        if name.startswith("torch.set_default_"):
            self.ambient = replace(self.ambient, default_dtypes=dtypes.FLOATING, default_device=None)
        if name.endswith(("_", "swap_tensors")):
            for value in positional:
                if isinstance(value, Tensor):
                    self.change_tensor(value, Unknown("in-place"), frame)
        if exceptions.BUILTIN.get(name) or name in exceptions.NAMED:
            return self.new("instance", InstanceObject((("args", Seq(tuple(positional))),)), name)
        return self.not_followed(arguments, "library" if "." in name else "builtin", frame)

    # Functions

    def invoke(self, function: Function, arguments: Arguments, frame: Frame, expr: Expr | None) -> Value:
        """Bind and run a function of followed source."""
        unit = function.unit
        if unit.rewritten:
            return self._left_out(function, arguments, "rewritten", frame)
        bound = self.bound(function, arguments, frame, expr)
        served = self.backend_of(function, arguments, frame) if unit.name == "get_backend" else None
        if served is not None:
            return served
        if not self.deep and not self._worth_running(unit, bound.values):
            self._left_out(function, arguments, "no-facts", frame)
            return self.returned(function, frame, expr, "no-facts")
        if frame.depth >= MAX_DEPTH or self._recursion(function, frame) >= RECURSION_LIMIT:
            return self._left_out(function, arguments, "depth", frame)
        values = dict(bound.values)
        inner = callee_frame(function, values, frame)
        self._defaults(function, bound.unsure, values)
        if bound.rest is not None:
            name, gathered = bound.rest
            pairs = None if gathered is None else tuple((Const(key), value) for key, value in gathered)
            values[name] = self.new("dict", DictObject(pairs))
        if function.manager:
            for value in values.values():
                self.escape(value)
            return Callable(Manager(function, tuple(values.values())), unit.qualname)
        if unit.is_async or unit.code.generator:
            return Callable(Pending(function, tuple(values.items()), unit.code.generator), unit.qualname)
        key = self._memo_key(function, values, frame)
        if key is None:
            return self.run_frame(inner, frame)
        known = self.scopes.results.get(key)
        if known is None:
            known = self._remember(key, inner, frame)
        elif known is BUSY:
            return Unknown("recursion")
        self.visited |= known.visited
        frame.unsure = frame.unsure or known.unsure
        return known.value

    def bound(self, function: Function, arguments: Arguments, frame: Frame, expr: Expr | None) -> Bindings:
        """Bind the arguments of a call. Raises the TypeError of those that do not fit."""
        bound = bind(function.unit, arguments, self.scopes.version)
        if isinstance(bound, BindingFailure):
            condition = f"def {function.unit.name}{self.signature(function)}"
            raise binding_error(bound, frame, function.dotted, condition, arguments)
        self.note_visited(function, frame)
        if expr is not None and frame.module is self.checked:
            self.followed.add(frame.base + expr[1])
        return bound

    def _left_out(self, function: Function, arguments: Arguments, cause: str, frame: Frame) -> Value:
        """A followed function is not run: it may change what it is given, and what it closes over."""
        self.may_change((Callable(function, function.unit.name), *arguments.values), arguments.values, frame)
        if function.closure is not None:
            self.escape(Callable(function, function.unit.name))
        return self.not_followed(arguments, cause)

    def signature(self, function: Function) -> str:
        """The parameter list as written, on one line."""
        shown: list[str] = []
        starred = False
        previous: int | None = None
        for p in function.unit.parameters:
            if previous == units.POSITIONAL_ONLY != p.kind:
                shown.append("/")
            if p.kind == units.KEYWORD_ONLY and not starred:
                shown.append("*")
            starred = starred or p.kind in {units.VAR_POSITIONAL, units.KEYWORD_ONLY}
            previous = p.kind
            text = function.module.text(function.unit.base + p.start, function.unit.base + p.end)
            shown.append(" ".join(text.split()))
        return f"({', '.join([*shown, '/'] if previous == units.POSITIONAL_ONLY else shown)})"

    # Instances

    # Raising and exceptions

    # Decorators


def _is_chain(expr: Expr) -> bool:
    """Whether an expression is a name, or attributes of one."""
    while expr[0] == ir.ATTRIBUTE:
        expr = expr[3]
    return bool(expr[0] == ir.NAME)


def _repeated(items: tuple[tuple[str | None, Expr], ...], keywords: list[tuple[str, Value]]) -> str | None:
    """A keyword that is passed twice, where a `**` is among what is passed."""
    if all(name is not None for name, _ in items):
        return None
    names = [name for name, _ in keywords]
    return next((name for index, name in enumerate(names) if name in names[:index]), None)
