"""Calls: what is called, binding, running the callee, making instances."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from typing_extensions import assert_never

from raiselens_server.foresee import exceptions, strings
from raiselens_server.foresee.attributes import MODULE_CLASS, UNKNOWN_BASE, Attributes
from raiselens_server.foresee.binding import Arguments, BindingFailure, bind
from raiselens_server.foresee.core import MAX_DEPTH, fresh_uid, join_heaps
from raiselens_server.foresee.dataclasses import DataClasses
from raiselens_server.foresee.derived import derived
from raiselens_server.foresee.frames import Frame, Raising
from raiselens_server.foresee.objects import (
    Bound,
    Class,
    DictObject,
    EnumMember,
    Function,
    InstanceObject,
    ListObject,
    ModuleObject,
    Partial,
    Pending,
    SetObject,
    Super,
    Wrapped,
)
from raiselens_server.source import ir, units
from raiselens_server.values import lattice, ops
from raiselens_server.values.lattice import (
    Callable,
    Const,
    HolePart,
    Named,
    Ref,
    Seq,
    Tensor,
    Text,
    Union,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from raiselens_server.foresee.objects import HeapObject
    from raiselens_server.source.ir import Expr
    from raiselens_server.source.units import FunctionUnit

RECURSION_LIMIT: Final = 2
KEPT_GARBAGE: Final = 4


@dataclass(frozen=True, slots=True)
class Result:
    """What calling a function with certain facts gives; `unsure`: a guard in it was not decided."""

    value: Value
    unsure: bool


BUSY: Final = Result(Unknown("recursion"), unsure=False)
"""Stands for a result that is being computed."""
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


_METHOD_OWNERS: Final = frozenset({"str", "list", "dict", "set"})


class Calls(DataClasses, Attributes):
    """Calls of every kind of value."""

    # The call expression

    def _call(self, expr: Expr, frame: Frame) -> Value:
        self.calls += 1
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
            self.forget(self.evaluate(expr[3][3], frame))
        arguments = Arguments(tuple(positional), tuple(keywords), open_positional, open_keywords)
        value = self.apply(function, arguments, frame, expr)
        return self.placed(value, frame, expr)

    def _positional(self, items: tuple[Expr, ...], frame: Frame) -> tuple[list[Value], bool]:
        values: list[Value] = []
        for index, item in enumerate(items):
            if item[0] != ir.STAR:
                values.append(self.evaluate(item, frame))
                continue
            inner = self.items_of(self.evaluate(item[3], frame))
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
                return self.invoke(target, _prepend(receiver, arguments), frame, expr)
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
                return self._call_instance(function, arguments, frame, expr)
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
                return self._unfollowed(arguments, "unknown-callee")

    def _unfollowed(self, arguments: Arguments, cause: str) -> Value:
        for value in arguments.positional:
            self.escape(value)
        for _, value in arguments.keywords:
            self.escape(value)
        return Unknown(cause)

    def _method(self, name: str, receiver: Value, arguments: Arguments, frame: Frame, expr: Expr | None) -> Value:
        positional, keywords = list(arguments.positional), list(arguments.keywords)
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
            return self._unfollowed(arguments, "starred")
        if isinstance(receiver, (Tensor, lattice.Array, lattice.DType, lattice.Device)):
            return self.operation(name, [receiver, *positional], keywords, frame, expr)
        found = self.call_method(name, receiver, positional, keywords, frame)
        if found is not None:
            return found
        self.escape(receiver)
        return self._unfollowed(arguments, "method")

    def operation(
        self, name: str, positional: list[Value], keywords: list[tuple[str, Value]], frame: Frame, expr: Expr | None
    ) -> Value:
        """An operation of torch or numpy, by rule."""
        plain = [self.plain(value) for value in positional]
        outcome = ops.call(name, plain, {key: self.plain(value) for key, value in keywords}, self.ambient)
        if isinstance(outcome, ops.NoRule):
            for value in (*positional, *(value for _, value in keywords)):
                self.escape(value)
            return Unknown("operation")
        return self.outcome(outcome, expr, frame, name)

    def outcome(self, outcome: ops.Outcome, expr: Expr | None, frame: Frame, callee: str) -> Value:
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
        if exceptions.BUILTIN.get(name) or name in exceptions.NAMED:
            return self.new("instance", InstanceObject((("args", Seq(tuple(positional))),)), name)
        return self._unfollowed(arguments, "library" if "." in name else "builtin")

    # Functions

    def invoke(self, function: Function, arguments: Arguments, frame: Frame, expr: Expr | None) -> Value:
        """Bind and run a function of followed source."""
        unit = function.unit
        bound = bind(unit, arguments)
        if isinstance(bound, BindingFailure):
            raise Raising(
                "TypeError",
                (bound.message,),
                frame,
                implicit="binding",
                rule=bound.rule,
                callee=function.dotted,
                param=bound.param,
                condition=f"def {unit.name}{self.signature(function)}",
            )
        self.resolved += 1
        if expr is not None:
            self.followed.add(frame.base + expr[1])
        if not self.deep and not self._worth_running(unit, bound.values):
            return self._unfollowed(arguments, "no-facts")
        if frame.depth >= MAX_DEPTH or self._recursion(function, frame) >= RECURSION_LIMIT:
            return self._unfollowed(arguments, "depth")
        values = dict(bound.values)
        inner = Frame(
            function,
            function.module,
            unit.base,
            values,
            function.closure,
            frame,
            frame.depth + 1,
            owner=function.owner,
            quiet=frame.quiet,
        )
        self._defaults(function, bound.unsure, values)
        if bound.rest is not None:
            name, gathered = bound.rest
            pairs = None if gathered is None else tuple((Const(key), value) for key, value in gathered)
            values[name] = self.new("dict", DictObject(pairs))
        if unit.is_async or unit.body.generator:
            return Callable(Pending(function, tuple(values.items()), unit.body.generator), unit.qualname)
        key = self._memo_key(function, values, frame)
        if key is None:
            return self.run_frame(inner, frame)
        known = self.scopes.results.get(key)
        if known is None:
            known = self._remember(key, inner, frame)
        elif known is BUSY:
            return Unknown("recursion")
        frame.unsure = frame.unsure or known.unsure
        return known.value

    def _worth_running(self, unit: FunctionUnit, values: dict[str, Value]) -> bool:
        """Whether an argument carries a fact. A function that gets none, and no object either, is run once for all."""
        objects = False
        for index, value in enumerate(values.values()):
            match value:
                case Unknown():
                    continue
                case Ref(kind="instance") if index == 0 and unit.name == "__init__":
                    objects = True
                case Ref(kind="instance"):
                    contents = self.contents(value)
                    if isinstance(contents, InstanceObject) and contents.exact and not contents.open:
                        return True
                    objects = True
                case Ref():
                    if self.items_of(value):
                        return True
                    objects = True
                case _:
                    return True
        return not objects

    def _memo_key(self, function: Function, values: dict[str, Value], frame: Frame) -> object | None:
        """What the result of a call depends on, None where that cannot be told or is not worth keeping."""
        if function.closure is not None or function.module.path in self.live or frame.quiet:
            return None
        parts: list[object] = []
        for name, value in values.items():
            part = fact_key(value)
            if part is None:
                return None
            parts.append((name, part))
        return (function.unit, tuple(parts), self.ambient, self.replaced)

    def _remember(self, key: object, inner: Frame, frame: Frame) -> Result:
        self.scopes.results[key] = BUSY
        unsure, frame.unsure = frame.unsure, False
        try:
            value = self.run_frame(inner, frame)
        except BaseException:
            del self.scopes.results[key]
            raise
        result = Result(value, frame.unsure)
        frame.unsure = frame.unsure or unsure
        if fact_key(value) is None:
            del self.scopes.results[key]
        else:
            self.scopes.results[key] = result
        return result

    def signature(self, function: Function) -> str:
        """The parameter list as written, on one line."""
        shown = [
            " ".join(function.module.text(function.unit.base + p.start, function.unit.base + p.end).split())
            for p in function.unit.parameters
        ]
        return f"({', '.join(shown)})"

    def _defaults(self, function: Function, unsure: frozenset[str], values: dict[str, Value]) -> None:
        scope = function.closure or Frame(None, function.module, function.unit.base, {}, None, None, MAX_DEPTH - 1)
        for parameter in function.unit.parameters:
            if parameter.name in values or parameter.kind == units.VAR_KEYWORD:
                continue
            if parameter.name in unsure or parameter.default is None:
                values[parameter.name] = Unknown("starred")
                continue
            try:
                values[parameter.name] = self.evaluate(parameter.default, scope)
            except Raising:
                values[parameter.name] = Unknown("default")

    def _recursion(self, function: Function, frame: Frame) -> int:
        count = 0
        current: Frame | None = frame
        while current is not None:
            count += current.function is not None and current.function.unit is function.unit
            current = current.caller
        return count

    def run_frame(self, inner: Frame, caller: Frame) -> Value:
        """Run a prepared frame, and take its value, its raise and its effects."""
        assert inner.function is not None  # noqa: S101 states what the caller has checked
        unit = inner.function.unit
        body = unit.body
        inner.local, inner.rebound = body.assigned, body.rebound
        inner.derived = derived(unit)
        before = self.heap
        newest = fresh_uid()
        self.heap = dict(before)
        falls = self.block(body.block, inner)
        if falls:
            inner.returns.append((lattice.NONE, self.heap))
        if inner.returns:
            caller.unsure = caller.unsure or inner.unsure or bool(inner.raises)
            value, heap = inner.returns[0]
            for other, other_heap in inner.returns[1:]:
                value = lattice.join(value, other)
                heap = join_heaps(heap, other_heap)
            self.heap = self._kept_heap(heap, before, newest, value)
            # None is what is left where the paths that give something seem to raise: too little to build on.
            raised, inner.raises = bool(inner.raises), []
            return Unknown("some-path-raises") if raised and value == lattice.NONE else value
        if inner.raises:
            # The last one is reached where the guards before it pass, which undecided guards mostly do.
            last = inner.raises[-1]
            if len(inner.raises) > 1:
                last.levels = tuple(
                    replace(level, unsure=True) if level.frame is inner else level for level in last.levels
                )
                last.alternatives = tuple(dict.fromkeys(r.cls for r in inner.raises if r is not last))
            # A raise holds its frames: a frame that held its raises would never be freed without a collector.
            inner.raises = []
            raise last
        return Unknown("no-return")

    def _kept_heap(
        self, heap: dict[int, HeapObject], before: dict[int, HeapObject], newest: int, value: Value
    ) -> dict[int, HeapObject]:
        """The heap without objects that died with the callee; a heap that only grows makes every branch dear."""
        if len(heap) - len(before) < KEPT_GARBAGE:
            return heap
        reached: set[int] = set()
        roots: list[Value] = [value]
        for uid, contents in heap.items():
            if uid < newest and before.get(uid) is not contents:
                roots.extend(held_by(contents))
        while roots:
            match roots.pop():
                case Ref(uid=uid) if uid not in reached:
                    reached.add(uid)
                    if uid in heap:
                        roots.extend(held_by(heap[uid]))
                case Seq(items=items) | Union(options=items):
                    roots.extend(items)
                case Callable(target=Function(closure=None) | Class(closure=None) | EnumMember() | ModuleObject()):
                    pass
                case Callable():
                    return heap
                case _:
                    pass
        return {uid: contents for uid, contents in heap.items() if uid < newest or uid in reached}

    def run_pending(self, pending: Pending, frame: Frame) -> Value:
        """Run the body of a coroutine, or of a generator up to its first `yield`."""
        if frame.depth >= MAX_DEPTH:
            return Unknown("depth")
        function = pending.function
        inner = Frame(
            function,
            function.module,
            function.unit.base,
            dict(pending.arguments),
            function.closure,
            frame,
            frame.depth + 1,
            owner=function.owner,
            quiet=frame.quiet,
        )
        try:
            value = self.run_frame(inner, frame)
        except Raising:
            if inner.yielded:
                return Unknown("generator")
            raise
        return Unknown("generator") if pending.generator else value

    # Instances

    def instantiate(self, cls: Class, arguments: Arguments, frame: Frame, expr: Expr | None) -> Value:
        """Make an instance of a followed class."""
        order = self.order(cls)
        if UNKNOWN_BASE in order or any(name == "metaclass" for name, _ in cls.unit.keywords):
            return self._unfollowed(arguments, "unknown-base")
        if self.is_enum(cls) or self.find_own(cls, "__new__"):
            return self._unfollowed(arguments, "constructor")
        fields = self.data_fields(cls)
        if fields is not None and self.open_class(cls):
            return self._unfollowed(arguments, "unknown-base")
        if fields is not None:
            return self.make_data(cls, fields, arguments, frame, expr)
        ref = self.new("instance", InstanceObject(open=self._base_adds_attributes(cls)), cls)
        if exceptions.is_exception(self.class_chain(cls)):
            self.store_attribute(ref, "args", Seq(arguments.positional), frame)
        member = self.find_member(cls, "__init__")
        match member:
            case (Callable(target=Function() as init), _):
                self.invoke(init, _prepend(ref, arguments), frame, expr)
            case None:
                if arguments.positional or arguments.keywords:
                    raise Raising(
                        "TypeError",
                        (f"{cls.unit.name}() takes no arguments",),
                        frame,
                        implicit="binding",
                        rule="call-too-many-arguments",
                        callee=cls.dotted,
                    )
            case (Named(), str() as base) if base in exceptions.BUILTIN:
                pass
            case (Named(), str() as base) if base == MODULE_CLASS:
                self.call_method(f"{MODULE_CLASS}.__init__", ref, [], [], frame)
            case _:
                self._unfollowed(arguments, "constructor")
                self.escape(ref)
        return ref

    def find_own(self, cls: Class, name: str) -> bool:
        """Whether a followed class of the MRO defines `name` itself."""
        return any(isinstance(base, Class) and name in self.members(base) for base in self.order(cls))

    def _base_adds_attributes(self, cls: Class) -> bool:
        return self.open_class(cls) and not self.is_module_class(cls)

    def _call_instance(self, ref: Ref, arguments: Arguments, frame: Frame, expr: Expr | None) -> Value:
        cls = ref.cls
        if not isinstance(cls, Class):
            return self._unfollowed(arguments, "unknown-callee")
        contents = self.contents(ref)
        if not isinstance(contents, InstanceObject) or not contents.exact:
            self.escape(ref)
            return self._unfollowed(arguments, "virtual")
        name = "forward" if self.is_module_class(cls) and not self.find_own(cls, "__call__") else "__call__"
        member = self.find_member(cls, name)
        if member is not None and isinstance(member[0], Callable) and isinstance(member[0].target, Function):
            return self.invoke(member[0].target, _prepend(ref, arguments), frame, expr)
        self.escape(ref)
        return self._unfollowed(arguments, "unknown-callee")

    def class_chain(self, cls: Class | str) -> tuple[Class | str, ...]:
        """An exception class and its bases."""
        return exceptions.bases(cls, self.order(cls) if isinstance(cls, Class) else ())

    # Raising and exceptions

    def exception_of(self, value: Value, frame: Frame, expr: Expr) -> tuple[Class | str, tuple[str | HolePart, ...]]:
        """Class and message of what a `raise` raises."""
        match value:
            case Named(name=name):
                return name, ()
            case Callable(target=Class() as cls):
                instance = self.instantiate(cls, Arguments((), ()), frame, expr)
                return self.exception_of(instance, frame, expr) if isinstance(instance, Ref) else (cls, ())
            case Ref(kind="instance", cls=Class() | str() as kind):
                text = self.exception_text(value)
                parts = (
                    strings.str_parts(text, self.source(frame, expr)) if text is not None else strings.hole("message")
                )
                return kind, parts
            case _:
                return "", strings.hole(self.source(frame, expr))

    def exception_text(self, value: Ref) -> Value | None:
        """`str()` of an exception instance, None where the object is no exception or the text is not known."""
        cls = value.cls
        if isinstance(cls, Class) and (
            self.find_own(cls, "__str__") or not exceptions.is_exception(self.class_chain(cls))
        ):
            return None
        contents = self.contents(value)
        arguments = contents.get("args") if isinstance(contents, InstanceObject) else None
        if not isinstance(arguments, Seq):
            return None
        match arguments.items:
            case ():
                return Const("")
            case (single,):
                printable = self.printable(single)
                if "KeyError" in self.class_chain(cls):
                    return strings.to_value(strings.repr_parts(printable, "key"))
                if isinstance(printable, (Const, Text)):
                    return printable if isinstance(printable, Text) else Const(str(printable.value))
                return strings.to_value(self.text_of(single, "s", "", "message"))
            case _:
                return strings.to_value(strings.repr_parts(self.printable(arguments), "args"))

    # Decorators

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


def fact_key(value: Value) -> object | None:
    """A hashable stand-in for what is known of a value, its provenance included; None for mutable objects."""
    match value:
        case Unknown():
            return "?"
        case Tensor():
            return (value, value.dtype_site, value.shape_site, value.device_site)
        case Seq(items=items) | Union(options=items):
            keys = tuple(fact_key(item) for item in items)
            return None if None in keys else (type(value), getattr(value, "kind", ""), keys)
        case Ref():
            return None
        case Callable(target=target):
            if isinstance(target, (Function, Class)):
                return target if target.closure is None else None
            return value if isinstance(target, EnumMember) else None
        case _:
            return value


def _is_chain(expr: Expr) -> bool:
    """Whether an expression is a name, or attributes of one."""
    while expr[0] == ir.ATTRIBUTE:
        expr = expr[3]
    return bool(expr[0] == ir.NAME)


def _prepend(receiver: Value, arguments: Arguments) -> Arguments:
    return Arguments(
        (receiver, *arguments.positional), arguments.keywords, arguments.open_positional, arguments.open_keywords
    )


def held_by(contents: HeapObject) -> tuple[Value, ...]:
    """The values that an object holds."""
    match contents:
        case ListObject(items=items) | SetObject(items=items):
            return items or ()
        case DictObject(items=pairs):
            return tuple(item for pair in pairs or () for item in pair)
        case InstanceObject(attributes=attributes):
            return tuple(item for _, item in attributes)
        case _:
            assert_never(contents)


__all__ = ["Calls"]
