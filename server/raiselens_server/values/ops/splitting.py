"""Taking tensors apart and repeating them: `split`, `chunk`, `unbind`, `repeat`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from raiselens_server.values import dims
from raiselens_server.values.lattice import Const, Seq, Tensor, Unknown
from raiselens_server.values.ops import axes, layout, reading
from raiselens_server.values.ops.building import derive, error, ok
from raiselens_server.values.ops.outcome import NO_RULE, Outcome, Raise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raiselens_server.values.dims import Dim
    from raiselens_server.values.ops.layout import Shape
    from raiselens_server.values.ops.table import Bound, Row

_LIMIT: Final = 64


def _split(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    if source.shape is None:
        return ok(Unknown("split"), may_raise=True)
    if not source.shape:
        return error("RuntimeError", None, "self.dim() > 0", "split expects at least a 1-dimensional tensor")
    value = b.get("dim")
    dim = axes.wrap(Const(0) if value is None else value, len(source.shape))
    if isinstance(dim, Raise):
        return dim
    if dim is None or not source.shape:
        return ok(Unknown("split"), may_raise=True)
    size = source.shape[dim]
    wanted = b.get("split_size") or b.get("split_size_or_sections")
    if isinstance(wanted, Seq):
        return _by_sizes(source, dim, size, wanted, reading.constant_int(value) or 0)
    step = reading.constant_int(wanted)
    if step is not None and step < 0:
        text = f"split expects split_size be non-negative, but got split_size={step}"
        return error("RuntimeError", "split_size", "split_size >= 0", text)
    if step == 0 and isinstance(size, int) and size:
        text = f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}"
        return error("RuntimeError", "split_size", "split_size > 0", text)
    if not step or not isinstance(size, int) or size // step > _LIMIT:
        return ok(Unknown("split"), may_raise=True)
    return ok(_parts(source, dim, [min(step, size - start) for start in range(0, max(size, 1), step)]))


def _by_sizes(source: Tensor, dim: int, size: Dim | None, wanted: Seq, given: int) -> Outcome:
    sizes = reading.sizes_of((wanted,))
    if sizes is None or len(sizes) > _LIMIT:
        return ok(Unknown("split"), may_raise=True)
    total: Dim | None = 0
    for part in sizes:
        total = None if total is None or part is None else dims.add(total, part)
    if dims.equal(total, size) is False and all(dims.less(part, 0) is False for part in sizes):
        return error(
            "RuntimeError",
            "split_sizes",
            "sum(split_sizes) == self.size(dim)",
            "split_with_sizes expects split_sizes to sum exactly to ",
            size,
            f" (input tensor's size at dimension {given}), but got split_sizes=",
            sizes,
        )
    return ok(_parts(source, dim, sizes), may_raise=dims.equal(total, size) is None)


def _parts(source: Tensor, dim: int, sizes: Sequence[Dim | None]) -> Seq:
    shape = source.shape or ()
    return Seq(
        tuple(derive(source, shape=(*shape[:dim], size, *shape[dim + 1 :]), strides=source.strides) for size in sizes)
    )


def _chunk(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    if source.shape is None:
        return ok(Unknown("chunk"), may_raise=True)
    if not source.shape:
        return error("RuntimeError", None, "self.dim() > 0", "chunk expects at least a 1-dimensional tensor")
    count = reading.constant_int(b.get("chunks"))
    if count is not None and count <= 0:
        text = f"chunk expects `chunks` to be greater than 0, got: {count}"
        return error("RuntimeError", "chunks", "chunks > 0", text)
    value = b.get("dim")
    dim = axes.wrap(Const(0) if value is None else value, len(source.shape))
    if isinstance(dim, Raise):
        return dim
    if dim is None or count is None or not source.shape or count > _LIMIT:
        return ok(Unknown("chunk"), may_raise=True)
    size = source.shape[dim]
    if not isinstance(size, int):
        even = dims.floor_divide(size, count) if size is not None else None
        return ok(Unknown("chunk") if even is None else _parts(source, dim, [even] * count))
    step = -(-size // count)
    if step == 0:
        return ok(_parts(source, dim, [0] * count))
    return ok(_parts(source, dim, [min(step, size - start) for start in range(0, size, step)]))


def _unbind(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    if source.shape is None:
        return ok(Unknown("unbind"), may_raise=True)
    value = b.get("dim")
    dim = axes.wrap(Const(0) if value is None else value, len(source.shape))
    if isinstance(dim, Raise):
        return dim
    if not source.shape:
        return (
            error("IndexError", "dim", "self.dim() > 0", "Dimension specified as 0 but tensor has no dimensions")
            if dim == 0
            else NO_RULE
        )
    size = source.shape[dim] if dim is not None else None
    if dim is None or not isinstance(size, int) or size > _LIMIT:
        return ok(Unknown("unbind"), may_raise=True)
    strides = source.strides
    part = derive(
        source,
        shape=(*source.shape[:dim], *source.shape[dim + 1 :]),
        strides=None if strides is None else (*strides[:dim], *strides[dim + 1 :]),
    )
    return ok(Seq((part,) * size))


def _repeat(b: Bound) -> Outcome:
    source, value = b.tensor(), b.get("repeats")
    if source is None:
        return NO_RULE
    counts = None
    if isinstance(value, Seq):
        counts = reading.sizes_of(value.items if value.kind == "varargs" else (value,))
    if counts is None or source.shape is None:
        return ok(derive(source, shape=None), may_raise=True)
    missing = len(counts) - len(source.shape)
    if missing < 0:
        if b.name == "repeat":
            text = "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
            return error("RuntimeError", "repeats", "len(repeats) >= self.dim()", text)
        counts, missing = ((1,) * -missing + counts, 0)
    shape = tuple(dims.multiply(size, count) for size, count in zip((1,) * missing + source.shape, counts, strict=True))
    if any(dims.less(count, 0) is not False for count in counts):
        return ok(derive(source, shape=tuple(None for _ in shape)), may_raise=True)
    return ok(fresh_of(source, shape))


def fresh_of(source: Tensor, shape: Shape) -> Tensor:
    """A new contiguous tensor with the dtype and device of `source`."""
    return derive(source, shape=shape, strides=None, contiguous=True)


def _repeat_interleave(b: Bound) -> Outcome:
    source, repeats = b.tensor(), b.get("repeats")
    if source is None or source.shape is None or repeats is None:
        return NO_RULE
    count = reading.size_of(repeats) if reading.number_kind(repeats) == "int" else None
    if reading.absent(b.get("dim")):
        total = dims.multiply(layout.numel(source.shape), count)
        return ok(derive(source, shape=(total,), strides=None), may_raise=True)
    dim = axes.wrap(b.get("dim"), len(source.shape))
    if isinstance(dim, Raise):
        return dim
    if dim is None or not source.shape:
        return ok(derive(source, shape=None), may_raise=True)
    size = dims.multiply(source.shape[dim], count)
    return ok(derive(source, shape=(*source.shape[:dim], size, *source.shape[dim + 1 :]), strides=None), may_raise=True)


ROWS: Final[tuple[Row, ...]] = (
    ("t", "split", ":Tinput split_size_or_sections dim?", _split),
    ("m", "split", ":Tinput split_size dim?", _split),
    ("tm", "chunk", ":Tinput chunks dim?", _chunk),
    ("tm", "unbind", ":Tinput dim?", _unbind),
    ("m", "repeat", ":Tinput *repeats", _repeat),
    ("m", "tile", ":Tinput *repeats", _repeat),
    ("tm", "repeat_interleave", ":Tinput repeats dim? * output_size?", _repeat_interleave),
)
