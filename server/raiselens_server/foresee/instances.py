"""Instances: constructors, calling objects, and exceptions as objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raiselens_server.foresee import exceptions, strings
from raiselens_server.foresee.attributes import UNKNOWN_BASE, Attributes, is_assigned
from raiselens_server.foresee.binding import Arguments, with_receiver
from raiselens_server.foresee.dataclasses import DataClasses
from raiselens_server.foresee.frames import Frame, Raising
from raiselens_server.foresee.module_class import MODULE_CLASS
from raiselens_server.foresee.objects import (
    Assumed,
    Class,
    Function,
    InstanceObject,
)
from raiselens_server.foresee.volatile import is_volatile
from raiselens_server.values.lattice import (
    Callable,
    Const,
    HolePart,
    Named,
    Ref,
    Seq,
    Text,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from raiselens_server.source.ir import Expr


class Instances(DataClasses, Attributes):
    """Makes and calls instances."""

    def instantiate(self, cls: Class, arguments: Arguments, frame: Frame, expr: Expr | None) -> Value:
        """Make an instance of a followed class."""
        volatile = is_volatile(cls, self.order(cls))
        made = self._made(cls, arguments, frame, expr, volatile=volatile)
        if volatile:
            self.escape(made)
        return made

    def _made(self, cls: Class, arguments: Arguments, frame: Frame, expr: Expr | None, *, volatile: bool) -> Value:
        order = self.order(cls)
        if UNKNOWN_BASE in order or any(isinstance(base, Class) and has_metaclass(base) for base in order):
            self._bind_written(cls, arguments, frame, expr)
            return self.not_followed(arguments, "unknown-base")
        if self.is_enum(cls) or self.find_own(cls, "__new__"):
            return self.not_followed(arguments, "constructor")
        fields = self.data_fields(cls)
        if fields is not None and self.open_class(cls):
            return self.not_followed(arguments, "unknown-base")
        if fields is not None:
            return self.make_data(cls, fields, arguments, frame, expr)
        ref = self.new("instance", InstanceObject(open=self._base_adds_attributes(cls)), cls)
        if volatile:
            self.escaped.add(ref.uid)
        if exceptions.is_exception(self.class_chain(cls)):
            self.store_attribute(ref, "args", Seq(arguments.positional), frame)
        member = self.find_member(cls, "__init__")
        match member:
            case (Callable(target=Function() as init), _):
                self.invoke(init, with_receiver(ref, arguments), frame, expr)
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
                self.not_followed(arguments, "constructor")
                self.escape(ref)
        return ref

    def _bind_written(self, cls: Class, arguments: Arguments, frame: Frame, expr: Expr | None) -> None:
        """A constructor that is written out before any base that is not known is called with these arguments."""
        member = self.find_member(cls, "__init__")
        if member is None or not isinstance(member[0], Callable) or not isinstance(member[0].target, Function):
            return
        for base in self.order(cls):
            if base is member[1]:
                break
            if isinstance(base, Class) and base.unit.decorators:
                # `@dataclass` and its like write a constructor that stands in no body.
                return
        plain = not any(isinstance(base, Class) and has_metaclass(base) for base in self.order(cls))
        if plain and not self.find_own(cls, "__new__"):
            self.bound(member[0].target, with_receiver(Unknown("instance"), arguments), frame, expr)

    def instantiate_derived(self, cls: Class, arguments: Arguments, frame: Frame, expr: Expr | None) -> Value:
        """Make an instance of a class or of one derived from it, whose constructor may be another."""
        try:
            self._bind_written(cls, arguments, frame, expr)
        except Raising as raising:
            raising.assumed = (Assumed(cls, "__init__"),)
            raise
        self.not_followed(arguments, "virtual")
        if self.is_enum(cls) or self.find_own(cls, "__new__"):
            return Unknown("virtual")
        return self.new("instance", InstanceObject(open=True, exact=False), cls)

    def find_own(self, cls: Class, name: str) -> bool:
        """Whether a followed class of the MRO defines `name` itself."""
        return any(isinstance(base, Class) and name in self.members(base) for base in self.order(cls))

    def _base_adds_attributes(self, cls: Class) -> bool:
        return self.open_class(cls) and not self.is_module_class(cls)

    def call_instance(self, ref: Ref, arguments: Arguments, frame: Frame, expr: Expr | None) -> Value:
        """Call an object: `forward` of a module, else `__call__`."""
        cls = ref.cls
        if not isinstance(cls, Class):
            return self.not_followed(arguments, "unknown-callee")
        contents = self.contents(ref)
        if not isinstance(contents, InstanceObject) or not contents.exact:
            self.escape(ref)
            return self.not_followed(arguments, "virtual")
        name = "forward" if self.is_module_class(cls) and not self.find_own(cls, "__call__") else "__call__"
        if name == "forward":
            own = contents.get(name)
            if own is not None:
                return self.apply(own, arguments, frame, expr)
            if contents.open and is_assigned(frame.module, name):
                return self.not_followed(arguments, "shadowed")
        member = self.find_member(cls, name)
        if member is not None and isinstance(member[0], Callable) and isinstance(member[0].target, Function):
            return self.invoke(member[0].target, with_receiver(ref, arguments), frame, expr)
        self.escape(ref)
        return self.not_followed(arguments, "unknown-callee")

    def class_chain(self, cls: Class | str) -> tuple[Class | str, ...]:
        """An exception class and its bases."""
        return exceptions.bases(cls, self.order(cls) if isinstance(cls, Class) else ())

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


def has_metaclass(cls: Class) -> bool:
    """Whether a class names a metaclass, other than the one of abstract classes, which makes instances as usual."""
    return any(name == "metaclass" and "ABCMeta" not in str(value) for name, value in cls.unit.keywords)
