"""Attributes: reading and writing them, classes and their MRO, descriptors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from raiselens_server.foresee import exceptions
from raiselens_server.foresee.core import Core
from raiselens_server.foresee.frames import Frame, Raising
from raiselens_server.foresee.module_class import MODULE_CLASS, module_has
from raiselens_server.foresee.objects import (
    Assumed,
    Bound,
    Class,
    Derived,
    EnumMember,
    Function,
    InstanceObject,
    ModuleObject,
    Super,
    Virtual,
    Wrapped,
)
from raiselens_server.foresee.volatile import answers_reads
from raiselens_server.source import ir
from raiselens_server.source.bindings import bound_by
from raiselens_server.values import ops
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
    from raiselens_server.source.ir import Expr, Stmt
    from raiselens_server.source.module import Module

UNKNOWN_BASE: Final = "?"
_ONLY_OF_TENSORS: Final = frozenset({"long", "int", "short"})
"""Methods that nothing but a tensor has: a module has no such casts, an array other names for them."""
_STABLE: Final = frozenset({"shape", "dtype", "device", "ndim"})
_PLAIN_BASES: Final = frozenset(
    {
        "object",
        "abc.ABC",
        "typing.Generic",
        "typing.Protocol",
        "typing_extensions.Protocol",
        "enum.Enum",
        "enum.IntEnum",
        "enum.StrEnum",
        "enum.Flag",
        "enum.IntFlag",
        "typing.NamedTuple",
        *exceptions.BUILTIN,
    }
)
"""Bases outside the followed source that add no attribute of interest."""
_ENUMS: Final = frozenset({"enum.Enum", "enum.IntEnum", "enum.StrEnum", "enum.Flag", "enum.IntFlag"})


class Attributes(Core):
    """Attribute access."""

    # Classes

    def order(self, cls: Class) -> tuple[Class | str, ...]:
        """The MRO; `?` stands for a base that is not known."""
        if cls.order is None:
            cls.order = (cls, UNKNOWN_BASE)
            sequences: list[list[Class | str]] = []
            direct: list[Class | str] = []
            frame = self.class_frame(cls)
            for base in cls.unit.bases:
                item = self._base(base, frame)
                direct.append(item)
                sequences.append(list(self.order(item)) if isinstance(item, Class) else [item])
            cls.order = (cls, *_merge([*sequences, direct]))
        return cls.order

    def _base(self, base: Expr, frame: Frame) -> Class | str:
        if base[0] == ir.SUBSCRIPT:
            base = base[3]
        try:
            value = self.evaluate(base, frame)
        except Raising:
            return UNKNOWN_BASE
        match value:
            case Callable(target=Class() as target):
                return MODULE_CLASS if target.dotted == "torch.nn.modules.module.Module" else target
            case Named(name=name):
                return name
            case _:
                return UNKNOWN_BASE

    def class_frame(self, cls: Class) -> Frame:
        """A frame to evaluate a class's bases and body in."""
        frame = Frame(None, cls.module, cls.unit.base, {}, cls.closure, None, 5, owner=cls)
        frame.quiet = 1
        return frame

    def open_class(self, cls: Class) -> bool:
        """Whether a base is unknown, so that any attribute may exist."""
        return any(isinstance(base, str) and base not in _PLAIN_BASES for base in self.order(cls))

    def is_module_class(self, cls: Class) -> bool:
        """Whether the class derives from torch.nn.Module."""
        return MODULE_CLASS in self.order(cls)

    def is_enum(self, cls: Class) -> bool:
        """Whether the class is an Enum."""
        return any(isinstance(base, str) and base in _ENUMS for base in self.order(cls))

    def members(self, cls: Class) -> dict[str, Value]:
        """The names bound in the class body itself."""
        if not cls.members and cls.unit.block:
            frame = self.class_frame(cls)
            frame.variables = cls.members
            cls.members["__module__"] = Const(cls.module.name)
            for statement in cls.unit.block:
                self._member(statement, cls, frame)
        return cls.members

    def _member(self, statement: Stmt, cls: Class, frame: Frame) -> None:
        try:
            match statement[0]:
                case ir.FUNCTION:
                    unit = statement[3]
                    function = Callable(Function(unit, cls.module, cls.closure, cls), f"{cls.dotted}.{unit.name}")
                    cls.members[unit.name] = self.decorate(function, unit.decorators, frame)
                case ir.ASSIGN:
                    value = self.evaluate(statement[4], frame)
                    for target in statement[3]:
                        if target[0] == ir.NAME:
                            cls.members[target[3]] = value
                        else:
                            cls.members.update({name: Unknown("class-body") for name in bound_by(statement)})
                case ir.ANNOTATED:
                    if statement[5] is not None and statement[3][0] == ir.NAME:
                        cls.members[statement[3][3]] = self.evaluate(statement[5], frame)
                case ir.CLASS:
                    inner = Class(statement[3], cls.module, cls.closure)
                    cls.members[inner.unit.name] = self.decorate(
                        Callable(inner, inner.dotted), statement[3].decorators, frame
                    )
                case ir.EXPRESSION | ir.PASS:
                    return
                case _:
                    from raiselens_server.source.module import flatten

                    for nested in flatten((statement,)):
                        cls.members.update({name: Unknown("class-body") for name in bound_by(nested)})
        except Raising:
            cls.members.update({name: Unknown("class-body") for name in bound_by(statement)})

    def find_member(self, cls: Class, name: str, after: Class | None = None) -> tuple[Value, Class | str] | None:
        """A class attribute by MRO and the class that has it; `(Unknown, "?")` where an unknown base may."""
        order = self.order(cls)
        if after is not None:
            places = [i for i, base in enumerate(order) if isinstance(base, Class) and base.unit is after.unit]
            if not places:
                return Unknown("super"), UNKNOWN_BASE
            order = order[places[0] + 1 :]
        for base in order:
            if isinstance(base, str):
                if base in _PLAIN_BASES:
                    if base in exceptions.BUILTIN and name in {"__init__", "args"}:
                        return Named(f"{base}.{name}"), base
                    continue
                if base == MODULE_CLASS:
                    if module_has(name):
                        return (Named(f"{base}.{name}"), base)
                    continue
                return Unknown("unknown-base"), base
            value = self.members(base).get(name)
            if value is not None:
                return value, base
        return None

    # Reading

    def load_attribute(self, value: Value, name: str, frame: Frame, expr: Expr | None = None) -> Value:
        """`value.name`."""
        match value:
            case Tensor() | Array() | DType() | Device():
                found = ops.attribute(value, name)
                if found is not None:
                    return found if expr is None else self.placed(found, frame, expr)
                kind = {Tensor: "torch.Tensor", Array: "numpy.ndarray", DType: "torch.dtype", Device: "torch.device"}
                method = f"{kind[type(value)]}.{name}"
                return Callable(Bound(method, value), name) if ops.knows(method) else Unknown("attribute")
            case Ref(kind="instance"):
                return self._instance_attribute(value, name, frame)
            case Ref(kind=kind):
                return Callable(Bound(f"{kind}.{name}", value), name)
            case Callable(target=target):
                return self._target_attribute(value, target, name, frame)
            case Named(name=dotted):
                if dotted == "__main__" or name in self.replaced:
                    return Unknown("attribute")
                return self.scopes.named(f"{dotted}.{name}", frame.module, self)
            case Unknown(path=str() as path) if name in _STABLE:
                return Unknown("parameter", f"{path}.{name}")
            case Unknown(path=str() as path) if name in {"size", "dim", "numel", "stride", "ndimension"}:
                return Callable(Bound(f"?.{name}", value), name)
            case Unknown() if name in _ONLY_OF_TENSORS:
                return Callable(Bound(f"torch.Tensor.{name}", Tensor()), name)
            case Unknown() if name == "to":
                return Callable(Bound("?.to", value), name)
            case Const(value=None):
                return self._none_attribute(name, frame, expr)
            case Const() | Text() | Int() | Opaque() | Seq():
                return self._builtin_attribute(value, name)
            case Union(options=options):
                return self.over_options(options, lambda option: self.load_attribute(option, name, frame, expr), frame)
            case _:
                return Unknown("unknown-receiver")

    def _none_attribute(self, name: str, frame: Frame, expr: Expr | None) -> Value:
        if name.startswith("__"):
            return Unknown("none")
        raise Raising(
            "AttributeError",
            (f"'NoneType' object has no attribute '{name}'",),
            frame,
            condition="" if expr is None else f"{self.source(frame, expr[3])} is None",
            implicit="none-attribute",
            rule="none-attribute",
            callee=name,
            offset=None if expr is None else frame.base + expr[1],
        )

    def _builtin_attribute(self, value: Value, name: str) -> Value:
        match value:
            case Const(value=constant):
                kind = type(constant).__name__
            case Text():
                kind = "str"
            case Int():
                kind = "int"
            case Opaque(type=kind):
                pass
            case Seq(items=(Tensor() as values, Tensor() as indices), kind=str() as kind) if name in {
                "values",
                "indices",
            } and kind.startswith("torch.return_types."):
                return values if name == "values" else indices
            case Seq(kind=kind):
                pass
            case _:
                kind = "?"
        if kind in {"int", "bool"} and name in {"real", "numerator"}:
            return value
        return Callable(Bound(f"{kind}.{name}", value), name)

    def _instance_attribute(self, ref: Ref, name: str, frame: Frame) -> Value:
        contents = self.contents(ref)
        cls = ref.cls
        if not isinstance(contents, InstanceObject):
            return Unknown("attribute")
        if name in self.replaced:
            return Unknown("patched")
        if name == "__class__":
            return Callable(cls, cls.dotted) if isinstance(cls, Class) and contents.exact else Unknown("class")
        if isinstance(cls, Class) and answers_reads(cls, self.order(cls)):
            return Unknown("attribute")
        found = contents.get(name)
        member = self.find_member(cls, name) if isinstance(cls, Class) else None
        if member is not None and isinstance(member[0], Callable) and isinstance(member[0].target, Wrapped):
            if contents.exact:
                return self._descriptor(member[0].target, ref, frame)
            return self._virtual_descriptor(member[0].target, ref, name)
        if member is not None and (
            (isinstance(member[0], Ref) and member[0].kind == "instance")
            or (isinstance(member[0], Unknown) and member[0].cause == "decorator")
        ):
            # An object in the class body may be a descriptor, which decides what is read.
            return Unknown("descriptor")
        if found is not None:
            return found
        if not isinstance(cls, Class):
            return Callable(Bound(f"{cls}.{name}", ref), name)
        if name == "__dict__":
            self.escape(ref)
        if name == "__dict__":
            return Unknown("attribute")
        stored = self.field(ref, cls, name, exact=contents.exact) if contents.open else None
        if stored is not None:
            return stored
        if member is None:
            return Unknown("attribute")
        value = member[0]
        if isinstance(value, Callable) and contents.open and is_assigned(frame.module, name):
            return Unknown("shadowed")
        of_field = any(field.name == name for field in self.data_fields(cls) or ())
        if not contents.exact:
            return Unknown("virtual") if of_field else self._virtual(value, ref, Assumed(cls, name))
        if isinstance(value, Callable) and isinstance(value.target, Function):
            # A generated constructor puts a field's default on the instance, where a function is bound to nobody.
            return value if of_field else Callable(Bound(value.target, ref), value.name)
        if isinstance(value, Named):
            return Callable(Bound(value.name, ref), name)
        return Unknown("class-default") if contents.open else value

    def _descriptor(self, wrapped: Wrapped, ref: Ref, frame: Frame) -> Value:
        match wrapped.kind:
            case "property":
                return self.call(wrapped.function, [ref], [], frame)
            case "staticmethod":
                return wrapped.function
            case _:
                cls = Callable(ref.cls, "cls")
                return self._bind(wrapped.function, cls)

    def _virtual(self, value: Value, receiver: Value | None, assumed: Assumed) -> Value:
        """A method of an object that may be of a derived class; its data may be anything there."""
        if isinstance(value, Callable) and isinstance(value.target, Function):
            return Callable(Virtual(value.target, receiver, assumed), value.name)
        return Unknown("virtual")

    def _virtual_descriptor(self, wrapped: Wrapped, ref: Ref, name: str) -> Value:
        match wrapped.kind:
            case "classmethod":
                return self._virtual(wrapped.function, Unknown("class"), Assumed(ref.cls, name))
            case "staticmethod":
                return self._virtual(wrapped.function, None, Assumed(ref.cls, name))
            case _:
                return Unknown("virtual")

    def _bind(self, function: Value, receiver: Value) -> Value:
        if isinstance(function, Callable) and isinstance(function.target, Function):
            return Callable(Bound(function.target, receiver), function.name)
        return Unknown("descriptor")

    def _target_attribute(self, value: Callable, target: object, name: str, frame: Frame) -> Value:
        match target:
            case ModuleObject(module=module):
                if name in self.replaced or (module.path, name) in self.patched:
                    return Unknown("patched")
                live = self.live.get(module.path)
                if live is not None and name in live.variables:
                    return live.variables[name]
                found = self.scopes.attribute(module, name, self)
                if found is not None and found != Unknown("module-getattr"):
                    return found
                inner = self.scopes.submodule(f"{module.name}.{name}", frame.module)
                return inner or found or Unknown("attribute")
            case Class():
                return self._class_attribute(target, name)
            case Derived(cls=cls):
                return self._derived_attribute(value, cls, name)
            case Function(unit=unit):
                # Who looks at these changes them: the function is not called as it was written.
                unit.rewritten = unit.rewritten or name in {"__kwdefaults__", "__code__"}
                if name in {"__name__", "__qualname__"}:
                    return Const(unit.name if name == "__name__" else unit.qualname)
                return Unknown("function-attribute")
            case EnumMember(name=member, value=inner):
                return {"name": Const(member), "value": inner, "_value_": inner}.get(name, Unknown("enum"))
            case Super(after=after, receiver=receiver):
                return self._super_attribute(after, receiver, name)
            case Bound(function=Function() as function) | Virtual(function=function) if name in {
                "__name__",
                "__qualname__",
            }:
                return Const(function.unit.name)
            case _:
                return Unknown("attribute")

    def _class_attribute(self, cls: Class, name: str) -> Value:
        if name in {"__name__", "__qualname__"}:
            return Const(cls.unit.name if name == "__name__" else cls.unit.qualname)
        member = self.find_member(cls, name)
        if member is None or name in self.replaced:
            return Unknown("attribute")
        value, owner = member
        if isinstance(value, Callable) and isinstance(value.target, Wrapped):
            match value.target.kind:
                case "staticmethod":
                    return value.target.function
                case "classmethod":
                    return self._bind(value.target.function, Callable(cls, cls.dotted))
                case _:
                    return Unknown("property")
        if isinstance(owner, Class) and self.is_enum(cls) and not isinstance(value, Callable) and name[:1] != "_":
            return Callable(EnumMember(owner, name, value), f"{owner.dotted}.{name}")
        if isinstance(value, (Callable, Named)) or (
            isinstance(value, (Const, DType, Seq)) and not is_assigned(cls.module, name)
        ):
            return value
        return Unknown("class-attribute")

    def _derived_attribute(self, value: Callable, cls: Class, name: str) -> Value:
        """An attribute of a class that may be a derived one."""
        member = self.find_member(cls, name)
        if member is None or name in self.replaced or not isinstance(member[0], Callable):
            return Unknown("class-attribute")
        target, assumed = member[0].target, Assumed(cls, name)
        match target:
            case Function():
                return self._virtual(member[0], None, assumed)
            case Wrapped(kind="staticmethod"):
                return self._virtual(target.function, None, assumed)
            case Wrapped(kind="classmethod"):
                return self._virtual(target.function, value, assumed)
            case _:
                return Unknown("class-attribute")

    def _super_attribute(self, after: Class, receiver: Value, name: str) -> Value:
        cls = receiver.cls if isinstance(receiver, Ref) else getattr(receiver, "target", None)
        if not isinstance(cls, Class):
            return Unknown("super")
        member = self.find_member(cls, name, after)
        if isinstance(receiver, Ref):
            contents = self.contents(receiver)
            if isinstance(contents, InstanceObject) and not contents.exact:
                value = Unknown("virtual") if member is None else member[0]
                return self._virtual(value, receiver, Assumed(cls, name, after))
        if member is None:
            return Callable(Bound(f"object.{name}", receiver), name)
        value, owner = member
        if isinstance(owner, str):
            return (
                Unknown("unknown-base") if owner == UNKNOWN_BASE else Callable(Bound(f"{owner}.{name}", receiver), name)
            )
        if isinstance(value, Callable):
            if isinstance(value.target, Function):
                return Callable(Bound(value.target, receiver), value.name)
            if isinstance(value.target, Wrapped):
                return value.target.function if value.target.kind == "staticmethod" else Unknown("super")
        return Unknown("super")

    # Writing

    def store_attribute(self, receiver: Value, name: str, value: Value, frame: Frame) -> None:
        """`receiver.name = value`."""
        match receiver:
            case Ref(kind="instance"):
                contents = self.contents(receiver)
                if self._stores_itself(receiver, name, value, frame):
                    return
                if isinstance(contents, InstanceObject):
                    kept = tuple((known, old) for known, old in contents.attributes if known != name)
                    self.heap[receiver.uid] = InstanceObject((*kept, (name, value)), contents.exact, contents.open)
            case Callable(target=ModuleObject(module=module)):
                self.patched.add((module.path, name))
                self.escape(value)
            case Callable(target=Function(unit=unit)):
                unit.rewritten = unit.rewritten or name in {"__defaults__", "__kwdefaults__", "__code__"}
                self.escape(receiver)
                self.escape(value)
            case Callable(target=Class() as cls):
                self.members(cls)[name] = Unknown("patched")
                self.escape(value)
            case _:
                self.escape(receiver)
                self.escape(value)

    def _stores_itself(self, receiver: Ref, name: str, value: Value, frame: Frame) -> bool:
        """Whether the class decides what a store does, by a property or a descriptor; a setter is run."""
        cls = receiver.cls
        member = self.find_member(cls, name) if isinstance(cls, Class) else None
        match member:
            case (Callable(target=Wrapped(kind="property", setter=setter)), _):
                if setter is None:
                    self.escape(receiver)
                else:
                    self.call(setter, [receiver, value], [], frame)
                return True
            case (Unknown(cause="decorator"), _) | (Ref(kind="instance"), _):
                self.escape(receiver)
                self.escape(value)
                return True
            case _:
                return False


def is_assigned(module: Module, name: str) -> bool:
    """Whether some line of a module assigns an attribute of this name, of whatever object."""
    return name in module.assigned_attributes


def _merge(sequences: list[list[Class | str]]) -> list[Class | str]:
    """C3 linearisation; where the bases contradict each other the order is unknown."""
    result: list[Class | str] = []
    remaining = [list(sequence) for sequence in sequences if sequence]
    while remaining:
        for sequence in remaining:
            head = sequence[0]
            if not any(head in other[1:] for other in remaining):
                break
        else:
            return [*result, UNKNOWN_BASE]
        result.append(head)
        remaining = [[item for item in sequence if item != head] for sequence in remaining]
        remaining = [sequence for sequence in remaining if sequence]
    return result
