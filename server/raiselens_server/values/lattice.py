r"""The abstract values, and what must or may be true of them.

        unknown            (nothing is known)
      /    |     \
    Opaque Int  Tensor …   (the type, or some properties)
      \    |     /
     Const, DType, …       (the value itself)

`join` goes up: it keeps what holds on both sides. Questions are *must* questions: `truth` answers True or False where
every concrete value would, and None where it depends. The answers never use what merely *may* hold.

Objects that can change (lists, dicts, sets, instances) are `Ref`s; what they hold lives in the interpreter's heap, so
that a change is seen through every alias. Operations of torch get lists as `Seq` snapshots.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from raiselens_server.values import dims, dtypes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import EllipsisType

    from raiselens_server.values.dims import Dim


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing is known: a parameter, the result of a call that was not followed.

    `cause` says why, for statistics. `path` is a stable name (`x`, `x.shape`) where reading it twice gives the same
    value, None otherwise.
    """

    cause: str
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Const:
    """A value of an immutable builtin type: `3`, `"cuda"`, `None`, `...`."""

    value: bool | int | float | complex | str | bytes | range | EllipsisType | None

    def __eq__(self, other: object) -> bool:
        """Equal only with the same type: True and 1 are different constants."""
        return isinstance(other, Const) and type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        """Consistent with `__eq__`."""
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class Int:
    """An int known as a linear form: `bs + 1`."""

    dim: dims.Linear


@dataclass(frozen=True, slots=True)
class Opaque:
    """An instance of exactly this builtin or torch type, of unknown value: `int`, `str`, `torch.Generator`."""

    type: str


@dataclass(frozen=True, slots=True)
class HolePart:
    """The part of a text that is not known: the source of the expression that gives it."""

    expr: str


@dataclass(frozen=True, slots=True)
class Text:
    """A str known in part: `f"got {x.dtype}"` with an unknown dtype. Holds at least one hole."""

    parts: tuple[str | HolePart, ...]


@dataclass(frozen=True, slots=True)
class DType:
    """A torch dtype, one of `names`: `torch.int32`."""

    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Device:
    """A torch device. Without an index it equals no indexed one, and differs from none of its type."""

    type: str
    index: int | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """An expression of the source: the file, and its half-open range of byte offsets."""

    file: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Tensor:
    """A torch.Tensor.

    `dtypes`: those it may have. `shape`: None where the rank is unknown; a size is None where it is unknown.
    `strides` in elements, None where unknown; a size that a stride is a multiple of is taken to be at least 1.
    `contiguous`: what `is_contiguous()` must answer, known also where strides are not (`a * b` is no linear form).
    `dtype_site` and `shape_site`: the expression that decided the property; an operation that decides one anew leaves
    it None and the interpreter fills in the call.
    They are no part of the value: two tensors that differ only there are equal.
    """

    dtypes: frozenset[str] = dtypes.ALL
    shape: tuple[Dim | None, ...] | None = None
    device: Device | None = None
    strides: tuple[Dim | None, ...] | None = None
    requires_grad: bool | None = None
    dtype_site: Site | None = field(default=None, compare=False)
    shape_site: Site | None = field(default=None, compare=False)
    device_site: Site | None = field(default=None, compare=False)
    item: Const | None = None
    parameter: bool = False
    contiguous: bool | None = None


@dataclass(frozen=True, slots=True)
class Array:
    """A numpy.ndarray; `dtypes` in torch's names."""

    dtypes: frozenset[str] = dtypes.ALL
    shape: tuple[Dim | None, ...] | None = None


@dataclass(frozen=True, slots=True)
class Seq:
    """An immutable sequence of known length. `kind`: `tuple`, `torch.Size`, `list` (a snapshot), `set`, `frozenset`."""

    items: tuple[Value, ...]
    kind: str = "tuple"


@dataclass(frozen=True, slots=True)
class Slice:
    """A slice object, each part absent as `Const(None)`: the `1:n` of `x[1:n]`."""

    start: Value
    stop: Value
    step: Value


@dataclass(frozen=True, slots=True)
class Ref:
    """A mutable object: its contents are in the interpreter's heap under `uid`.

    `kind`: `list`, `dict`, `set`, or `instance`; `cls` is the class of an instance (a value of the interpreter's).
    """

    uid: int
    kind: str
    cls: Any = None


@dataclass(frozen=True, slots=True)
class Callable:
    """Something of the interpreter's that can be called or looked into: function, class, module, bound method."""

    target: Any
    name: str


@dataclass(frozen=True, slots=True)
class Named:
    """Something outside the followed source, known by its dotted name only: `torch.zeros`, `numpy.int32`, `print`."""

    name: str


@dataclass(frozen=True, slots=True)
class Union:
    """One of a few values that have nothing in common: None or a tensor."""

    options: tuple[Value, ...]


