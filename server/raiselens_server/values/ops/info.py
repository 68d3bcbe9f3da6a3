"""Questions about dtypes and devices, and the small constructors: `torch.device`, `torch.Size`, `torch.iinfo`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from raiselens_server.values.dtypes import ANY_FLOATING, BITS, COMPLEX, INTEGRAL, only
from raiselens_server.values.lattice import (
    FALSE,
    TRUE,
    Array,
    Const,
    Device,
    DType,
    Named,
    Opaque,
    Seq,
    Tensor,
    Unknown,
    Value,
)
from raiselens_server.values.ops import reading
from raiselens_server.values.ops.building import error, ok
from raiselens_server.values.ops.elementwise import operand, promoted
from raiselens_server.values.ops.outcome import NO_RULE, Outcome
from raiselens_server.values.promotion import can_cast, promote_sets

if TYPE_CHECKING:
    from raiselens_server.values.ops.table import Bound, Row


def _device(b: Bound) -> Outcome:
    kind = b.get("type") or b.get("device")
    index = b.get("index")
    if isinstance(kind, Device) and reading.absent(index):
        return ok(kind)
    if not isinstance(kind, Const) or not isinstance(kind.value, str):
        return ok(Unknown("device"), may_raise=True)
    found = reading.parse_device(kind.value)
    if found is None:
        return NO_RULE
    if reading.absent(index):
        return ok(found)
    place = reading.constant_int(index)
    return ok(Device(found.type, place) if place is not None else Unknown("device-index"), may_raise=place is None)


def _size(b: Bound) -> Outcome:
    value = b.args[0] if len(b.args) == 1 else None
    if isinstance(value, Seq) and value.kind in ("list", "tuple", "torch.Size"):
        return ok(Seq(value.items, "torch.Size"))
    return ok(Seq((), "torch.Size")) if not b.args else NO_RULE


def _is_tensor(b: Bound) -> Outcome:
    match b.named["obj"]:
        case Tensor():
            return ok(TRUE)
        case Const() | Seq() | DType() | Device() | Array() | Opaque():
            return ok(FALSE)
        case _:
            return ok(Opaque("bool"))


def _default_dtype(b: Bound) -> Outcome:
    return ok(DType(b.ambient.default_dtypes))


def _promote(b: Bound) -> Outcome:
    first, second = b.named["type1"], b.named["type2"]
    if not isinstance(first, DType) or not isinstance(second, DType):
        return NO_RULE
    names = promote_sets(first.names, second.names)
    return ok(DType(names)) if names else NO_RULE


def _result_type(b: Bound) -> Outcome:
    operands = [operand(b.named[name], b.ambient.default_dtypes) for name in ("tensor1", "tensor2")]
    known = [one for one in operands if one is not None]
    names = promoted(known) if len(known) == len(operands) else frozenset()
    return ok(DType(names)) if names else NO_RULE


def _can_cast(b: Bound) -> Outcome:
    source, target = b.named["from_"], b.named["to"]
    if not isinstance(source, DType) or not isinstance(target, DType):
        return ok(Opaque("bool"))
    answers = {can_cast(a, c) for a in source.names for c in target.names}
    return ok(Const(answers.pop()) if len(answers) == 1 else Opaque("bool"))


def _limits(b: Bound) -> Outcome:
    value = b.get("type")
    if value is None:
        return NO_RULE
    if not isinstance(value, DType):
        return ok(Unknown(b.name), may_raise=True)
    floating = value.names & (ANY_FLOATING | COMPLEX)
    if b.name == "iinfo" and value.names and value.names <= ANY_FLOATING | COMPLEX:
        text = "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'"
        return error("TypeError", "type", "not type.is_floating_point", text)
    if b.name == "finfo" and value.names and not floating and value.names <= INTEGRAL:
        text = "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
        return error("TypeError", "type", "type.is_floating_point", text)
    name = only(value.names)
    return ok(Named(f"torch.{b.name}({name})") if name else Unknown(b.name))


_FINFO: Final[dict[str, dict[str, float]]] = {
    "float16": {"max": 65504.0, "eps": 0.0009765625, "tiny": 6.103515625e-05, "smallest_normal": 6.103515625e-05},
    "bfloat16": {
        "max": 3.3895313892515355e38,
        "eps": 0.0078125,
        "tiny": 1.1754943508222875e-38,
        "smallest_normal": 1.1754943508222875e-38,
    },
    "float32": {
        "max": 3.4028234663852886e38,
        "eps": 1.1920928955078125e-07,
        "tiny": 1.1754943508222875e-38,
        "smallest_normal": 1.1754943508222875e-38,
    },
    "float64": {
        "max": 1.7976931348623157e308,
        "eps": 2.220446049250313e-16,
        "tiny": 2.2250738585072014e-308,
        "smallest_normal": 2.2250738585072014e-308,
    },
    "float8_e4m3fn": {"max": 448.0, "eps": 0.125, "tiny": 0.015625, "smallest_normal": 0.015625},
    "float8_e5m2": {"max": 57344.0, "eps": 0.25, "tiny": 6.103515625e-05, "smallest_normal": 6.103515625e-05},
}


def limit(name: str, attribute: str) -> Value | None:
    """An attribute of `torch.iinfo(dtype)` or `torch.finfo(dtype)`, given as the name that `call` made for it."""
    kind, _, dtype = name.removesuffix(")").partition("(")
    if attribute == "bits" and dtype in BITS:
        return Const(BITS[dtype])
    if attribute == "dtype" and dtype in BITS:
        return Const(dtype)
    if kind == "torch.finfo":
        values = _FINFO.get(dtype, {})
        if attribute == "min" and "max" in values:
            return Const(-values["max"])
        return Const(values[attribute]) if attribute in values else None
    if kind != "torch.iinfo" or dtype not in INTEGRAL or attribute not in ("min", "max"):
        return None
    signed = not dtype.startswith("uint")
    top = 1 << (BITS[dtype] - 1 if signed else BITS[dtype])
    return Const(top - 1) if attribute == "max" else Const(-top if signed else 0)


def _unknown_bool(_: Bound) -> Outcome:
    return ok(Opaque("bool"))


def _unknown_int(_: Bound) -> Outcome:
    return ok(Opaque("int"))


def _nothing(_: Bound) -> Outcome:
    return ok(Const(None))


ROWS: Final[tuple[Row, ...]] = (
    ("t", "device", "type? index? * device?", _device),
    ("t", "Size", None, _size),
    ("t", "is_tensor", "obj", _is_tensor),
    ("t", "get_default_dtype", "", _default_dtype),
    ("t", "promote_types", "type1 type2", _promote),
    ("t", "result_type", "tensor1 tensor2", _result_type),
    ("t", "can_cast", "from_ to", _can_cast),
    ("t", "iinfo finfo", "type?", _limits),
    (
        "d",
        "torch.cuda.is_available torch.is_grad_enabled torch.are_deterministic_algorithms_enabled",
        None,
        _unknown_bool,
    ),
    (
        "d",
        "torch.cuda.device_count torch.cuda.current_device torch.initial_seed torch.get_num_threads",
        None,
        _unknown_int,
    ),
    ("d", "torch.cuda.synchronize torch.cuda.empty_cache torch.set_num_threads", None, _nothing),
)
