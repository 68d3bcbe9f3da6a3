"""What the interpreter's values point at: functions, classes, modules, and the contents of mutable objects.

Heap objects are immutable: a change puts a new one under the same `uid`, so that a branch keeps its own heap by copying
one dict.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from typing_extensions import assert_never

if TYPE_CHECKING:
    from raiselens_server.foresee.frames import Frame
    from raiselens_server.source.ir import Expr
    from raiselens_server.source.module import Module
    from raiselens_server.source.units import ClassUnit, FunctionUnit
    from raiselens_server.values.lattice import DType, Ref, Tensor, Value


@dataclass(eq=False, slots=True)
class Function:
    """A function of followed source. `owner` is the class whose body defines it, for `super()`.

    `manager`: calling it gives a context manager, whose body this is: `@contextmanager` stands above it.
    """

    unit: FunctionUnit
    module: Module
    closure: Frame | None
    owner: Class | None = None
    manager: bool = False

    @property
    def dotted(self) -> str:
        """Module and qualname."""
        return f"{self.module.name}.{self.unit.qualname}"


@dataclass(eq=False, slots=True)
class Class:
    """A class of followed source. `bases` are evaluated when first asked for, `order` is its linearised MRO.

    `volatile`: its instances change when Python calls their special methods, which happens where no call is written.
    """

    unit: ClassUnit
    module: Module
    closure: Frame | None
    order: tuple[Class | str, ...] | None = None
    members: dict[str, Value] = field(default_factory=dict)
    fields: tuple[DataField, ...] | None = None
    dataclass: bool | None = None
    """Whether a generated constructor was asked for; None for what is no dataclass."""
    volatile: bool | None = None
    answers: bool | None = None
    stored: dict[str, tuple[Stored, ...] | None] = field(default_factory=dict)

    @property
    def dotted(self) -> str:
        """Module and qualname."""
        return f"{self.module.name}.{self.unit.qualname}"


@dataclass(frozen=True, slots=True)
class DataField:
    """A field of a dataclass or NamedTuple; `default` is an expression of the class body.

    `init_only`: it is handed to `__post_init__` and not kept. `keyword_only` is None, and `known` false, where what the
    constructor takes is decided at run time.
    """

    name: str
    default: Expr | None
    owner: Class
    factory: bool = False
    init: bool = True
    keyword_only: bool | None = False
    init_only: bool = False
    known: bool = True


@dataclass(eq=False, slots=True)
class ModuleObject:
    """A module of followed source."""

    module: Module


@dataclass(frozen=True, slots=True)
class Assumed:
    """That an object of `cls` or of a class derived from it has the attribute `name` that `cls` has.

    `after`: looked up past that class, as `super()` does. `stored`: the object's own attribute, not its class's.
    """

    cls: Class
    name: str
    after: Class | None = None
    stored: bool = False


@dataclass(frozen=True, slots=True)
class Bound:
    """A method bound to an object: a followed function, or a method of a builtin or torch object by name."""

    function: Function | str
    receiver: Value


@dataclass(frozen=True, slots=True)
class Virtual:
    """A method of an object that may be of a derived class, where it may be another; no receiver: a static one."""

    function: Function
    receiver: Value | None
    assumed: Assumed


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A class member behind a descriptor. `kind`: `property`, `staticmethod` or `classmethod`; a property's `setter`."""

    kind: str
    function: Value
    setter: Value | None = None


@dataclass(frozen=True, slots=True)
class Derived:
    """A class or one derived from it: what a classmethod is given."""

    cls: Class


@dataclass(frozen=True, slots=True)
class EnumMember:
    """A member of an enum class."""

    cls: Class
    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class Super:
    """What `super()` gives: look-ups start after `after` in the MRO of the receiver's class."""

    after: Class
    receiver: Value


@dataclass(frozen=True, slots=True)
class Partial:
    """`functools.partial(function, …)`."""

    function: Value
    positional: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class Pending:
    """A call whose body has not run: a coroutine until it is awaited, a generator until it is iterated."""

    function: Function
    arguments: tuple[tuple[str, Value], ...]
    generator: bool


@dataclass(frozen=True, slots=True)
class Manager:
    """A context manager made from a generator function; `arguments` is what it was called with."""

    function: Function
    arguments: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Many:
    """A list of unknown length, or a module list, each item one of `options`."""

    options: tuple[Stored, ...]
    cls: Class | None = None


@dataclass(frozen=True, slots=True)
class ListObject:
    """A list's items in order; None where the length is not known: each of them is one of `element`, if that is."""

    items: tuple[Value, ...] | None
    element: Value | None = None


@dataclass(frozen=True, slots=True)
class SetObject:
    """A set's items; None where they are not known."""

    items: tuple[Value, ...] | None


@dataclass(frozen=True, slots=True)
class DictObject:
    """A dict's items by constant key; None where the keys are not known."""

    items: tuple[tuple[Value, Value], ...] | None

    def get(self, key: Value) -> Value | None:
        """The value under an equal key."""
        for known, value in self.items or ():
            if known == key:
                return value
        return None


@dataclass(frozen=True, slots=True)
class InstanceObject:
    """An instance. `exact`: of its class itself, no subclass. `open`: attributes not listed here may have any value."""

    attributes: tuple[tuple[str, Value], ...] = ()
    exact: bool = True
    open: bool = False

    def get(self, name: str) -> Value | None:
        """The attribute's value, where it is listed."""
        for known, value in self.attributes:
            if known == name:
                return value
        return None


HeapObject: TypeAlias = ListObject | SetObject | DictObject | InstanceObject

Stored: TypeAlias = "Class | Many | Tensor | DType | None"
"""What a method stores on its object: an instance of just this class, a list, a value, or None itself."""

UNKNOWN_CONTENTS: dict[str, HeapObject] = {
    "list": ListObject(None),
    "set": SetObject(None),
    "dict": DictObject(None),
    "instance": InstanceObject(open=True, exact=False),
}
"""What is known of an object after something unknown may have changed it, by the kind of its `Ref`."""


def instance_of(ref: Ref) -> Class | str | None:
    """The class of an instance: followed, or the dotted name of one that is not."""
    cls = ref.cls
    return cls if isinstance(cls, (Class, str)) else None


def kind_of(contents: HeapObject) -> str:
    """The kind of `Ref` that holds such contents."""
    match contents:
        case ListObject():
            return "list"
        case SetObject():
            return "set"
        case DictObject():
            return "dict"
        case InstanceObject():
            return "instance"
        case _:
            assert_never(contents)
