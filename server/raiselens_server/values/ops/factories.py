"""Operations that make a tensor: by size, like another tensor, or as ranges."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from raiselens_server.values import dims
from raiselens_server.values.dtypes import ALL, COMPLEX, FLOATING, INTEGRAL
from raiselens_server.values.lattice import Const, DType, HolePart, Opaque, Seq, Tensor, Value
from raiselens_server.values.ops import layout, reading
from raiselens_server.values.ops.building import error, fresh, ok
from raiselens_server.values.ops.elementwise import is_meta
from raiselens_server.values.ops.outcome import NO_RULE, Outcome, Raise, Result

if TYPE_CHECKING:
    from raiselens_server.values.lattice import Device
    from raiselens_server.values.ops.layout import Shape
    from raiselens_server.values.ops.table import Bound, Row

OPTIONS: Final = "* dtype? layout? device? requires_grad? pin_memory? generator? names? memory_format?"

_UNDIFFERENTIABLE: Final = INTEGRAL | {"bool"}


def options_error(b: Bound, names: frozenset[str]) -> Raise | None:
    """What is certainly wrong with the dtype, device and gradient options of a factory."""
    dtype, device = b.get("dtype"), b.get("device")
    if not reading.absent(dtype) and not isinstance(dtype, DType) and isinstance(dtype, Const | Tensor):
        kind = reading.type_name(dtype)
        return error(
            "TypeError",
            "dtype",
            "isinstance(dtype, torch.dtype)",
            f"{b.name}(): argument 'dtype' must be torch.dtype, not {kind}",
        )
    if isinstance(device, Tensor) or (isinstance(device, Const) and isinstance(device.value, float)):
        kind = reading.type_name(device)
        return error(
            "TypeError",
            "device",
            "isinstance(device, torch.device)",
            f"{b.name}(): argument 'device' must be torch.device, not {kind}",
        )
    if (
        b.data not in ("random", "randint")
        and reading.flag(b.get("requires_grad"), default=False)
        and not names & (ALL - _UNDIFFERENTIABLE)
    ):
        return error(
            "RuntimeError",
            "requires_grad",
            "isDifferentiableType(dtype)",
            "Only Tensors of floating point and complex dtype can require gradients",
        )
    return None


def sizes_error(name: str, value: Value | None, *, variadic: bool) -> Raise | None:
    """What is certainly wrong with a `size` argument: no ints, or a negative one."""
    if not isinstance(value, Seq):
        return None
    loose = value.kind == "varargs"
    for position, item in enumerate(value.items):
        if not isinstance(item, Const) or isinstance(item.value, int):
            if not isinstance(item, Const) and not isinstance(item, DType):
                return None
            continue
        kind = reading.type_name(item)
        if loose and position == 0:
            if len(value.items) > 1:
                return None
            return error(
                "TypeError",
                "size",
                "isinstance(size, tuple)",
                f"{name}(): argument 'size' (position 1) must be tuple of ints, not {kind}",
            )
        if not variadic or (position == 0 and not loose):
            return None
        return error(
            "TypeError",
            "size",
            "all(isinstance(s, int) for s in size)",
            f"{name}(): argument 'size' failed to unpack the object at pos {position + 1} with error"
            f' "type must be tuple of ints,but got {kind}"',
        )
    return None


def negative_error(sizes: Shape, name: str = "") -> Raise | None:
    """The raise of a size that is certainly negative, at the first such."""
    for size in sizes:
        if dims.less(size, 0) is True:
            if name == "zeros":
                return error("RuntimeError", "size", "size >= 0", "zeros: Dimension size must be non-negative.")
            return error(
                "RuntimeError",
                "size",
                "size >= 0",
                "Trying to create tensor with negative dimension ",
                size,
                ": ",
                sizes,
            )
        if dims.less(size, 0) is None:
            return None
    return None


def sized(b: Bound, names: frozenset[str], device: Device | None, *, item: Const | None = None) -> Outcome:
    """A new contiguous tensor of the size in `size`."""
    size = b.get("size")
    broken = sizes_error(b.name, size, variadic=True)
    if broken is not None:
        return broken
    shape = None
    if isinstance(size, Seq):
        shape = reading.sizes_of(size.items if size.kind == "varargs" else (size,))
    elif reading.number_kind(size) is not None:
        return NO_RULE
    broken = (negative_error(shape, b.name) if shape is not None else None) or options_error(b, names)
    if broken is not None and device is not None and device.type == "meta":
        return replace(broken, message=(HolePart("message"),))
    if broken is not None:
        return broken
    decided = shape is not None and all(dims.less(s, 0) is False for s in shape)
    contiguous = True if reading.absent(b.get("memory_format")) else None
    grad = reading.flag(b.get("requires_grad"), default=False)
    result = fresh(names, shape, device, contiguous=contiguous, requires_grad=grad, item=item if shape == () else None)
    return ok(result, may_raise=not decided)


def _plain(b: Bound) -> Outcome:
    names = reading.dtypes_of(b.get("dtype")) or b.ambient.default_dtypes
    if b.data == "random" and not names & (FLOATING | COMPLEX) and names:
        return NO_RULE
    return sized(b, names, reading.device_of(b.get("device"), b.ambient.default_device))


def fill_dtypes(value: Value | None, default: frozenset[str]) -> frozenset[str]:
    """The dtypes that `torch.full` takes from its fill value."""
    match reading.number_kind(value):
        case "bool":
            return frozenset({"bool"})
        case "int":
            return frozenset({"int64"})
        case "float":
            return default
        case "complex":
            return COMPLEX
        case _:
            return value.dtypes if isinstance(value, Tensor) else ALL


def _full(b: Bound) -> Outcome:
    fill, size = b.get("fill_value"), b.get("size")
    kind = reading.number_kind(size)
    if kind is not None:
        return error(
            "TypeError",
            "size",
            "isinstance(size, tuple)",
            f"full(): argument 'size' (position 1) must be tuple of ints, not {kind}",
        )
    if isinstance(fill, Seq) and fill.kind in ("list", "tuple"):
        return error(
            "TypeError",
            "fill_value",
            "isinstance(fill_value, Number)",
            f"full(): argument 'fill_value' (position 2) must be Number, not {fill.kind}",
        )
    names = reading.dtypes_of(b.get("dtype")) or fill_dtypes(fill, b.ambient.default_dtypes)
    return sized(b, names, reading.device_of(b.get("device"), b.ambient.default_device))


def _like(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    names = reading.dtypes_of(b.get("dtype")) or source.dtypes
    broken = options_error(b, names)
    if broken is not None:
        return broken
    if b.data == "random" and not names & (FLOATING | COMPLEX):
        return NO_RULE
    format_ = b.get("memory_format")
    contiguous: bool | None = None
    strides = None
    if reading.absent(format_) or format_ == Opaque("torch.preserve_format"):
        strides = layout.like_strides(source.shape, source.strides, contiguous=source.contiguous)
        if (
            strides is not None
            and source.shape is not None
            and (is_meta(source) or not reading.absent(b.get("device")))
        ):
            strides = layout.loose(source.shape, strides)
        contiguous = True if source.contiguous else None
    device = reading.device_of(b.get("device"), source.device)
    grad = reading.flag(b.get("requires_grad"), default=False)
    made = fresh(names, source.shape, device, strides=strides, contiguous=contiguous, requires_grad=grad)
    return ok(_with_sites(made, source, b))


def _with_sites(made: Tensor, source: Tensor, b: Bound) -> Tensor:
    return Tensor(
        made.dtypes,
        made.shape,
        made.device,
        made.strides,
        made.requires_grad,
        source.dtype_site if reading.absent(b.get("dtype")) else None,
        source.shape_site if made.shape == source.shape else None,
        source.device_site if reading.absent(b.get("device")) else None,
        contiguous=made.contiguous,
    )


def _new(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    names = reading.dtypes_of(b.get("dtype")) or source.dtypes
    made = sized(b, names, reading.device_of(b.get("device"), source.device))
    if not isinstance(made, Result) or not isinstance(made.value, Tensor):
        return made
    return ok(_with_sites(made.value, source, b), may_raise=made.may_raise)


def _strided(b: Bound) -> Outcome:
    names = reading.dtypes_of(b.get("dtype")) or b.ambient.default_dtypes
    device = reading.device_of(b.get("device"), b.ambient.default_device)
    shape, strides = reading.sizes_of((b.named["size"],)), reading.sizes_of((b.named["stride"],))
    if shape is not None and strides is not None and len(shape) != len(strides):
        return NO_RULE
    return ok(fresh(names, shape, device, strides=strides, contiguous=None, requires_grad=None), may_raise=True)


ROWS: Final[tuple[Row, ...]] = (
    ("t", "zeros ones empty", f"*size {OPTIONS}", _plain),
    ("t", "rand randn", f"*size {OPTIONS}", _plain, "random"),
    ("t", "full", f"size fill_value {OPTIONS}", _full),
    ("t", "zeros_like ones_like empty_like", f":Tinput {OPTIONS}", _like),
    ("t", "rand_like randn_like", f":Tinput {OPTIONS}", _like, "random"),
    ("t", "full_like", f":Tinput fill_value {OPTIONS}", _like),
    ("t", "randint_like", f":Tinput low high? {OPTIONS}", _like, "randint"),
    ("m", "new_zeros new_ones new_empty", f":Tinput *size {OPTIONS}", _new),
    ("m", "new_full", f":Tinput size fill_value {OPTIONS}", _new),
    ("t", "empty_strided", f"size stride {OPTIONS}", _strided),
)
