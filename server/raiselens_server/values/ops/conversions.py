"""Casts, moves and copies, and what a tensor answers about itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from raiselens_server.values import dims
from raiselens_server.values.dtypes import ALL, CAST_METHODS, COMPLEX, FLOATING, LEGACY
from raiselens_server.values.lattice import (
    Const,
    Device,
    DType,
    Named,
    Opaque,
    Tensor,
)
from raiselens_server.values.ops import layout, reading
from raiselens_server.values.ops.building import derive, error, ok
from raiselens_server.values.ops.elementwise import is_meta
from raiselens_server.values.ops.outcome import NO_RULE, Outcome

if TYPE_CHECKING:
    from raiselens_server.values.ops.table import Bound, Row


def converted(
    source: Tensor, names: frozenset[str], device: Device | None, *, copy: bool | None = False, plain: bool = True
) -> Outcome:
    """`source.to(device, dtype)`: the same tensor where nothing changes."""
    if is_meta(source) and device is not None and device.type != "meta":
        return error("NotImplementedError", "device", "not self.is_meta", "Cannot copy out of meta tensor; no data!")
    if (
        copy is False
        and plain
        and names == source.dtypes
        and len(names) == 1
        and device == source.device
        and device is not None
    ):
        return ok(source)
    strides = layout.like_strides(source.shape, source.strides, contiguous=source.contiguous) if plain else None
    if len(names) != 1 or len(source.dtypes) != 1 or device is None or source.device is None:
        same = layout.known(source.strides)
        strides = strides if strides == same or source.contiguous else None
    contiguous = True if source.contiguous and plain else None
    item = source.item if source.item is not None and names == source.dtypes else None
    made = derive(source, names=names, device=device, strides=strides, contiguous=contiguous, item=item)
    return ok(made, may_raise=device != source.device)


def _to(b: Bound) -> Outcome:
    source, rest = (b.args[0], b.args[1:]) if b.args else (None, ())
    if not isinstance(source, Tensor) or (
        "dtype" in b.named and any(isinstance(value, Tensor | DType) for value in rest)
    ):
        return NO_RULE
    names, device = source.dtypes, source.device
    plain = "memory_format" not in b.named
    copy: bool | None = reading.flag(b.get("copy"), default=False)
    for position, value in enumerate(
        [*rest[:2], *(b.named[key] for key in ("device", "dtype", "other", "tensor") if key in b.named)]
    ):
        match value:
            case DType():
                names = value.names
            case Device() | Const(value=str()):
                if isinstance(value, Const) and reading.parse_device(str(value.value)) is None:
                    return NO_RULE
                device = reading.device_of(value, None)
            case Const(value=None):
                continue
            case Const(value=bool()):
                continue
            case Const(value=int()) | Opaque(type="int"):
                device = None
            case Tensor():
                names, device = value.dtypes, value.device
            case Named() if (found := reading.dtypes_of(value)) is not None and len(found) == 1:
                names = found
            case _:
                names, device = (ALL, None) if position < len(rest[:2]) else (names, device)
                if position >= len(rest[:2]):
                    names = ALL if value is b.named.get("dtype") else names
                    device = None if value is b.named.get("device") else device
                copy = None
    if len(rest) > 2:
        flags = rest[2:]
        copy = reading.flag(flags[-1], default=False) if len(flags) > 1 or not isinstance(rest[1], DType) else copy
        copy = None
    return converted(source, names, device, copy=copy, plain=plain)


def _cast(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    return converted(source, frozenset({b.data}), source.device, plain=reading.absent(b.get("memory_format")))


def _type(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    wanted = b.get("dtype")
    if reading.absent(wanted):
        return ok(Opaque("str"))
    if isinstance(wanted, DType):
        return converted(source, wanted.names, source.device)
    text = wanted.value if isinstance(wanted, Const) else wanted.name if isinstance(wanted, Named) else None
    if not isinstance(text, str) or not text.startswith("torch."):
        return ok(Tensor(shape=source.shape, shape_site=source.shape_site), may_raise=True)
    name = LEGACY.get(text.removeprefix("torch.").removeprefix("cuda.").removesuffix("Tensor"))
    if name is None:
        return NO_RULE
    on_cuda = text.startswith("torch.cuda.")
    return converted(source, frozenset({name}), Device("cuda") if on_cuda else Device("cpu"))


def _type_as(b: Bound) -> Outcome:
    source, other = b.tensor(), b.tensor("other")
    if source is None or other is None:
        return NO_RULE
    return converted(source, other.dtypes, other.device)


def _move(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    device = Device(b.data)
    target = b.get("device")
    if b.data != "cpu":
        if isinstance(target, Const) and isinstance(target.value, int) and not isinstance(target.value, bool):
            device = Device(b.data, target.value)
        elif not reading.absent(target):
            found = reading.device_of(target, None)
            return converted(source, source.dtypes, found)
    if source.device is not None and source.device.type == device.type and device.index is None:
        device = source.device
    return converted(source, source.dtypes, device, plain=reading.absent(b.get("memory_format")))


def _clone(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    if not reading.absent(b.get("memory_format")):
        return ok(derive(source, strides=None))
    strides = layout.like_strides(source.shape, source.strides, contiguous=source.contiguous)
    return ok(derive(source, strides=strides, contiguous=True if source.contiguous else None, item=source.item))


def _contiguous(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    if not reading.absent(b.get("memory_format")) and b.get("memory_format") != Named("torch.contiguous_format"):
        return ok(derive(source, strides=None))
    if source.contiguous:
        return ok(source)
    strides = None if source.shape is None else layout.contiguous_strides(source.shape)
    if strides is not None and source.shape is not None and source.contiguous is None:
        strides = layout.loose(source.shape, strides)
    return ok(derive(source, strides=strides, contiguous=True, item=source.item))


def _detach(b: Bound) -> Outcome:
    source = b.tensor()
    return NO_RULE if source is None else ok(derive(source, requires_grad=False, item=source.item))


def _requires_grad_(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    wanted = reading.flag(b.get("requires_grad"), default=True)
    if wanted and not source.dtypes & (FLOATING | COMPLEX):
        text = "only Tensors of floating point dtype can require gradients"
        return error("RuntimeError", None, "is_floating_point()", text)
    return ok(replace(source, requires_grad=wanted))


def _same(b: Bound) -> Outcome:
    source = b.tensor()
    return NO_RULE if source is None else ok(source)


def view_dtype(source: Tensor, names: frozenset[str]) -> Outcome:
    """`source.view(dtype)`: the last size changes with the size of the elements."""
    old, new = reading.element_bits(source.dtypes), reading.element_bits(names)
    if old is None or new is None:
        return ok(derive(source, names=names, shape=None), may_raise=True)
    if old == new:
        return ok(derive(source, names=names, strides=source.strides))
    if source.shape is None:
        return ok(derive(source, names=names, shape=None), may_raise=True)
    cast = (source.dtypes, " as ", names, " (different element sizes)")
    if not source.shape:
        return error("RuntimeError", "dtype", "self.dim() > 0", "self.dim() cannot be 0 to view ", *cast)
    size = source.shape[-1]
    step = source.strides[-1] if source.strides is not None else None
    if new > old:
        ratio = new // old
        if size is not None and dims.remainder(size, ratio) not in (0, None):
            text = f"self.size(-1) must be divisible by {ratio} to view "
            return error("RuntimeError", "dtype", f"self.size(-1) % {ratio} == 0", text, *cast, ", but got ", size)
        new_size = dims.floor_divide(size, ratio) if size is not None else None
    else:
        ratio = old // new
        new_size = dims.multiply(size, ratio)
    if (
        step is not None
        and dims.equal(step, 1) is False
        and (new < old or (size is not None and dims.remainder(size, ratio) == 0))
    ):
        return error(
            "RuntimeError",
            "dtype",
            "self.stride(-1) == 1",
            "self.stride(-1) must be 1 to view ",
            *cast,
            ", but got ",
            step,
        )
    contiguous = True if source.contiguous else None
    return ok(
        derive(source, names=names, shape=(*source.shape[:-1], new_size), contiguous=contiguous),
        may_raise=contiguous is None,
    )


ROWS: Final[tuple[Row, ...]] = (
    ("m", "to", None, _to),
    *(
        ("m", name, ":Tinput memory_format?", _cast, dtype)
        for name, dtype in (CAST_METHODS | {"cfloat": "complex64", "cdouble": "complex128"}).items()
    ),
    ("m", "type", ":Tinput dtype? non_blocking?", _type),
    ("m", "type_as", ":Tinput :Tother", _type_as),
    ("m", "cpu", ":Tinput memory_format?", _move, "cpu"),
    ("m", "cuda", ":Tinput device? non_blocking? memory_format?", _move, "cuda"),
    ("tm", "clone", ":Tinput * memory_format?", _clone),
    ("m", "contiguous", ":Tinput memory_format?", _contiguous),
    ("tmi", "detach", ":Tinput", _detach),
    ("m", "requires_grad_", ":Tinput requires_grad?", _requires_grad_),
    ("m", "pin_memory share_memory_", ":Tinput device?", _same),
)
