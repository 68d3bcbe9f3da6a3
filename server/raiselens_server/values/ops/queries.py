"""What a tensor answers about itself: sizes, strides, its one number, its numpy array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from raiselens_server.values import dims
from raiselens_server.values.dtypes import ALL, BITS, COMPLEX, FLOATING, only
from raiselens_server.values.lattice import (
    FALSE,
    TRUE,
    Array,
    Const,
    Device,
    Opaque,
    Seq,
    Tensor,
    Unknown,
    Value,
    from_dim,
)
from raiselens_server.values.ops import axes, layout, reading
from raiselens_server.values.ops.building import error, ok, size_value
from raiselens_server.values.ops.elementwise import is_meta
from raiselens_server.values.ops.outcome import NO_RULE, Outcome, Raise

if TYPE_CHECKING:
    from raiselens_server.values.ops.table import Bound, Row

_NO_NUMPY: Final = frozenset(name for name in BITS if name.startswith(("bfloat16", "float8", "float4")))


def _numpy(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    forced = reading.flag(b.get("force"), default=False)
    if forced is False:
        if source.device is not None and source.device.type in ("meta", "cuda"):
            shown = "cuda:0" if source.device.type == "cuda" and source.device.index is None else source.device
            text = " device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
            return error("TypeError", None, "self.device.type == 'cpu'", "can't convert ", shown, text)
        if source.requires_grad:
            text = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
            return error("RuntimeError", None, "not self.requires_grad", text)
        name = only(source.dtypes)
        if name in _NO_NUMPY and source.device is not None and source.requires_grad is False:
            return error("TypeError", None, "numpy has the dtype", "Got unsupported ScalarType ", source.dtypes)
    return ok(Array(source.dtypes, source.shape), may_raise=True)


def item_error(source: Tensor) -> Raise | None:
    """The raise of reading one number from a tensor that holds many, or none, or no data."""
    count = layout.numel(source.shape)
    if dims.equal(count, 1) is False:
        return error(
            "RuntimeError",
            None,
            "self.numel() == 1",
            "a Tensor with ",
            count,
            " elements cannot be converted to Scalar",
        )
    if is_meta(source) and count == 1:
        return error("RuntimeError", None, "not self.is_meta", "Tensor.item() cannot be called on meta tensors")
    return None


def _item(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    broken = item_error(source)
    if broken is not None:
        return broken
    return ok(source.item or _number(source), may_raise=layout.numel(source.shape) != 1)


def _number(source: Tensor) -> Value:
    kinds = {
        "bool" if n == "bool" else "complex" if n in COMPLEX else "int" if "int" in n else "float"
        for n in source.dtypes
    }
    return Opaque(kinds.pop()) if len(kinds) == 1 else Unknown("item")


def _tolist(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    if is_meta(source):
        return error("NotImplementedError", None, "not self.is_meta", "Cannot copy out of meta tensor; no data!")
    if source.shape == ():
        return ok(source.item or _number(source))
    if (
        source.shape is not None
        and len(source.shape) == 1
        and isinstance(source.shape[0], int)
        and source.shape[0] <= 64
    ):
        return ok(Seq((_number(source),) * source.shape[0], "list"))
    return ok(Unknown("list"))


def _size(b: Bound) -> Outcome:
    return _of_shape(b, "size")


def _stride(b: Bound) -> Outcome:
    return _of_shape(b, "stride")


def _of_shape(b: Bound, what: str) -> Outcome:
    source = b.tensor()
    if source is None or source.shape is None:
        return ok(Opaque("int") if source is not None and reading.given(b.get("dim")) else Unknown(what))
    found = source.shape if what == "size" else source.strides or (None,) * len(source.shape)
    if reading.absent(b.get("dim")):
        return ok(size_value(found) if what == "size" else Seq(tuple(from_dim(step) for step in found)))
    if not source.shape:
        return NO_RULE
    dim = axes.wrap(b.get("dim"), len(source.shape))
    if isinstance(dim, Raise):
        return dim
    return ok(Opaque("int") if dim is None else from_dim(found[dim]))


def _count(b: Bound) -> Outcome:
    source = b.tensor()
    return NO_RULE if source is None else ok(from_dim(layout.numel(source.shape)))


def _rank(b: Bound) -> Outcome:
    source = b.tensor()
    return NO_RULE if source is None else ok(Opaque("int") if source.shape is None else Const(len(source.shape)))


def _is_contiguous(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None or not reading.absent(b.get("memory_format")):
        return ok(Opaque("bool"))
    return ok(Opaque("bool") if source.contiguous is None else TRUE if source.contiguous else FALSE)


def _element_size(b: Bound) -> Outcome:
    source = b.tensor()
    bits = reading.element_bits(source.dtypes) if source is not None else None
    return ok(Opaque("int") if bits is None else Const(bits // 8))


def _is_kind(b: Bound) -> Outcome:
    source = b.tensor()
    return NO_RULE if source is None else ok(membership(source.dtypes, b.data))


def membership(names: frozenset[str], kinds: frozenset[str]) -> Value:
    """Whether the dtype is one of `kinds`."""
    if names <= kinds:
        return TRUE
    return Opaque("bool") if names & kinds else FALSE


def _get_device(b: Bound) -> Outcome:
    source = b.tensor()
    if source is not None and source.device == Device("cpu"):
        return ok(Const(-1))
    index = source.device.index if source is not None and source.device is not None else None
    return ok(Opaque("int") if index is None else Const(index))


_KINDS: Final = {
    "is_floating_point": FLOATING | {n for n in ALL if n.startswith(("float8", "float4"))},
    "is_complex": COMPLEX,
}


ROWS: Final[tuple[Row, ...]] = (
    ("m", "numpy", ":Tinput * force?", _numpy),
    ("m", "item", ":Tinput", _item),
    ("m", "tolist", ":Tinput", _tolist),
    ("m", "size", ":Tinput dim?", _size),
    ("m", "stride", ":Tinput dim?", _stride),
    ("tm", "numel", ":Tinput", _count),
    ("m", "nelement", ":Tinput", _count),
    ("m", "dim ndimension", ":Tinput", _rank),
    ("m", "is_contiguous", ":Tinput memory_format?", _is_contiguous),
    ("m", "element_size", ":Tinput", _element_size),
    ("tm", "is_floating_point", ":Tinput", _is_kind, _KINDS["is_floating_point"]),
    ("tm", "is_complex", ":Tinput", _is_kind, _KINDS["is_complex"]),
    ("m", "get_device", ":Tinput", _get_device),
)
