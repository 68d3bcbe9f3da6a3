"""Tensors made from data: `torch.tensor`, `as_tensor`, numpy arrays, and the old constructors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from raiselens_server.values.dtypes import ALL, COMPLEX, LEGACY
from raiselens_server.values.lattice import Array, Const, Device, Int, Opaque, Seq, Tensor, Unknown, Value
from raiselens_server.values.ops import reading
from raiselens_server.values.ops.building import derive, error, fresh, inherited_grad, ok
from raiselens_server.values.ops.factories import options_error
from raiselens_server.values.ops.outcome import NO_RULE, Outcome, Raise
from raiselens_server.values.promotion import promote_sets

if TYPE_CHECKING:
    from raiselens_server.values.ops.layout import Shape
    from raiselens_server.values.ops.table import Bound, Row

_DATA_LIMIT: Final = 4096


@dataclass(frozen=True, slots=True)
class _Data:
    dtypes: frozenset[str]
    shape: Shape | None


def _measure(value: Value, default: frozenset[str]) -> _Data | Raise | None:
    """The dtype and shape of nested data; None where there is no rule for it."""
    match value:
        case Const(value=bool()):
            return _Data(frozenset({"bool"}), ())
        case Const(value=int()) | Int():
            return _Data(frozenset({"int64"}), ())
        case Const(value=float()):
            return _Data(default, ())
        case Const(value=complex()):
            return _Data(COMPLEX, ())
        case Const(value=str()):
            return error("TypeError", "data", "not isinstance(data, str)", "new(): invalid data type 'str'")
        case Const(value=None):
            return error("RuntimeError", "data", "data is not None", "Could not infer dtype of NoneType")
        case Const(value=range() as numbers):
            return _Data(frozenset({"int64"}) if numbers else default, (len(numbers),))
        case Opaque(type=kind) if kind in reading.NUMBER_KINDS:
            names = {"bool": frozenset({"bool"}), "int": frozenset({"int64"}), "float": default, "complex": COMPLEX}
            return _Data(names[kind], ())
        case Tensor():
            return _Data(value.dtypes, value.shape)
        case Array():
            return _Data(value.dtypes, value.shape)
        case Seq(kind="list" | "tuple" | "torch.Size" as kind, items=items):
            return _measure_sequence(items, default)
        case _:
            return None


def _measure_sequence(items: tuple[Value, ...], default: frozenset[str]) -> _Data | Raise | None:
    if not items:
        return _Data(default, (0,))
    names: frozenset[str] | None = None
    inner: Shape | None = None
    uncertain = False
    for position, item in enumerate(items[:_DATA_LIMIT]):
        if isinstance(item, Array):
            return _Data(ALL, None)
        measured = _measure(item, default)
        if measured is None:
            uncertain = True
            continue
        if isinstance(measured, Raise):
            return None if uncertain else measured
        names = measured.dtypes if names is None else promote_sets(names, measured.dtypes)
        if isinstance(item, Tensor):
            if measured.shape is None or any(size != 1 for size in measured.shape):
                uncertain = True
                continue
            shape: Shape | None = ()
        else:
            shape = measured.shape
        if position == 0:
            inner = shape
        elif not uncertain and shape != inner:
            return _ragged(inner, shape)
    if uncertain or len(items) > _DATA_LIMIT:
        return _Data(ALL, None)
    return _Data(names or ALL, None if inner is None else (len(items), *inner))


def _ragged(first: Shape | None, other: Shape | None) -> _Data | Raise | None:
    if first and other and isinstance(first[0], int) and isinstance(other[0], int) and first[0] != other[0]:
        if len(first) == len(other) == 1:
            text = f"expected sequence of length {first[0]} at dim 1 (got {other[0]})"
            return error("ValueError", "data", "len(seq) == sizes[dim]", text)
        return None
    return None if first is None or other is None or len(first) != len(other) else _Data(ALL, None)


def _tensor(b: Bound) -> Outcome:
    data = b.named["data"]
    default = b.ambient.default_dtypes
    wanted = reading.dtypes_of(b.get("dtype"))
    shares = b.data == "shares"
    if isinstance(data, Unknown) or (measured := _measure(data, default)) is None:
        known_device = not reading.absent(b.get("device"))
        device = reading.device_of(b.get("device"), None) if known_device else None
        return ok(fresh(wanted or ALL, None, device, contiguous=None, requires_grad=None), may_raise=True)
    if isinstance(measured, Raise):
        return NO_RULE if "device" in b.named else replace(measured, earlier=bool(b.named.keys() - {"data"}))
    names = wanted or measured.dtypes
    grad = reading.flag(b.get("requires_grad"), default=False)
    if isinstance(data, Tensor):
        device = reading.device_of(b.get("device"), data.device)
        broken = options_error(b, names)
        return broken or ok(_of_tensor(data, names, device, shares=shares, grad=grad))
    device = reading.device_of(b.get("device"), b.ambient.default_device)
    item = None
    if isinstance(data, Const) and names == measured.dtypes and isinstance(data.value, bool | int):
        item = data if device is None or device.type != "meta" else None
    contiguous = None if isinstance(data, Array) and shares else True
    made = fresh(names, measured.shape, device, contiguous=contiguous, requires_grad=grad, item=item)
    return options_error(b, names) or ok(made, may_raise=measured.shape is None)


def _new_tensor(b: Bound) -> Outcome:
    """`x.new_tensor(data)`: dtype and device are those of `x` where they are not given."""
    source, data = b.tensor(), b.named["data"]
    measured = None if source is None or isinstance(data, Tensor) else _measure(data, b.ambient.default_dtypes)
    if source is None or not isinstance(measured, _Data):
        return NO_RULE
    names = reading.dtypes_of(b.get("dtype")) or source.dtypes
    device = reading.device_of(b.get("device"), source.device)
    grad = reading.flag(b.get("requires_grad"), default=False)
    return options_error(b, names) or ok(
        fresh(names, measured.shape, device, contiguous=True, requires_grad=grad), may_raise=measured.shape is None
    )


def _as_array(b: Bound) -> Outcome:
    outcome = _tensor(b)
    return NO_RULE if isinstance(outcome, Raise) or "requires_grad" in b.named else outcome


def _scalar_tensor(b: Bound) -> Outcome:
    names = reading.dtypes_of(b.get("dtype")) or b.ambient.default_dtypes
    device = reading.device_of(b.get("device"), b.ambient.default_device)
    grad = reading.flag(b.get("requires_grad"), default=False)
    return options_error(b, names) or ok(fresh(names, (), device, requires_grad=grad), may_raise=True)


def _of_tensor(
    data: Tensor, names: frozenset[str], device: Device | None, *, shares: bool, grad: bool | None
) -> Tensor:
    if not shares:
        made = derive(data, names=names, device=device, strides=None, requires_grad=grad)
        return made if data.contiguous is not True else derive(data, names=names, device=device, requires_grad=grad)
    kept = names == data.dtypes and len(names) == 1 and device == data.device and device is not None
    if kept:
        return data
    grad = inherited_grad(data.requires_grad, names)
    return derive(
        data, names=names, device=device, strides=None, contiguous=data.contiguous or None, requires_grad=grad
    )


def _from_numpy(b: Bound) -> Outcome:
    if len(b.args) != 1 or b.named:
        return NO_RULE
    array = b.args[0]
    match array:
        case Array(dtypes=names, shape=shape):
            return ok(fresh(names, shape, Device("cpu"), contiguous=None), may_raise=True)
        case Unknown():
            return ok(fresh(ALL, None, Device("cpu"), contiguous=None), may_raise=True)
        case _:
            kind = reading.type_name(array)
            if kind is None:
                return NO_RULE
            return error("TypeError", None, "isinstance(ndarray, np.ndarray)", f"expected np.ndarray (got {kind})")


def _from_buffer(b: Bound) -> Outcome:
    """`torch.frombuffer`: as many elements as the bytes hold, unless it is said how many."""
    names = reading.dtypes_of(b.get("dtype")) or ALL
    count = b.get("count")
    size = None if count is None else reading.size_of(count)
    given = isinstance(size, int) and size >= 0
    grad = reading.flag(b.get("requires_grad"), default=False)
    made = fresh(names, (size if given else None,), Device("cpu"), contiguous=True, requires_grad=grad)
    return ok(made, may_raise=True)


def _legacy(b: Bound) -> Outcome:
    names, device = b.data
    names = names or b.ambient.default_dtypes
    if device is None and b.named.get("device") is not None:
        return NO_RULE
    if b.named:
        return NO_RULE
    if not b.args:
        return ok(fresh(names, (0,), device))
    first = b.args[0]
    if len(b.args) > 1 or isinstance(first, Int) or reading.number_kind(first) == "int":
        sizes = reading.sizes_of(b.args) if all(reading.number_kind(value) == "int" for value in b.args) else None
        return NO_RULE if sizes is None else ok(fresh(names, sizes, device))
    match first:
        case Seq(kind="torch.Size"):
            return ok(fresh(names, reading.sizes_of((first,)), device))
        case Seq():
            measured = _measure(first, names)
            if not isinstance(measured, _Data):
                return NO_RULE
            return ok(fresh(names, measured.shape, device))
        case Tensor() if first.dtypes == names and len(names) == 1:
            return ok(derive(first, requires_grad=None))
        case Array():
            return ok(fresh(names, first.shape, device))
        case _:
            return ok(Tensor(), may_raise=True)


ROWS: Final[tuple[Row, ...]] = (
    ("t", "tensor", "data * dtype? device? requires_grad? pin_memory?", _tensor),
    ("m", "new_tensor", ":Tinput data * dtype? device? requires_grad?", _new_tensor),
    ("t", "as_tensor", "data * dtype? device?", _tensor, "shares"),
    ("t", "asarray", "data * dtype? device? requires_grad?", _as_array, "shares"),
    ("t", "scalar_tensor", "s * dtype? device? requires_grad? layout? pin_memory?", _scalar_tensor),
    ("t", "from_numpy", None, _from_numpy),
    ("t", "frombuffer", "buffer * dtype count? offset? requires_grad?", _from_buffer),
    ("d", "torch.Tensor", None, _legacy, (None, Device("cpu"))),
    *(
        ("d", f"torch.{name}Tensor", None, _legacy, (frozenset({dtype}), Device("cpu")))
        for name, dtype in LEGACY.items()
    ),
    *(
        ("d", f"torch.cuda.{name}Tensor", None, _legacy, (frozenset({dtype}), Device("cuda")))
        for name, dtype in LEGACY.items()
    ),
)
