"""Builtins and the few functions of the standard library that guards lean on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from raiselens_server.foresee import strings
from raiselens_server.foresee.attributes import Attributes
from raiselens_server.foresee.binding import Arguments
from raiselens_server.foresee.core import fresh_uid
from raiselens_server.foresee.frames import Condition, Raising
from raiselens_server.foresee.loops import UNROLL_LIMIT
from raiselens_server.foresee.objects import (
    Bound,
    Class,
    DictObject,
    Function,
    InstanceObject,
    ListObject,
    Partial,
)
from raiselens_server.source import ir
from raiselens_server.values import dims, lattice
from raiselens_server.values.lattice import (
    Array,
    Callable,
    Const,
    DType,
    Int,
    Named,
    Opaque,
    Ref,
    Seq,
    Tensor,
    Text,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Callable as Handler

    from raiselens_server.foresee.binding import Keywords
    from raiselens_server.foresee.frames import Frame


_LARGEST: Final = 1 << 63
_LONGEST_NUMBER: Final = 64
"""Characters of a text that is read as a number."""
_EXITS: Final = frozenset(
    {"sys.exit", "os._exit", "exit", "quit", "os.abort", "pytest.skip", "pytest.fail", "pytest.exit"}
)

_CALLS_BACK: Final = frozenset({"sorted", "min", "max"})
"""Builtins that call what they are given, at any time and on anything."""


def _extreme(largest: bool) -> Handler[[Any, list[Value], dict[str, Value], Frame], Value]:
    def run(self: Builtins, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        items = self.iterate(args[0], frame) if len(args) == 1 else tuple(args)
        if kw or not items:
            return Unknown("builtin")
        numbers = [item.value for item in items if isinstance(item, Const) and isinstance(item.value, (int, float))]
        if len(numbers) == len(items):
            return Const(max(numbers) if largest else min(numbers))
        return Opaque("int") if all(lattice.as_dim(item) is not None for item in items) else Unknown("builtin")

    return run


def _collection(kind: str) -> Handler[[Any, list[Value], dict[str, Value], Frame], Value]:
    def run(self: Builtins, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        items = self.iterate(args[0], frame) if args else ()
        match kind:
            case "list":
                return self.new("list", ListObject(items, self.element_of(args[0]) if args else None))
            case "set" | "frozenset":
                return self.new_set(items, kind)
            case _:
                return Opaque(kind) if items is None else Seq(items, kind)

    return run


def _math(name: str) -> Handler[[Any, list[Value], dict[str, Value], Frame], Value]:
    """A pure function of the standard library on constants."""

    def run(self: Builtins, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        numbers = [arg.value for arg in args if isinstance(arg, Const) and isinstance(arg.value, (int, float))]
        if kw or len(numbers) != len(args) or any(abs(number) > _LARGEST for number in numbers):
            return Unknown("builtin")
        try:
            return Const(getattr(math, name)(*numbers))
        except (TypeError, ValueError, OverflowError):
            return Unknown("builtin")

    return run


def _all_any(stop: bool) -> Handler[[Any, list[Value], dict[str, Value], Frame], Value]:
    def run(self: Builtins, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        items = self.iterate(args[0], frame)
        if items is None:
            return Opaque("bool")
        answers = [self.truth(item) for item in items]
        if stop in answers:
            return Const(stop)
        return Opaque("bool") if None in answers else Const(not stop)

    return run


class Builtins(Attributes):
    """Builtin functions, and methods of builtin types."""

    def call_builtin(self, name: str, positional: list[Value], keywords: Keywords, frame: Frame) -> Value | None:
        """A builtin function or class; None where there is no rule."""
        if name in _EXITS:
            return Unknown("no-return")
        if name.startswith("torch._check"):
            return self._torch_check(name, positional, keywords, frame)
        handler = self._builtins.get(name)
        if handler is None:
            return None
        if name in _CALLS_BACK:
            given = (*positional, *(value for _, value in keywords))
            self.may_change(given, given, frame)
            for value in given:
                if isinstance(value, Callable):
                    self.escape(value)
        try:
            return handler(self, positional, dict(keywords), frame)
        except (IndexError, KeyError):
            return Unknown("builtin")

    # Types

    # Numbers and texts

    def _builtin_int(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        if not args:
            return Const(0)
        value = self.as_size(args[0])
        match value:
            case Const(value=bool() | int() | float() as number):
                return Const(int(number)) if number == number and abs(number) != float("inf") else Opaque("int")  # noqa: PLR0124 NaN
            case Const(value=str() as text) if len(args) == 1 and not kw and len(text) <= _LONGEST_NUMBER:
                return self._number(int, text, frame)
            case Int():
                return value
            case _:
                return self._fresh("int", None)

    def _number(self, kind: type[int | float], text: str, frame: Frame) -> Value:
        try:
            return Const(kind(text))
        except ValueError as error:
            self.refused(error, frame)
            return Opaque(kind.__name__)

    def _fresh(self, name: str, minimum: int | None) -> Int:
        return Int(dims.of_symbol(dims.Symbol(name, fresh_uid(), minimum)))

    def _builtin_float(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        match args:
            case [Const(value=bool() | int() | float() as number)]:
                return Const(float(number))
            case [Const(value=str() as text)] if len(text) <= _LONGEST_NUMBER:
                return self._number(float, text, frame)
            case _:
                return Opaque("float")

    def _builtin_str(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        if not args:
            return Const("")
        return strings.to_value(self.text_of(args[0], "s", "", "value")) if len(args) == 1 else Opaque("str")

    def _builtin_repr(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        return strings.to_value(self.text_of(args[0], "r", "", "value"))

    def _builtin_bool(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        answer = self.truth(args[0]) if args else False
        return Opaque("bool") if answer is None else Const(answer)

    def _builtin_abs(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        match args[0]:
            case Const(value=int() | float() as number):
                return Const(abs(number))
            case _:
                return Unknown("builtin")

    def _builtin_sum(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        items = self.iterate(args[0], frame)
        if items is None or len(args) > 1:
            return Unknown("builtin")
        total: dims.Dim = 0
        for item in items:
            dim = lattice.as_dim(item)
            if dim is None:
                return Unknown("builtin")
            total = dims.add(total, dim)
        return lattice.from_dim(total)

    def _builtin_round(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        match args:
            case [Const(value=int() | float() as number)] if abs(number) != float("inf"):
                return Const(round(number))
            case _:
                return Unknown("builtin")

    def _divmod_ceil(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        match args:
            case [Const(value=int() as a), Const(value=int() as b)] if b:
                return Const(-(-a // b))
            case [Const(value=int()) | Int() | Opaque(type="int"), Const(value=int()) | Int() | Opaque(type="int")]:
                return Opaque("int")
            case _:
                return Unknown("builtin")

    def _builtin_prod(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        items = self.iterate(args[0], frame)
        total: dims.Dim | None = 1
        for item in items or (Unknown("item"),):
            total = dims.multiply(total, lattice.as_dim(item))
        return lattice.from_dim(total)

    # Containers

    def _builtin_len(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        value = args[0]
        items = self.items_of(value)
        if items is not None:
            return Const(len(items))
        match value:
            case Tensor(shape=shape) | Array(shape=shape) if shape:
                return lattice.from_dim(shape[0]) if shape[0] is not None else self._fresh("len", 0)
            case Tensor(shape=()) | Array(shape=()):
                raise Raising(
                    "TypeError", ("len() of a 0-d tensor",), frame, implicit="operation", callee="torch.Tensor.__len__"
                )
            case Unknown(path=str() as path):
                return Unknown("parameter", f"len({path})")
            case Ref(kind="instance"):
                return self._counted(value, frame)
            case _:
                return self._fresh("len", 0)

    def _counted(self, value: Ref, frame: Frame) -> Value:
        """What an object's own `__len__` gives."""
        method = self.load_attribute(value, "__len__", frame)
        if not isinstance(method, Callable) or not isinstance(method.target, Bound):
            return self._fresh("len", 0)
        length = self.call(method, [], [], frame)
        return length if lattice.as_dim(length) is not None else self._fresh("len", 0)

    def _builtin_range(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        numbers = [arg.value for arg in args if isinstance(arg, Const) and isinstance(arg.value, int)]
        if len(numbers) == len(args) and 1 <= len(args) <= 3 and not (len(args) == 3 and numbers[2] == 0):
            return Const(range(*numbers))
        return Opaque("range")

    def _builtin_dict(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        pairs: dict[Value, Value] | None = {}
        if args:
            contents = self.contents(args[0]) if isinstance(args[0], Ref) else None
            known = isinstance(contents, DictObject) and contents.items is not None
            pairs = dict(contents.items or ()) if known and isinstance(contents, DictObject) else None
        if pairs is not None:
            pairs.update({Const(name): value for name, value in kw.items()})
        return self.new("dict", DictObject(None if pairs is None else tuple(pairs.items())))

    def _builtin_enumerate(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        items = self.iterate(args[0], frame)
        start = kw.get("start", args[1] if len(args) > 1 else Const(0))
        element = self.element_of(args[0])
        if items is None and element is not None:
            return self.many(Seq((Opaque("int"), element)))
        if items is None or not isinstance(start, Const) or not isinstance(start.value, int):
            return Unknown("builtin")
        first = start.value
        return Seq(tuple(Seq((Const(first + i), item)) for i, item in enumerate(items)), "generator")

    def _builtin_zip(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        columns = [self.iterate(arg, frame) for arg in args]
        if any(column is None for column in columns):
            elements = [self.element_of(arg) for arg in args]
            known = any(element is not None for element in elements)
            return self.many(Seq(tuple(e or Unknown("builtin") for e in elements))) if known else Unknown("builtin")
        return Seq(tuple(Seq(row) for row in zip(*(c or () for c in columns), strict=False)), "generator")

    def _builtin_map(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        """`map` on known items, run at once. What its function raises, it raises when the result is asked for."""
        function, columns = args[0], [self.iterate(arg, frame) for arg in args[1:]]
        known = [column for column in columns if column is not None and len(column) <= UNROLL_LIMIT]
        if not known or len(known) < len(columns):
            self.not_followed(Arguments(tuple(args), ()), "builtin", frame)
            return Unknown("builtin")
        heap = dict(self.heap)
        try:
            results = [self.call(function, list(row), [], frame) for row in zip(*known, strict=False)]
        except Raising:
            self.heap = heap
            return Unknown("builtin")
        finally:
            self.escape(function)
        return Seq(tuple(results), "generator")

    def _builtin_reversed(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        items = self.iterate(args[0], frame)
        element = self.element_of(args[0])
        if items is None:
            return Unknown("builtin") if element is None else self.many(element)
        return Seq(items[::-1], "generator")

    def _builtin_sorted(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        items = self.iterate(args[0], frame)
        if items is None or kw:
            return self.new("list", ListObject(None))
        texts = [i.value for i in items if isinstance(i, Const) and isinstance(i.value, str)]
        numbers = [i.value for i in items if isinstance(i, Const) and isinstance(i.value, (int, float))]
        ordered = [*map(Const, sorted(texts)), *map(Const, sorted(numbers))]
        plain = len(items) in {len(texts), len(numbers)}
        return self.new("list", ListObject(tuple(ordered) if plain else None))

    # Objects

    def _builtin_getattr(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        match args:
            case [value, Const(value=str() as name)]:
                return self.load_attribute(value, name, frame)
            case [Ref(kind="instance"), Const(value=str() as name), default]:
                value = args[0]
                found = self.load_attribute(value, name, frame)
                contents = self.contents(value) if isinstance(value, Ref) else None
                surely = isinstance(contents, InstanceObject) and not contents.open and contents.exact
                closed = isinstance(value, Ref) and isinstance(value.cls, Class) and not self.open_class(value.cls)
                if isinstance(found, Unknown) and found.cause == "attribute" and surely and closed:
                    return default
                return found
            case _:
                return Unknown("getattr")

    def _builtin_hasattr(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        return Opaque("bool")

    def _builtin_setattr(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        match args:
            case [Ref(kind="instance") as value, Const(value=str() as name), new]:
                self.store_attribute(value, name, new, frame)
            case [receiver, Const(value=str() as name), new]:
                self.store_attribute(receiver, name, new, frame)
            case _:
                for each in args:
                    self.escape(each)
        return lattice.NONE

    def _builtin_eval(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value | None:
        """Text that no interpreter takes is refused before it runs; what other text does is not known."""
        mode = args[2] if len(args) > 2 else kw.get("mode", Const("eval"))
        if args and isinstance(mode, Const) and mode.value in {"eval", "exec"}:
            self._refuse_source(args[0], mode.value, frame)
        return None

    def _refuse_source(self, text: Value, mode: str, frame: Frame) -> None:
        error = strings.syntax_error(text, mode)
        if error is not None:
            self.refused(error, frame)

    def _builtin_exec(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        """What runs text, or hands out the scope itself, may bind any name of it."""
        if args:
            self._refuse_source(args[0], "exec", frame)
        live = self.live.get(frame.module.path)
        for scope in (frame, *((live,) if live is not None else ())):
            for name, value in scope.variables.items():
                if not isinstance(value, Callable):
                    scope.variables[name] = Unknown("exec")
        return Unknown("builtin")

    def _builtin_callable(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        match args[0]:
            case Callable(target=Function() | Class() | Bound()):
                return Const(True)
            case Const() | DType() | Tensor() | Seq():
                return Const(False)
            case _:
                return Opaque("bool")

    def _some_bool(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        return Opaque("bool")

    def _builtin_print(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        return lattice.NONE

    def _builtin_id(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        return Opaque("int")

    def _builtin_partial(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        return Callable(Partial(args[0], tuple(args[1:]), tuple(kw.items())), "partial")

    def _builtin_identity(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        return args[-1]

    def _builtin_cache(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        """The function itself; a size in its place, and what is called next is the decorator."""
        return args[0] if args and isinstance(args[0], Callable) else Named("functools.cache")

    def _builtin_wraps(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        return Named("functools.wraps")

    def _torch_check(self, name: str, args: list[Value], keywords: Keywords, frame: Frame) -> Value:
        kinds = {
            "torch._check": "RuntimeError",
            "torch._check_with": "",
            "torch._check_index": "IndexError",
            "torch._check_value": "ValueError",
            "torch._check_type": "TypeError",
            "torch._check_not_implemented": "NotImplementedError",
        }
        given = dict(keywords)
        test = args[0] if args else given.get("cond")
        cls = kinds.get(name, "")
        if test is None or not cls:
            return lattice.NONE
        self.statistics.guards_reached += 1
        answer = self.truth(test)
        if answer is None:
            frame.unsure = True
            return lattice.NONE
        self.statistics.guards_decided += 1
        if answer:
            return lattice.NONE
        message = args[1] if len(args) > 1 else given.get("message")
        parts: strings.Parts = ("Expected cond to be True, but got False",)
        if isinstance(message, Callable):
            parts = self.text_of(self.call(message, [], [], frame), "s", "", "message")
        elif isinstance(message, (Const, Text)) and message != lattice.NONE:
            parts = self.text_of(message, "s", "", "message")
        call = frame.statement
        test_expr = (
            call[3][4][0] if call is not None and len(call) > 3 and call[3][0] == ir.CALL and call[3][4] else None
        )
        text = "" if test_expr is None else self.source(frame, test_expr)
        if test_expr is not None:
            frame.conditions.append(Condition(test_expr, taken=False, derived=self.depends_on_caller(test_expr, frame)))
        raise Raising(cls, parts, frame, test=test_expr, condition=text)

    # Methods of builtin types

    _builtins: dict[str, Handler[[Any, list[Value], dict[str, Value], Frame], Value | None]] = {  # noqa: RUF012 a constant table
        "isinstance": lambda self, *args: self._builtin_isinstance(*args),
        "type": lambda self, *args: self._builtin_type(*args),
        "int": _builtin_int,
        "float": _builtin_float,
        "str": _builtin_str,
        "repr": _builtin_repr,
        "bool": _builtin_bool,
        "abs": _builtin_abs,
        "max": _extreme(largest=True),
        "min": _extreme(largest=False),
        "sum": _builtin_sum,
        "round": _builtin_round,
        "triton.cdiv": _divmod_ceil,
        "math.prod": _builtin_prod,
        **{f"math.{name}": _math(name) for name in ("ceil", "floor", "gcd", "isclose", "isqrt", "log2", "sqrt")},
        "len": _builtin_len,
        "range": _builtin_range,
        "list": _collection("list"),
        "tuple": _collection("tuple"),
        "set": _collection("set"),
        "frozenset": _collection("frozenset"),
        "dict": _builtin_dict,
        "enumerate": _builtin_enumerate,
        "zip": _builtin_zip,
        "map": _builtin_map,
        "reversed": _builtin_reversed,
        "sorted": _builtin_sorted,
        "all": _all_any(stop=False),
        "any": _all_any(stop=True),
        "getattr": _builtin_getattr,
        "hasattr": _builtin_hasattr,
        "setattr": _builtin_setattr,
        "callable": _builtin_callable,
        "eval": _builtin_eval,
        "compile": _builtin_eval,
        "exec": _builtin_exec,
        "globals": _builtin_exec,
        "print": _builtin_print,
        "torch.is_grad_enabled": _some_bool,
        "torch.is_inference_mode_enabled": _some_bool,
        "torch.cuda.is_available": _some_bool,
        "id": _builtin_id,
        "hash": _builtin_id,
        "functools.partial": _builtin_partial,
        "functools.wraps": _builtin_wraps,
        "typing.cast": _builtin_identity,
        "functools.lru_cache": _builtin_cache,
        "functools.cache": _builtin_cache,
        "collections.OrderedDict": _builtin_dict,
        "itertools.chain": lambda self, args, kw, frame: self.chained(args, frame),
    }
