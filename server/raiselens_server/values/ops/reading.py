"""Arguments read as what torch takes them for. None always means that it is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from raiselens_server.values.dtypes import ALL, BITS, FLOATING, canonical
from raiselens_server.values.lattice import (
    NONE,
    Array,
    Const,
    Device,
    DType,
    Int,
    Named,
    Opaque,
    Seq,
    Slice,
    Tensor,
    Text,
    Union,
    Unknown,
    Value,
    as_dim,
)

if TYPE_CHECKING:
    from raiselens_server.values.dims import Dim

PYTHON_DTYPES: Final = {"bool": "bool", "int": "int64", "float": "float64", "complex": "complex128"}
_DEVICE_TYPES: Final = frozenset(
    [
        "cpu",
        "cuda",
        "meta",
        "xpu",
        "mps",
        "npu",
        "hpu",
        "xla",
        "ipu",
        "mtia",
        "vulkan",
        "ve",
        "privateuseone",
        "lazy",
        "musa",
        "mlu",
        "fpga",
    ]
)
NUMBER_KINDS: Final = frozenset({"bool", "int", "float", "complex"})


def absent(value: Value | None) -> bool:
    """Whether the argument is certainly left out or None."""
    return value is None or value == NONE


def given(value: Value | None) -> bool:
    """Whether the argument is certainly there and not None."""
    return not (value is None or value == NONE or isinstance(value, (Unknown, Union)))


def dtypes_of(value: Value | None) -> frozenset[str] | None:
    """The dtypes that a dtype argument may mean; None where it is left out."""
    match value:
        case None | Const(value=None):
            return None
        case DType(names=names):
            return names
        case Named(name=name):
            name = name.removeprefix("builtins.")
            if name in PYTHON_DTYPES:
                return frozenset({PYTHON_DTYPES[name]})
            found = canonical(name.removeprefix("torch.")) if name.startswith("torch.") else None
            return frozenset({found}) if found else ALL
        case _:
            return ALL


def parse_device(text: str) -> Device | None:
    """`"cuda:1"` as a device; None where it is no device that is known."""
    kind, colon, index = text.partition(":")
    if kind not in _DEVICE_TYPES or (colon and not index.isdigit()):
        return None
    return Device(kind, int(index) if colon else None)


def device_of(value: Value | None, default: Device | None) -> Device | None:
    """The device that a device argument means; `default` where it is left out."""
    match value:
        case None | Const(value=None):
            return default
        case Device():
            return placed(value)
        case Const(value=str() as text):
            found = parse_device(text)
            return placed(found) if found else None
        case _:
            return None


def placed(device: Device) -> Device:
    """The device of a tensor made on `device`: cpu and meta tensors carry no index."""
    if device.type in ("cpu", "meta") and device.index is not None:
        return Device("cpu") if device.type == "cpu" else Device("meta")
    return device


def number_kind(value: Value | None) -> str | None:
    """`bool`, `int`, `float` or `complex` where the value is certainly a Python number of that type."""
    match value:
        case Const(value=constant):
            kind = type(constant).__name__
            return kind if kind in NUMBER_KINDS else None
        case Int():
            return "int"
        case Opaque(type=kind):
            return kind if kind in NUMBER_KINDS else None
        case _:
            return None


def flag(value: Value | None, *, default: bool) -> bool | None:
    """The value of a bool argument."""
    match value:
        case None:
            return default
        case Const(value=bool() as answer):
            return answer
        case Const(value=int() as number):
            return bool(number)
        case _:
            return None


def constant_int(value: Value | None) -> int | None:
    """The int, where it is a known constant."""
    match value:
        case Const(value=bool()):
            return None
        case Const(value=int() as number):
            return number
        case Tensor(item=Const(value=int() as number)):
            return number
        case _:
            return None


def size_of(value: Value) -> Dim | None:
    """An int argument as a size."""
    if isinstance(value, Tensor):
        return constant_int(value)
    return as_dim(value)


def sizes_of(values: tuple[Value, ...]) -> tuple[Dim | None, ...] | None:
    """`view(2, 3)` and `view((2, 3))` alike: the sizes, None where even their number is unknown."""
    if len(values) == 1:
        only = values[0]
        if isinstance(only, Seq):
            return None if only.kind in ("set", "frozenset") else tuple(size_of(item) for item in only.items)
        if number_kind(only) != "int" and not isinstance(only, Tensor):
            return None
    return tuple(size_of(value) for value in values)


def ints_of(value: Value | None) -> tuple[int, ...] | None:
    """A dim or a sequence of dims, where all are known."""
    if isinstance(value, Seq):
        found = tuple(constant_int(item) for item in value.items)
        return None if None in found else tuple(item for item in found if item is not None)
    single = constant_int(value)
    return None if single is None else (single,)


def tensor_of(value: Value | None) -> Tensor | None:
    """The argument where a tensor is wanted: nothing known of an unknown one, None where it is certainly none."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, Unknown):
        return ANY_TENSOR
    if isinstance(value, Union):
        tensors = [option for option in value.options if isinstance(option, Tensor)]
        return ANY_TENSOR if tensors or any(isinstance(option, Unknown) for option in value.options) else None
    return None


ANY_TENSOR: Final = Tensor()


def settled(value: Value) -> bool:
    """Whether no check of an operation can be left open by the value: all but its device is known, if as a form."""
    match value:
        case Tensor(dtypes=names, shape=shape):
            return (len(names) == 1 or names <= FLOATING) and shape is not None and None not in shape
        case Seq(items=items):
            return all(settled(item) for item in items)
        case Slice(start=start, stop=stop, step=step):
            return settled(start) and settled(stop) and settled(step)
        case Unknown() | Union() | Opaque():
            return False
        case DType(names=names):
            return len(names) == 1
        case _:
            return True


def type_name(value: Value) -> str | None:
    """`type(value).__name__`, where it is certain."""
    match value:
        case Const(value=constant):
            return type(constant).__name__
        case Int():
            return "int"
        case Text():
            return "str"
        case Opaque(type=kind):
            return kind.rpartition(".")[2]
        case DType():
            return "torch.dtype"
        case Device():
            return "torch.device"
        case Seq(kind=kind):
            return kind
        case Tensor():
            return "Parameter" if value.parameter else "Tensor"
        case Array():
            return "numpy.ndarray"
        case _:
            return None


def element_bits(names: frozenset[str]) -> int | None:
    """Storage bits of one element, where all of `names` agree."""
    found = {BITS[name] for name in names}
    return found.pop() if len(found) == 1 else None