Value: TypeAlias = (
    Unknown
    | Const
    | Int
    | Opaque
    | Text
    | DType
    | Device
    | Tensor
    | Array
    | Seq
    | Slice
    | Ref
    | Callable
    | Named
    | Union
)

NONE: Final = Const(None)
ELLIPSIS: Final = Const(...)
TRUE: Final = Const(True)
FALSE: Final = Const(False)
UNION_LIMIT: Final = 6


def from_dim(dim: Dim | None, cause: str = "size") -> Value:
    """A size as a value."""
    match dim:
        case None:
            return Opaque("int")
        case int():
            return Const(dim)
        case _:
            return Int(dim)


def as_dim(value: Value) -> Dim | None:
    """The value as a size, None where it is no int that is known as a form."""
    match value:
        case Const(value=bool() as flag):
            return int(flag)
        case Const(value=int() as number):
            return number
        case Int(dim=dim):
            return dim
        case _:
            return None


def _join_dim(left: Dim | None, right: Dim | None) -> Dim | None:
    return left if left == right else None


def _join_dims(
    left: tuple[Dim | None, ...] | None, right: tuple[Dim | None, ...] | None
) -> tuple[Dim | None, ...] | None:
    if left is None or right is None or len(left) != len(right):
        return None
    return tuple(_join_dim(a, b) for a, b in zip(left, right, strict=True))


def join(left: Value, right: Value) -> Value:
    """What holds of a value that is one of the two."""
    if left is right or left == right:
        return left
    match left, right:
        case (Unknown(), _):
            return left if left.path is None else Unknown(left.cause)
        case (_, Unknown()):
            return right if right.path is None else Unknown(right.cause)
        case (Tensor(), Tensor()):
            return Tensor(
                dtypes=left.dtypes | right.dtypes,
                shape=_join_dims(left.shape, right.shape),
                device=left.device if left.device == right.device else None,
                strides=_join_dims(left.strides, right.strides),
                requires_grad=left.requires_grad if left.requires_grad == right.requires_grad else None,
                item=left.item if left.item == right.item else None,
                dtype_site=left.dtype_site if left.dtype_site == right.dtype_site else None,
                shape_site=left.shape_site if left.shape_site == right.shape_site else None,
                device_site=left.device_site if left.device_site == right.device_site else None,
                parameter=left.parameter and right.parameter,
                contiguous=left.contiguous if left.contiguous == right.contiguous else None,
            )
        case (DType(), DType()):
            return DType(left.names | right.names)
        case (Array(), Array()):
            return Array(left.dtypes | right.dtypes, _join_dims(left.shape, right.shape))
        case (Seq(), Seq()) if left.kind == right.kind and len(left.items) == len(right.items):
            return Seq(tuple(join(a, b) for a, b in zip(left.items, right.items, strict=True)), left.kind)
        case _:
            return _join_options(left, right)


def join_all(values: Sequence[Value]) -> Value:
    """What holds of a value that is one of several; at least one."""
    joined = values[0]
    for value in values[1:]:
        joined = join(joined, value)
    return joined


def _join_options(left: Value, right: Value) -> Value:
    options: list[Any] = []
    for value in (left, right):
        for option in value.options if isinstance(value, Union) else (value,):
            if option not in options:
                options.append(option)
    tensors = [option for option in options if isinstance(option, Tensor)]
    if len(tensors) > 1:
        merged: Value = tensors[0]
        for tensor in tensors[1:]:
            merged = join(merged, tensor)
        options = [option for option in options if not isinstance(option, Tensor)] + [merged]
    if len(options) > UNION_LIMIT:
        return Unknown("many-alternatives")
    return options[0] if len(options) == 1 else Union(tuple(options))


def truth(value: Value) -> bool | None:
    """What `bool(value)` must be; None where it depends or would raise."""
    match value:
        case Const(value=constant):
            return bool(constant)
        case Int(dim=dim):
            unequal = dims.equal(dim, 0)
            return None if unequal is None else not unequal
        case Text(parts=parts):
            return True if any(isinstance(part, str) and part for part in parts) else None
        case DType() | Device() | Callable() | Slice():
            return True
        case Named(name=name):
            # A builtin is a function or a class; an attribute of a library may be anything.
            return None if "." in name else True
        case Seq(items=items):
            return bool(items)
        case Tensor(item=Const(value=constant)):
            return bool(constant)
        case Union(options=options):
            answers = {truth(option) for option in options}
            return answers.pop() if len(answers) == 1 else None
        case _:
            return None


def with_sites(tensor: Tensor, site: Site) -> Tensor:
    """`tensor` with `site` for every property that the last operation decided anew."""
    if tensor.dtype_site is not None and tensor.shape_site is not None and tensor.device_site is not None:
        return tensor
    return replace(
        tensor,
        dtype_site=tensor.dtype_site or site,
        shape_site=tensor.shape_site or site,
        device_site=tensor.device_site or site,
    )
