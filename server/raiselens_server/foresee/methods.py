"""Methods of builtin types, and those of torch.nn.Module that guards depend on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from raiselens_server.foresee import exceptions, strings
from raiselens_server.foresee.attributes import Attributes
from raiselens_server.foresee.containers import Containers
from raiselens_server.foresee.module_class import MODULE_CLASS
from raiselens_server.foresee.objects import (
    DictObject,
    InstanceObject,
    ListObject,
)
from raiselens_server.values import dims, lattice
from raiselens_server.values.dtypes import FLOATING
from raiselens_server.values.lattice import (
    Const,
    Opaque,
    Ref,
    Seq,
    Tensor,
    Union,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from raiselens_server.foresee.binding import Keywords
    from raiselens_server.foresee.frames import Frame

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


_LONGEST_TEXT: Final = 1 << 16
"""Characters of text that are followed; what could be longer is some text."""


_CASTS: Final = {"half": "float16", "float": "float32", "double": "float64", "bfloat16": "bfloat16"}


class Methods(Containers, Attributes):
    """Calls methods by name."""

    def call_method(
        self, name: str, receiver: Value, positional: list[Value], keywords: Keywords, frame: Frame
    ) -> Value | None:
        """A method of a builtin type; None where there is no rule."""
        kind, _, method = name.partition(".")
        if method == "sort":
            for _, value in keywords:
                self.escape(value)
        match kind:
            case "list":
                return self._list_method(method, receiver, positional, frame)
            case "dict":
                return self._dict_method(method, receiver, positional, keywords)
            case "set":
                return self.set_method(method, receiver, positional, frame) if isinstance(receiver, Ref) else None
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
            case "half" | "float" | "double" | "bfloat16" if not args:
                self._cast_module(receiver, _CASTS[method], set())
                return receiver
            case "register_buffer" | "register_parameter" if len(args) > 1 and isinstance(args[0], Const):
                self.store_attribute(receiver, str(args[0].value), args[1], frame)
                return lattice.NONE
            case "parameters" | "named_parameters" | "state_dict" | "buffers" | "extra_repr":
                return Unknown("method")
            case _:
                return None

    def _cast_module(self, receiver: Ref, dtype: str, seen: set[int]) -> None:
        """Cast the floating parameters of a module in place; what is no parameter may be a buffer, or stay as it is."""
        contents = self.contents(receiver)
        if receiver.uid in seen or not isinstance(contents, InstanceObject):
            return
        seen.add(receiver.uid)
        cast: list[tuple[str, Value]] = []
        for name, value in contents.attributes:
            made = value
            if isinstance(value, Tensor) and value.dtypes & FLOATING:
                names = frozenset({dtype}) if value.dtypes <= FLOATING else value.dtypes | {dtype}
                made = replace(value, dtypes=names if value.parameter else names | value.dtypes, dtype_site=None)
            elif isinstance(value, Ref) and value.kind == "instance":
                self._cast_module(value, dtype, seen)
            elif isinstance(value, (Ref, Union)):
                made = Unknown("cast")
            cast.append((name, made))
        self.heap[receiver.uid] = replace(contents, attributes=tuple(cast))

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
            case "index":
                return self.index_in(items, args)
            case "count":
                return Opaque("int")
            case _:
                self.heap[receiver.uid] = ListObject(None)
                return Unknown("method")

    def _dict_method(self, method: str, receiver: Value, args: list[Value], keywords: Keywords) -> Value | None:
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
            case "update" if pairs is not None and (added := self._dict_items(args, keywords)) is not None:
                self.heap[receiver.uid] = DictObject(tuple((dict(pairs) | added).items()))
                return lattice.NONE
            case "clear":
                self.heap[receiver.uid] = DictObject(())
                return lattice.NONE
            case "setdefault" | "update" | "pop" | "popitem":
                self.heap[receiver.uid] = DictObject(None)
                return Unknown("method")
            case _:
                return None

    def _dict_items(self, args: list[Value], keywords: Keywords) -> dict[Value, Value] | None:
        """What `d.update(…)` puts in; None where that is not known."""
        added: dict[Value, Value] = {}
        if args:
            contents = self.contents(args[0]) if len(args) == 1 and isinstance(args[0], Ref) else None
            if not isinstance(contents, DictObject) or contents.items is None:
                return None
            added.update(contents.items)
        added.update((Const(name), value) for name, value in keywords)
        return added

    def _dict_get(self, contents: Any, pairs: tuple[tuple[Value, Value], ...] | None, args: list[Value]) -> Value:
        if pairs is None:
            return Unknown("item")
        default = args[1] if len(args) > 1 else lattice.NONE
        answers = [(self.equal(args[0], key), value) for key, value in pairs]
        for answer, value in answers:
            if answer is True:
                return value
        return default if all(answer is False for answer, _ in answers) else Unknown("item")

    def _str_method(self, method: str, receiver: Value, args: list[Value], keywords: Keywords) -> Value | None:
        if isinstance(receiver, Const) and isinstance(receiver.value, str):
            if method == "format":
                return self._format(receiver.value, args, keywords)
            constants = [arg.value for arg in args if isinstance(arg, Const)]
            if len(constants) == len(args) and not keywords and method in _PURE_STR:
                if _could_be_vast(method, receiver.value, constants):
                    return Opaque("str")
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
        if sum(len(part) for part in parts if isinstance(part, str)) > _LONGEST_TEXT:
            return Opaque("str")
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


def _could_be_vast(method: str, text: str, arguments: list[Any]) -> bool:
    """Whether a method of `text` could give text longer than any program's own: padded, or with much for little."""
    match method, arguments:
        case "zfill", [int() as width]:
            return width > _LONGEST_TEXT
        case "replace", [_, str() as new, *_]:
            return (len(text) + 1) * len(new) > _LONGEST_TEXT
        case _:
            return False
