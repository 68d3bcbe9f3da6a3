"""`isinstance` and `type`, as must-answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from raiselens_server.foresee import exceptions
from raiselens_server.foresee.attributes import Attributes
from raiselens_server.foresee.module_class import MODULE_CLASS
from raiselens_server.foresee.objects import (
    Class,
    InstanceObject,
)
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
    from raiselens_server.foresee.frames import Frame

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
_TELLABLE: Final = ("abc.ABC", "collections.abc.", "typing.Protocol", "typing_extensions.Protocol")
"""How the bases begin whose classes may be told that others count as derived from them."""
_TENSORS: Final = frozenset({"torch.Tensor", "torch.nn.Parameter", "torch.nn.parameter.Parameter"})


class TypeChecks(Attributes):
    """Asks for types."""

    def is_instance(self, value: Value, cls: Value) -> bool | None:
        """Whether `isinstance(value, cls)` must hold, cannot, or depends."""
        if isinstance(cls, Seq):
            answers = [self.is_instance(value, option) for option in cls.items]
            if True in answers:
                return True
            return False if all(answer is False for answer in answers) else None
        followed = cls.target if isinstance(cls, Callable) and isinstance(cls.target, Class) else None
        if followed is not None and not (isinstance(value, Ref) and value.kind == "instance"):
            derived = isinstance(value, Tensor) and not _TENSORS.isdisjoint(self.order(followed))
            if derived or not self._only_derived(followed):
                return None
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
                known = exact and "?" not in order
                return False if known and (self._only_derived(wanted) or self._told_nothing(wanted, own)) else None
            case Named(name=name):
                if name in order or (name == "torch.nn.Module" and MODULE_CLASS in order):
                    return True
                known = name in _CLASSES or name in {"torch.Tensor", "torch.dtype", "torch.device"}
                return False if exact and known and not self.open_class(own) else None
            case _:
                return None

    def _only_derived(self, cls: Class) -> bool:
        """Whether the instances of a class are those of the classes that derive from it, and no others."""
        return not any(
            base.unit.keywords if isinstance(base, Class) else base == "?" or base.startswith(_TELLABLE)
            for base in self.order(cls)
        )

    def _told_nothing(self, wanted: Class, own: Class) -> bool:
        """Whether an abstract class takes no others in, as far as its module and that of the other class tell."""
        bases = {base for base in self.order(wanted) if isinstance(base, str)}
        keywords = [pair for base in self.order(wanted) if isinstance(base, Class) for pair in base.unit.keywords]
        abstract = all("ABCMeta" in str(value) for _, value in keywords)
        return (
            abstract
            and all(base == "abc.ABC" or not base.startswith(_TELLABLE) for base in bases - {"?"})
            and "?" not in bases
            and b"__subclasshook__" not in wanted.module.source
            and not any(b".register" in cls.module.source for cls in (wanted, own))
        )

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
