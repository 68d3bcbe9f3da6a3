"""Operations of no family: parameters, complex views, sampling, sets, storage."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from raiselens_server.values import dims
from raiselens_server.values.dtypes import COMPLEX, FLOATING, INTEGRAL
from raiselens_server.values.lattice import NONE, Opaque, Seq, Tensor, Unknown
from raiselens_server.values.ops import axes, layout, reading
from raiselens_server.values.ops.building import derive, error, ok
from raiselens_server.values.ops.elementwise import is_meta
from raiselens_server.values.ops.outcome import NO_RULE, Outcome, Raise

if TYPE_CHECKING:
    from raiselens_server.values.ops.table import Bound, Row

_LONG: Final = frozenset({"int64"})
_DISCRETE: Final = INTEGRAL | {"bool"}
_COMPLEX_OF: Final = {"float16": "complex32", "float32": "complex64", "float64": "complex128"}
_REAL_OF: Final = {made: name for name, made in _COMPLEX_OF.items()}


def _parameter(b: Bound) -> Outcome:
    source = reading.tensor_of(b.get("data"))
    if source is None:
        return NO_RULE
    wanted = reading.flag(b.get("requires_grad"), default=True)
    if wanted and source.dtypes and source.dtypes <= _DISCRETE:
        text = "Only Tensors of floating point and complex dtype can require gradients"
        return error("RuntimeError", "data", "data.is_floating_point() or data.is_complex()", text)
    return ok(
        replace(source, requires_grad=wanted, parameter=True, item=None),
        may_raise=not source.dtypes <= FLOATING | COMPLEX,
    )


def _as_real(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    if source.dtypes and not source.dtypes & COMPLEX:
        text = "view_as_real is only supported for complex tensors"
        return error("RuntimeError", "input", "input.is_complex()", text)
    names = frozenset(_REAL_OF[name] for name in source.dtypes & COMPLEX)
    shape = None if source.shape is None else (*source.shape, 2)
    return ok(
        derive(source, names=names, shape=shape, strides=None, contiguous=source.contiguous or None), may_raise=True
    )


def _as_complex(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None or is_meta(source):
        return NO_RULE
    if source.dtypes and not source.dtypes & _COMPLEX_OF.keys():
        text = "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
        return error("RuntimeError", "input", "input.dtype in (half, float, double)", text, source.dtypes)
    shape = source.shape
    if shape and dims.equal(shape[-1], 2) is False and source.dtypes <= _COMPLEX_OF.keys():
        text = "Tensor must have a last dimension of size 2"
        return error("RuntimeError", "input", "input.size(-1) == 2", text)
    names = frozenset(_COMPLEX_OF[name] for name in source.dtypes & _COMPLEX_OF.keys())
    return ok(derive(source, names=names, shape=shape[:-1] if shape else None, strides=None), may_raise=True)


def _multinomial(b: Bound) -> Outcome:
    source, count = b.tensor(), reading.size_of(b.named["num_samples"])
    if source is None:
        return NO_RULE
    if source.dtypes and source.dtypes <= _DISCRETE and not is_meta(source):
        text = "multinomial only supports floating-point dtypes for input, got: "
        found = error("RuntimeError", "input", "input.is_floating_point()", text, source.dtypes)
        plain = "replacement" not in b.named and source.shape is not None and len(source.shape) in (1, 2)
        return found if plain else replace(found, earlier=True)
    shape = None if not source.shape else (*source.shape[:-1], count)
    return ok(derive(source, names=_LONG, shape=shape, strides=None, requires_grad=False), may_raise=True)


def _search(b: Bound) -> Outcome:
    source = b.tensor("input")
    if source is None:
        return ok(Tensor(_LONG | {"int32"}), may_raise=True)
    narrow = reading.flag(b.get("out_int32"), default=False)
    names = _LONG if narrow is False else frozenset({"int32"}) if narrow else _LONG | {"int32"}
    return ok(derive(source, names=names, strides=None, requires_grad=False), may_raise=True)


def _unique(b: Bound) -> Outcome:
    source = b.tensor()
    plain = all(reading.flag(b.get(name), default=False) is False for name in ("return_inverse", "return_counts"))
    if source is None or not plain:
        return ok(Unknown("unique"), may_raise=True)
    shape = (None,) if reading.absent(b.get("dim")) else None
    return ok(derive(source, shape=shape, strides=None, requires_grad=None), may_raise=True)


def _membership(b: Bound) -> Outcome:
    source = reading.tensor_of(b.get("elements"))
    if not isinstance(b.get("elements"), Tensor) or source is None:
        return NO_RULE
    return ok(derive(source, names=frozenset({"bool"}), strides=None, requires_grad=False), may_raise=True)


def _strided(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    shape, strides = reading.sizes_of((b.named["size"],)), reading.sizes_of((b.named["stride"],))
    if shape is None or strides is None or len(shape) != len(strides):
        return ok(derive(source, shape=shape, strides=None), may_raise=True)
    return ok(derive(source, shape=shape, strides=strides), may_raise=True)


def _windows(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    if not source.shape:
        return ok(derive(source, shape=None), may_raise=True)
    dim = axes.wrap(b.get("dimension"), len(source.shape), param="dimension")
    if isinstance(dim, Raise):
        return dim
    width, step = reading.constant_int(b.get("size")), reading.constant_int(b.get("step"))
    if dim is None or width is None or not step or step < 0:
        return ok(derive(source, shape=(None,) * (len(source.shape) + 1)), may_raise=True)
    size = source.shape[dim]
    if isinstance(size, int) and 0 <= size < width:
        text = f"maximum size for tensor at dimension {dim} is {size} but size is {width}"
        return error("RuntimeError", "size", "size <= self.size(dimension)", text)
    count = (size - width) // step + 1 if isinstance(size, int) else None
    shape = (*source.shape[:dim], count, *source.shape[dim + 1 :], width)
    return ok(derive(source, shape=shape), may_raise=True)


def _resized(b: Bound) -> Outcome:
    source, size = b.tensor(), b.get("size")
    if source is None:
        return NO_RULE
    loose = size.items if isinstance(size, Seq) and size.kind == "varargs" else () if size is None else (size,)
    shape = reading.sizes_of(loose)
    strides = None if shape is None else layout.contiguous_strides(shape)
    return ok(replace(derive(source, shape=shape, strides=strides), requires_grad=source.requires_grad), may_raise=True)


def _bool(_: Bound) -> Outcome:
    return ok(Opaque("bool"), may_raise=True)


def _int(_: Bound) -> Outcome:
    return ok(Opaque("int"), may_raise=True)


def _none(_: Bound) -> Outcome:
    return ok(NONE, may_raise=True)


ROWS: Final[tuple[Row, ...]] = (
    ("d", "torch.nn.Parameter torch.nn.parameter.Parameter", "data? requires_grad?", _parameter),
    ("t", "view_as_real", ":Tinput", _as_real),
    ("t", "view_as_complex", ":Tinput", _as_complex),
    ("tm", "multinomial", ":Tinput num_samples replacement? * generator?", _multinomial),
    ("t", "searchsorted", "sorted_sequence input * out_int32? right? side? sorter?", _search),
    ("t", "bucketize", "input boundaries * out_int32? right?", _search),
    ("tm", "unique", ":Tinput sorted? return_inverse? return_counts? dim?", _unique),
    ("t", "isin", "elements test_elements * assume_unique? invert?", _membership),
    ("tm", "as_strided", ":Tinput size stride storage_offset?", _strided),
    ("m", "unfold", ":Tinput dimension size step", _windows),
    ("m", "resize_", ":Tinput *size memory_format?", _resized),
    ("tm", "allclose", ":Tinput :Tother rtol? atol? equal_nan?", _bool),
    ("m", "is_pinned is_shared is_inference", ":Tinput", _bool),
    ("m", "data_ptr storage_offset", ":Tinput", _int),
    ("m", "record_stream", ":Tinput stream", _none),
    ("m", "backward", ":Tinput gradient? retain_graph? create_graph? inputs?", _none),
)
