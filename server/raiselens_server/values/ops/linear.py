"""`linear`, `addmm` and the products of fixed ranks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from raiselens_server.values import dims
from raiselens_server.values.lattice import HolePart, Tensor
from raiselens_server.values.ops import layout, reading
from raiselens_server.values.ops.building import error, ok
from raiselens_server.values.ops.devices import device_mismatch
from raiselens_server.values.ops.elementwise import is_meta
from raiselens_server.values.ops.matmul import (
    differ,
    mm_dtype_error,
    product,
    product_of,
    reduction_error,
    shapes_error,
    times,
)
from raiselens_server.values.ops.outcome import NO_RULE, Outcome, Result

if TYPE_CHECKING:
    from raiselens_server.values.ops.table import Bound, Row


def _fixed(b: Bound) -> Outcome:
    """`mm`, `bmm`, `mv` and `dot`: products of operands of fixed ranks."""
    ranks, texts, meta_texts = b.data
    left, right = b.tensor(), reading.tensor_of(list(b.named.values())[1])
    if left is None or right is None or left.shape == ():
        return NO_RULE
    for tensor, rank, text, meta_text in zip((left, right), ranks, texts, meta_texts, strict=True):
        if tensor.shape is not None and len(tensor.shape) != rank:
            other = right if tensor is left else left
            if other.shape is None and b.name in ("mv", "dot"):
                return error("RuntimeError", None, f"dim() == {rank}", HolePart("message"))
            shown = text.format(*(len(t.shape or ()) for t in (left, right)))
            if is_meta(left) or is_meta(right):
                return (
                    error("RuntimeError", None, f"dim() == {rank}", meta_text)
                    if meta_text
                    else error("RuntimeError", None, f"dim() == {rank}", HolePart("message"))
                )
            return error("RuntimeError", None, f"dim() == {rank}", shown)
    if b.name == "bmm" and left.shape and right.shape:
        (n, _, inner), (m, outer, _) = left.shape, right.shape
        if dims.equal(n, m) is False:
            text = "Expected size for first two dimensions of batch2 tensor to be: ["
            return error(
                "RuntimeError",
                "mat2",
                "the batch sizes are equal",
                text,
                n,
                ", ",
                inner,
                "] but got: [",
                m,
                ", ",
                outer,
                "].",
            )
    return product(left, right)


def _linear(b: Bound) -> Outcome:
    source, weight = b.tensor(), b.tensor("weight")
    if source is None or weight is None:
        return NO_RULE
    bias = b.get("bias")
    has_bias = isinstance(bias, Tensor)
    if (
        source.shape is None
        or weight.shape is None
        or len(weight.shape) != 2
        or (not has_bias and not reading.absent(bias))
    ):
        outcome = _loose_linear(source, weight)
        if isinstance(outcome, Result) and isinstance(outcome.value, Tensor) and not reading.absent(bias):
            return replace(outcome, value=replace(outcome.value, requires_grad=None))
        return outcome
    if not source.shape:
        text = f"both arguments to linear need to be at least 1D, but they are 0D and {len(weight.shape)}D"
        return error("RuntimeError", "input", "input.dim() > 0", text)
    plain = len(source.shape) == 2 and not has_bias
    broken = device_mismatch(source, weight, "mat2", "mm" if plain else None)
    if broken is not None:
        return broken
    out, inner = weight.shape
    shape = (*source.shape[:-1], out)
    meta = is_meta(source) or is_meta(weight) or (has_bias and isinstance(bias, Tensor) and is_meta(bias))
    mixed = meta and not (is_meta(source) and is_meta(weight) and (not isinstance(bias, Tensor) or is_meta(bias)))
    rows = layout.numel(source.shape[:-1])
    if mixed:
        return ok(Tensor(), may_raise=True)
    standard = source.contiguous and source.strides == layout.contiguous_strides(source.shape)
    if len(source.shape) > 2 and not standard and not meta:
        if dims.equal(source.shape[-1], inner) is False or (differ(source, weight) and 0 not in shape):
            return error("RuntimeError", "weight", "input.size(-1) == weight.size(1)", HolePart("message"))
        return ok(product_of(source, weight, shape), may_raise=True)
    if dims.equal(source.shape[-1], inner) is False:
        odd = has_bias and isinstance(bias, Tensor) and not source.dtypes == weight.dtypes == bias.dtypes
        if odd:
            return error("RuntimeError", "weight", "input.size(-1) == weight.size(1)", HolePart("message"))
        if meta:
            return reduction_error((rows, source.shape[-1]), (inner, out))
        return shapes_error(times(rows, source.shape[-1]), times(inner, out))
    certain = dims.equal(source.shape[-1], inner) is True
    if differ(source, weight) and not meta:
        if not has_bias:
            return mm_dtype_error(source, weight) or NO_RULE
        parts: tuple[object, ...] = (
            "mat1 and mat2 must have the same dtype, but got ",
            source.dtypes,
            " and ",
            weight.dtypes,
        )
        on_cpu = all(t.device is not None and t.device.type in ("cpu", "cuda") for t in (source, weight))
        simple = isinstance(bias, Tensor) and bias.dtypes == weight.dtypes and on_cpu and certain
        return error(
            "RuntimeError", "weight", "input.dtype == weight.dtype", *(parts if simple else (HolePart("message"),))
        )
    made = product_of(source, weight, shape)
    if isinstance(bias, Tensor) and bias.requires_grad is not False:
        made = replace(made, requires_grad=None)
    return ok(made, may_raise=not certain or has_bias or len(source.dtypes | weight.dtypes) > 1)


def _loose_linear(source: Tensor, weight: Tensor) -> Outcome:
    shape = None
    if source.shape and weight.shape is not None and len(weight.shape) == 2:
        shape = (*source.shape[:-1], weight.shape[0])
        if dims.equal(source.shape[-1], weight.shape[1]) is False:
            return error("RuntimeError", "weight", "input.size(-1) == weight.size(1)", HolePart("message"))
    if differ(source, weight) and not is_meta(source) and not is_meta(weight):
        return error("RuntimeError", "weight", "input.dtype == weight.dtype", HolePart("message"))
    return ok(product_of(source, weight, shape), may_raise=True)


def _addmm(b: Bound) -> Outcome:
    left, right = b.tensor("mat1"), b.tensor("mat2")
    if left is None or right is None:
        return NO_RULE
    a, c = left.shape, right.shape
    if a is not None and c is not None and len(a) == len(c) == 2 and dims.equal(a[1], c[0]) is False:
        if is_meta(left) or is_meta(right):
            return NO_RULE
        return error("RuntimeError", "mat2", "mat1.size(1) == mat2.size(0)", HolePart("message"))
    if differ(left, right) or is_meta(left) or is_meta(right):
        return ok(Tensor(), may_raise=True)
    shape = (a[0], c[1]) if a is not None and c is not None and len(a) == len(c) == 2 else None
    return ok(product_of(left, right, shape), may_raise=True)


ROWS: Final[tuple[Row, ...]] = (
    (
        "tm",
        "mm",
        ":Tinput :Tmat2",
        _fixed,
        ((2, 2), ("self must be a matrix", "mat2 must be a matrix"), ("a must be 2D", "b must be 2D")),
    ),
    (
        "tm",
        "bmm",
        ":Tinput :Tmat2",
        _fixed,
        ((3, 3), ("batch1 must be a 3D tensor", "batch2 must be a 3D tensor"), (None, None)),
    ),
    (
        "tm",
        "mv",
        ":Tinput :Tvec",
        _fixed,
        ((2, 1), ("vector + matrix @ vector expected, got 1, {0}, {1}",) * 2, (None, None)),
    ),
    (
        "tm",
        "dot",
        ":Tinput :Ttensor",
        _fixed,
        ((1, 1), ("1D tensors expected, but got {0}D and {1}D tensors",) * 2, (None, None)),
    ),
    ("f", "linear", ":Tinput :Tweight bias?", _linear),
    ("tm", "addmm", ":Tinput :Tmat1 :Tmat2 * beta? alpha?", _addmm),
)
