"""Builtins and the few functions of the standard library that guards lean on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from raiselens_server.foresee import exceptions, strings
from raiselens_server.foresee.attributes import MODULE_CLASS, Attributes
from raiselens_server.foresee.core import settled
from raiselens_server.foresee.frames import Condition, Raising
from raiselens_server.foresee.objects import (
    Bound,
    Class,
    DictObject,
    EnumMember,
    Function,
    InstanceObject,
    ListObject,
    Partial,
    SetObject,
)
from raiselens_server.source import ir
from raiselens_server.values import dims, lattice
from raiselens_server.values.lattice import (
    Array,
    Callable,
    Const,
    Device,
    DType,
    Int,
    Named,
    Opaque,
    Ref,
    Seq,
    Tensor,
    Text,
    Union,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Callable as Handler

    from raiselens_server.foresee.frames import Frame

Keywords = list[tuple[str, Value]]

_TYPES_OF_CONST: Final[dict[type, tuple[str, ...]]] = {
    bool: ("bool", "int"),
    int: ("int",),
    float: ("float",),
    complex: ("complex",),
    str: ("str",),
    bytes: ("bytes",),
    range: ("range",),
    type(None): ("NoneType",),
}
_ABSTRACT: Final = {
    "numbers.Number": frozenset({"int", "float", "complex", "bool"}),
    "numbers.Integral": frozenset({"int", "bool"}),
    "numbers.Real": frozenset({"int", "float", "bool"}),
    "typing.Sequence": frozenset({"list", "tuple", "str", "bytes", "range", "torch.Size"}),
    "collections.abc.Sequence": frozenset({"list", "tuple", "str", "bytes", "range", "torch.Size"}),
    "collections.abc.Mapping": frozenset({"dict"}),
    "typing.Mapping": frozenset({"dict"}),
    "collections.abc.Iterable": frozenset({"list", "tuple", "str", "bytes", "range", "dict", "set", "torch.Size"}),
    "typing.Iterable": frozenset({"list", "tuple", "str", "bytes", "range", "dict", "set", "torch.Size"}),
}
_CLASSES: Final = frozenset(
    {
        "int",
        "float",
        "str",
        "bool",
        "list",
        "tuple",
        "dict",
        "set",
        "frozenset",
        "bytes",
        "complex",
        "range",
        "NoneType",
    }
)
_EXITS: Final = frozenset(
    {"sys.exit", "os._exit", "exit", "quit", "os.abort", "pytest.skip", "pytest.fail", "pytest.exit"}
)


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
                return self.new("list", ListObject(items))
            case "set" | "frozenset":
                return self.new_set(items, kind)
            case _:
                return Opaque(kind) if items is None else Seq(items, kind)

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
        try:
            return handler(self, positional, dict(keywords), frame)
        except (IndexError, KeyError):
            return Unknown("builtin")

    # Types

    def is_instance(self, value: Value, cls: Value) -> bool | None:
        """Whether `isinstance(value, cls)` must hold, cannot, or depends."""
        if isinstance(cls, Seq):
            answers = [self.is_instance(value, option) for option in cls.items]
            if True in answers:
                return True
            return False if all(answer is False for answer in answers) else None
        match value:
            case Union(options=options):
                found = {self.is_instance(option, cls) for option in options}
                return found.pop() if len(found) == 1 else None
            case Const(value=constant):
                return _named_type(_TYPES_OF_CONST.get(type(constant), ()), cls)
            case Int():
                return _named_type(("int",), cls, exact=False)
            case Text():
                return _named_type(("str",), cls)
            case Opaque(type=kind):
                return _named_type((kind,), cls)
            case Seq(kind="torch.Size"):
                return _named_type(("torch.Size", "tuple"), cls)
            case Seq(kind=kind):
                return _named_type((kind,), cls)
            case DType():
                return _named_type(("torch.dtype",), cls)
            case Device():
                return _named_type(("torch.device",), cls)
            case Array():
                return _named_type(("numpy.ndarray",), cls)
            case Tensor(parameter=parameter):
                names = ("torch.nn.Parameter", "torch.nn.parameter.Parameter", "torch.Tensor")
                return _named_type(names if parameter else ("torch.Tensor",), cls)
            case Ref(kind="instance", cls=Class() as own):
                return self._instance_of(value, own, cls)
            case Ref(kind="instance", cls=str() as name):
                return _named_type(tuple(str(b) for b in exceptions.bases(name, ())), cls)
            case Ref(kind=kind):
                return _named_type((kind,), cls)
            case _:
                return None

    def _instance_of(self, ref: Ref, own: Class, cls: Value) -> bool | None:
        order = self.order(own)
        contents = self.contents(ref)
        exact = isinstance(contents, InstanceObject) and contents.exact
        match cls:
            case Callable(target=Class() as wanted):
                if wanted in order:
                    return True
                return False if exact and "?" not in order else None
            case Named(name=name):
                if name in order or (name == "torch.nn.Module" and MODULE_CLASS in order):
                    return True
                known = name in _CLASSES or name in {"torch.Tensor", "torch.dtype", "torch.device"}
                return False if exact and known and not self.open_class(own) else None
            case _:
                return None

    def _builtin_isinstance(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        answer = self.is_instance(args[0], args[1])
        return Opaque("bool") if answer is None else Const(answer)

    def _builtin_type(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        if len(args) != 1:
            return Unknown("type")
        match args[0]:
            case Const(value=constant) if constant is not None:
                return Named(type(constant).__name__)
            case Ref(kind="instance", cls=Class() as cls):
                contents = self.contents(args[0])
                exact = isinstance(contents, InstanceObject) and contents.exact
                return Callable(cls, cls.dotted) if exact else Unknown("virtual")
            case Ref(kind="list" | "dict" | "set" as kind):
                return Named(kind)
            case Tensor(parameter=False):
                return Named("torch.Tensor")
            case Seq(kind="tuple" | "torch.Size" as kind):
                return Named(kind)
            case _:
                return Unknown("type")

    # Numbers and texts

    def _builtin_int(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        if not args:
            return Const(0)
        value = self.as_size(args[0])
        match value:
            case Const(value=bool() | int() | float() as number):
                return Const(int(number)) if number == number and abs(number) != float("inf") else Opaque("int")  # noqa: PLR0124 NaN
            case Const(value=str() as text) if len(args) == 1:
                return Const(int(text)) if text.strip().lstrip("+-").isdigit() else Opaque("int")
            case Int():
                return value
            case _:
                return self._fresh("int", None)

    def _fresh(self, name: str, minimum: int | None) -> Int:
        from raiselens_server.foresee.core import fresh_uid

        return Int(dims.of_symbol(dims.Symbol(name, fresh_uid(), minimum)))

    def _builtin_float(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        match args:
            case [Const(value=bool() | int() | float() as number)]:
                return Const(float(number))
            case [Const(value="inf" | "-inf" as text)]:
                return Const(float(text))
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
            case _:
                return self._fresh("len", 0)

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
        if items is None or not isinstance(start, Const) or not isinstance(start.value, int):
            return Unknown("builtin")
        first = start.value
        return Seq(tuple(Seq((Const(first + i), item)) for i, item in enumerate(items)), "generator")

    def _builtin_zip(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        columns = [self.iterate(arg, frame) for arg in args]
        if any(column is None for column in columns):
            return Unknown("builtin")
        return Seq(tuple(Seq(row) for row in zip(*(c or () for c in columns), strict=False)), "generator")

    def _builtin_reversed(self, args: list[Value], kw: dict[str, Value], frame: Frame) -> Value:
        items = self.iterate(args[0], frame)
        return Unknown("builtin") if items is None else Seq(items[::-1], "generator")

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
        self.guards_reached += 1
        answer = self.truth(test)
        if answer is None:
            frame.unsure = True
            return lattice.NONE
        self.guards_decided += 1
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

    def call_method(
        self, name: str, receiver: Value, positional: list[Value], keywords: Keywords, frame: Frame
    ) -> Value | None:
        """A method of a builtin type; None where there is no rule."""
        kind, _, method = name.partition(".")
        match kind:
            case "list":
                return self._list_method(method, receiver, positional, frame)
            case "dict":
                return self._dict_method(method, receiver, positional)
            case "set":
                return self._set_method(method, receiver, positional, frame)
            case "str":
                return self._str_method(method, receiver, positional, keywords)
            case "tuple" | "torch.Size" | "torch":
                return self._size_method(name, receiver, positional, frame)
            case _ if method in {"__init__", "__setattr__"} and isinstance(receiver, Ref):
                return self._base_method(kind, method, receiver, positional, frame)
            case _:
                return None

    def _base_method(self, base: str, method: str, receiver: Ref, args: list[Value], frame: Frame) -> Value | None:
        if method == "__init__" and base in exceptions.BUILTIN:
            self.store_attribute(receiver, "args", Seq(tuple(args)), frame)
            return lattice.NONE
        if method == "__setattr__" and len(args) == 2 and isinstance(args[0], Const):
            self.store_attribute(receiver, str(args[0].value), args[1], frame)
            return lattice.NONE
        return lattice.NONE if base == "object" else None

    def _size_method(self, name: str, receiver: Value, args: list[Value], frame: Frame) -> Value | None:
        if name == "torch.Size.numel" and isinstance(receiver, Seq):
            total: dims.Dim | None = 1
            for item in receiver.items:
                total = dims.multiply(total, lattice.as_dim(item))
            return lattice.from_dim(total)
        if name.startswith(MODULE_CLASS) and isinstance(receiver, Ref):
            return self._module_method(name.rpartition(".")[2], receiver, args, frame)
        return None

    def _module_method(self, method: str, receiver: Ref, args: list[Value], frame: Frame) -> Value | None:
        """The methods of torch.nn.Module that change what a guard may ask for: the mode, and who holds what."""
        match method:
            case "__init__":
                self.store_attribute(receiver, "training", Const(True), frame)
                return lattice.NONE
            case "train" | "eval":
                mode = Const(False) if method == "eval" else args[0] if args else Const(True)
                self.store_attribute(receiver, "training", mode, frame)
                for held in self._submodules(receiver):
                    self._module_method("train", held, [mode], frame)
                return receiver
            case "register_buffer" | "register_parameter" if len(args) > 1 and isinstance(args[0], Const):
                self.store_attribute(receiver, str(args[0].value), args[1], frame)
                return lattice.NONE
            case "parameters" | "named_parameters" | "state_dict" | "buffers" | "extra_repr":
                return Unknown("method")
            case _:
                return None

    def _submodules(self, receiver: Ref) -> list[Ref]:
        contents = self.contents(receiver)
        if not isinstance(contents, InstanceObject):
            return []
        return [v for _, v in contents.attributes if isinstance(v, Ref) and v.kind == "instance" and v != receiver]

    def _list_method(self, method: str, receiver: Value, args: list[Value], frame: Frame) -> Value | None:
        if not isinstance(receiver, Ref):
            return None
        items = self.items_of(receiver)
        match method:
            case "append" if len(args) == 1:
                self.heap[receiver.uid] = ListObject(None if items is None else (*items, args[0]))
                return lattice.NONE
            case "extend" if len(args) == 1:
                more = self.iterate(args[0], frame)
                self.heap[receiver.uid] = ListObject(None if items is None or more is None else items + more)
                return lattice.NONE
            case "copy":
                return self.new("list", ListObject(items))
            case "pop" if items and not args:
                self.heap[receiver.uid] = ListObject(items[:-1])
                return items[-1]
            case "clear":
                self.heap[receiver.uid] = ListObject(())
                return lattice.NONE
            case "index" | "count":
                return Opaque("int")
            case _:
                self.heap[receiver.uid] = ListObject(None)
                return Unknown("method")

    def _dict_method(self, method: str, receiver: Value, args: list[Value]) -> Value | None:
        if not isinstance(receiver, Ref):
            return None
        contents = self.contents(receiver)
        pairs = contents.items if isinstance(contents, DictObject) else None
        match method:
            case "get" if args:
                return self._dict_get(contents, pairs, args)
            case "keys" | "values" | "items":
                if pairs is None:
                    return Unknown("method")
                shown = {"keys": [k for k, _ in pairs], "values": [v for _, v in pairs]}
                return Seq(tuple(shown.get(method, [Seq(pair) for pair in pairs])), "generator")
            case "copy":
                return self.new("dict", contents)
            case "setdefault" | "update" | "pop" | "popitem" | "clear":
                self.heap[receiver.uid] = DictObject(None)
                return Unknown("method")
            case _:
                return None

    def _dict_get(self, contents: Any, pairs: tuple[tuple[Value, Value], ...] | None, args: list[Value]) -> Value:
        if pairs is None:
            return Unknown("item")
        default = args[1] if len(args) > 1 else lattice.NONE
        answers = [(self.equal(args[0], key), value) for key, value in pairs]
        for answer, value in answers:
            if answer is True:
                return value
        return default if all(answer is False for answer, _ in answers) else Unknown("item")

    def _set_method(self, method: str, receiver: Value, args: list[Value], frame: Frame) -> Value | None:
        if not isinstance(receiver, Ref):
            return None
        items = self.items_of(receiver)
        if method == "add" and len(args) == 1:
            known = items if items is None or args[0] in items else (*items, args[0])
            self.heap[receiver.uid] = SetObject(known if settled(args[0]) else None)
            return lattice.NONE
        self.heap[receiver.uid] = SetObject(None)
        return Unknown("method")

    def _str_method(self, method: str, receiver: Value, args: list[Value], keywords: Keywords) -> Value | None:
        if isinstance(receiver, Const) and isinstance(receiver.value, str):
            if method == "format":
                return self._format(receiver.value, args, keywords)
            constants = [arg.value for arg in args if isinstance(arg, Const)]
            if len(constants) == len(args) and not keywords and method in _PURE_STR:
                try:
                    result = getattr(receiver.value, method)(*constants)
                except (TypeError, ValueError):
                    return Unknown("method")
                if isinstance(result, (str, bool, int)):
                    return Const(result)
                if isinstance(result, (list, tuple)):
                    items = tuple(Const(part) for part in result)
                    return self.new("list", ListObject(items)) if isinstance(result, list) else Seq(items)
            if method == "join" and len(args) == 1:
                return self._join(receiver.value, args[0])
        if method in {"startswith", "endswith", "isdigit", "isidentifier"}:
            return Opaque("bool")
        return Opaque("str") if method in _PURE_STR or method == "join" else Unknown("method")

    def _join(self, separator: str, value: Value) -> Value:
        items = self.items_of(value)
        if items is None:
            return Opaque("str")
        parts: list[str | lattice.HolePart] = []
        for index, item in enumerate(items):
            if index:
                parts.append(separator)
            parts.extend(strings.str_parts(item, "item"))
        return strings.to_value(strings.merge(parts))

    def _format(self, template: str, args: list[Value], keywords: Keywords) -> Value:
        import string

        named = dict(keywords)
        parts: list[str | lattice.HolePart] = []
        count = 0
        try:
            for literal, field, spec, conversion in string.Formatter().parse(template):
                parts.append(literal)
                if field is None:
                    continue
                key = field or str(count)
                count += not field
                value = args[int(key)] if key.isdigit() else named.get(key)
                if value is None or (spec and "{" in spec):
                    parts.append(lattice.HolePart(key))
                    continue
                parts.extend(strings.formatted(self.printable(value), conversion or "", spec or "", key))
        except (ValueError, IndexError):
            return Opaque("str")
        return strings.to_value(strings.merge(parts))

    _builtins: dict[str, Handler[[Any, list[Value], dict[str, Value], Frame], Value]] = {  # noqa: RUF012 a constant table
        "isinstance": _builtin_isinstance,
        "type": _builtin_type,
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
        "len": _builtin_len,
        "range": _builtin_range,
        "list": _collection("list"),
        "tuple": _collection("tuple"),
        "set": _collection("set"),
        "frozenset": _collection("frozenset"),
        "dict": _builtin_dict,
        "enumerate": _builtin_enumerate,
        "zip": _builtin_zip,
        "reversed": _builtin_reversed,
        "sorted": _builtin_sorted,
        "all": _all_any(stop=False),
        "any": _all_any(stop=True),
        "getattr": _builtin_getattr,
        "hasattr": _builtin_hasattr,
        "setattr": _builtin_setattr,
        "callable": _builtin_callable,
        "print": _builtin_print,
        "torch.is_grad_enabled": _some_bool,
        "torch.is_inference_mode_enabled": _some_bool,
        "torch.cuda.is_available": _some_bool,
        "id": _builtin_id,
        "hash": _builtin_id,
        "functools.partial": _builtin_partial,
        "functools.wraps": _builtin_wraps,
        "typing.cast": _builtin_identity,
    }


_PURE_STR: Final = frozenset(
    {
        "lower",
        "upper",
        "strip",
        "lstrip",
        "rstrip",
        "replace",
        "split",
        "rsplit",
        "partition",
        "rpartition",
        "startswith",
        "endswith",
        "removeprefix",
        "removesuffix",
        "isdigit",
        "isdecimal",
        "isalpha",
        "isalnum",
        "isidentifier",
        "find",
        "count",
        "title",
        "capitalize",
        "zfill",
    }
)


def _named_type(names: tuple[str, ...], cls: Value, *, exact: bool = True) -> bool | None:
    """Whether a value whose classes are `names` is an instance of `cls`."""
    match cls:
        case Named(name="object"):
            return True
        case Named(name=name) if name in _ABSTRACT:
            return any(own in _ABSTRACT[name] for own in names)
        case Named(name=name):
            if name in names:
                return True
            if not exact and name == "bool":
                return None
            known = name in _CLASSES or name.startswith(("torch.", "numpy.")) or name in exceptions.BUILTIN
            return False if names and known else None
        case Callable(target=Class() as target):
            return False if names and not target.unit.keywords else None
        case Const(value=None):
            return "NoneType" in names
        case _:
            return None


__all__ = ["Builtins", "EnumMember"]
