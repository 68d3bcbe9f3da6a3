"""Matrix products: `matmul` and what it falls apart into, `linear`, `addmm`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from raiselens_server.values import dims
from raiselens_server.values.dtypes import only
from raiselens_server.values.lattice import HolePart, Tensor
from raiselens_server.values.ops import layout
from raiselens_server.values.ops.building import C_TYPES, derive, dtype_text, error, inherited_grad, ok
from raiselens_server.values.ops.devices import device_mismatch
from raiselens_server.values.ops.elementwise import is_meta
from raiselens_server.values.ops.layout import Mismatch
from raiselens_server.values.ops.outcome import NO_RULE, Outcome, Raise

if TYPE_CHECKING:
    from raiselens_server.values.dims import Dim
    from raiselens_server.values.ops.layout import Shape
    from raiselens_server.values.ops.table import Bound, Row


def times(rows: Dim | None, columns: Dim | None) -> tuple[object, ...]:
    """`3x4`, as messages print a matrix."""
    return (rows, "x", columns)


def shapes_error(left: tuple[object, ...], right: tuple[object, ...]) -> Raise:
    """The raise of two matrices, each as the parts of `3x4`, whose inner sizes differ."""
    return error(
        "RuntimeError",
        "mat2",
        "mat1.size(1) == mat2.size(0)",
        "mat1 and mat2 shapes cannot be multiplied (",
        *left,
        " and ",
        *right,
        ")",
    )


def reduction_error(left: Shape, right: Shape) -> Raise:
    """The same raise on meta tensors."""
    text = "a and b must have same reduction dim, but got "
    return error("RuntimeError", "mat2", "mat1.size(1) == mat2.size(0)", text, left, " X ", right, ".")


def differ(left: Tensor, right: Tensor) -> bool:
    """Whether the dtypes certainly differ."""
    return bool(left.dtypes) and bool(right.dtypes) and not left.dtypes & right.dtypes


def element(names: frozenset[str]) -> str | HolePart:
    """C++'s element type, or a hole."""
    name = only(names)
    return C_TYPES.get(name, HolePart("dtype")) if name else HolePart("dtype")


def mm_dtype_error(left: Tensor, right: Tensor) -> Raise | None:
    """The raise of two matrices of different dtypes, if certain; meta tensors mix them silently."""
    if not differ(left, right) or is_meta(left) or is_meta(right):
        return None
    on = {t.device.type for t in (left, right) if t.device is not None}
    named: object = "m1 and m2" if on == {"cpu"} else "mat1 and mat2" if on == {"cuda"} else HolePart("operands")
    return error(
        "RuntimeError",
        "mat2",
        "mat1.dtype == mat2.dtype",
        "expected ",
        named,
        " to have the same dtype, but got: ",
        element(left.dtypes),
        " != ",
        element(right.dtypes),
    )


_METHODS: Final[dict[tuple[int, int], tuple[str, str | None]]] = {
    (1, 1): ("tensor", "_dot"),
    (2, 2): ("mat2", "mm"),
    (3, 3): ("mat2", "bmm"),
}


def product(left: Tensor, right: Tensor) -> Outcome:
    """`left @ right`."""
    a, b = left.shape, right.shape
    if a is None or b is None:
        return _unknown_rank(left, right)
    if not a or not b:
        text = f"both arguments to matmul need to be at least 1D, but they are {len(a)}D and {len(b)}D"
        return error("RuntimeError", None, "self.dim() > 0 and other.dim() > 0", text)
    broken = device_mismatch(left, right, *_METHODS.get((len(a), len(b)), ("mat2", None)))
    if broken is not None:
        return broken
    match len(a), len(b):
        case 1, 1:
            return _dot(left, right)
        case _, 1:
            return _matrix_vector(left, right, a, b)
        case 1 | 2, 2:
            return _matrices(left, right, (1, *a) if len(a) == 1 else a, b, drop=len(a) == 1)
        case _, 2:
            return _matrices(left, right, (layout.numel(a[:-1]), a[-1]), b, batch=a[:-1])
        case _:
            return _batches(left, right, a, b)


def _unknown_rank(left: Tensor, right: Tensor) -> Outcome:
    if differ(left, right) and not is_meta(left) and not is_meta(right):
        return error("RuntimeError", "other", "the dtypes are equal", HolePart("message"))
    return ok(product_of(left, right, None), may_raise=True)


def product_of(left: Tensor, right: Tensor, shape: Shape | None) -> Tensor:
    """The new tensor of shape `shape` that a product of the two gives."""
    mixed = is_meta(left) or is_meta(right) or differ(left, right)
    names = left.dtypes | right.dtypes if mixed else left.dtypes & right.dtypes
    device = left.device if left.device is not None and not is_meta(left) and not is_meta(right) else None
    if left.device == right.device:
        device = left.device
    elif is_meta(left) or is_meta(right) or left.device is None or right.device is None:
        device = None
    if device is not None and right.device is not None and device.type == right.device.type and device.index is None:
        device = right.device
    grad = False if left.requires_grad is False and right.requires_grad is False else None
    return derive(
        left,
        names=names or left.dtypes,
        shape=shape,
        device=device,
        strides=None,
        contiguous=True,
        requires_grad=inherited_grad(grad, names),
    )


def _dot(left: Tensor, right: Tensor) -> Outcome:
    a, b = left.shape or (None,), right.shape or (None,)
    if differ(left, right):
        meta = is_meta(left) or is_meta(right)
        shown = [dtype_text(t.dtypes) if meta else t.dtypes for t in (left, right)]
        if is_meta(left) == is_meta(right):
            text = "dot : expected both vectors to have same dtype, but found "
            return error("RuntimeError", "other", "self.dtype == other.dtype", text, shown[0], " and ", shown[1])
        return ok(product_of(left, right, ()), may_raise=True)
    if dims.equal(a[0], b[0]) is False and is_meta(left) == is_meta(right):
        gap = "the" if is_meta(left) else "the "
        return error(
            "RuntimeError",
            "other",
            "self.numel() == other.numel()",
            "inconsistent tensor size, expected tensor ",
            a,
            " and src ",
            b,
            f" to have {gap}same number of elements, but got ",
            a[0],
            " and ",
            b[0],
            " elements respectively",
        )
    return ok(product_of(left, right, ()), may_raise=a[0] != b[0] or a[0] is None)


def _matrix_vector(left: Tensor, right: Tensor, a: Shape, b: Shape) -> Outcome:
    rows = layout.numel(a[:-1])
    meta = is_meta(left) or is_meta(right)
    if len(a) > 2 and left.strides != layout.contiguous_strides(a) and dims.equal(a[-1], b[0]) is False:
        return error("RuntimeError", "vec", "self.size(-1) == vec.size(0)", HolePart("message"))
    if dims.equal(a[-1], b[0]) is False and not (meta and not (is_meta(left) and is_meta(right))):
        if meta:
            return error(
                "RuntimeError",
                "vec",
                "self.size(1) == vec.size(0)",
                "size mismatch, got input (",
                rows,
                "x",
                a[-1],
                "), vec (",
                b[0],
                ")",
            )
        return error(
            "RuntimeError",
            "vec",
            "self.size(1) == vec.size(0)",
            "size mismatch, got input (",
            rows,
            "), mat (",
            rows,
            "x",
            a[-1],
            "), vec (",
            b[0],
            ")",
        )
    if differ(left, right) and not meta:
        certain = dims.equal(a[-1], b[0]) is True
        parts: tuple[object, ...] = (
            "addmv input tensors must have the same dtype, but got ",
            right.dtypes,
            ", ",
            left.dtypes,
            ", and ",
            right.dtypes,
        )
        return error("RuntimeError", "vec", "self.dtype == vec.dtype", *(parts if certain else (HolePart("message"),)))
    return ok(product_of(left, right, a[:-1]), may_raise=a[-1] != b[0] or a[-1] is None)


def _matrices(
    left: Tensor, right: Tensor, a: Shape, b: Shape, *, drop: bool = False, batch: Shape | None = None
) -> Outcome:
    meta = is_meta(left) or is_meta(right)
    standard = left.contiguous and left.strides == layout.contiguous_strides(left.shape or ())
    if batch is not None and not standard and not (meta and is_meta(left) and is_meta(right)):
        if dims.equal(a[1], b[0]) is False or (differ(left, right) and not meta and 0 not in (*a, *b)):
            return error("RuntimeError", "other", "self.size(-1) == other.size(-2)", HolePart("message"))
        return ok(product_of(left, right, (*batch, b[1])), may_raise=True)
    if dims.equal(a[1], b[0]) is False:
        if meta:
            return reduction_error(a, b)
        return shapes_error(times(a[0], a[1]), times(b[0], b[1]))
    broken = mm_dtype_error(left, right)
    if broken is not None:
        return broken
    shape = (*batch, b[1]) if batch is not None else (b[1],) if drop else (a[0], b[1])
    return ok(
        product_of(left, right, shape), may_raise=a[1] is None or a[1] != b[0] or len(left.dtypes | right.dtypes) > 1
    )


def _batches(left: Tensor, right: Tensor, a: Shape, b: Shape) -> Outcome:
    rows, inner = (a[-2] if len(a) > 1 else 1, a[-1])
    if len(b) == 1:
        return NO_RULE
    outer, columns = b[-2], b[-1]
    batch = layout.broadcast(a[:-2], b[:-2])
    if isinstance(batch, Mismatch):
        if is_meta(left) or is_meta(right):
            return error("RuntimeError", "other", "the batch sizes broadcast", HolePart("message"))
        return error(
            "RuntimeError",
            "other",
            "the batch sizes broadcast",
            "The size of tensor a (",
            batch.left,
            ") must match the size of tensor b (",
            batch.right,
            ") at non-singleton dimension ",
            batch.dim,
        )
    if dims.equal(inner, outer) is False and (is_meta(left) or 0 in (*a, *b)):
        return error("RuntimeError", "other", "self.size(-1) == other.size(-2)", HolePart("message"))
    if dims.equal(inner, outer) is False:
        total = layout.numel(batch.shape)
        text = "Expected size for first two dimensions of batch2 tensor to be: ["
        if is_meta(left) != is_meta(right) or len(a) < 3:
            return error("RuntimeError", "other", "self.size(-1) == other.size(-2)", HolePart("message"))
        return error(
            "RuntimeError",
            "other",
            "self.size(-1) == other.size(-2)",
            text,
            total,
            ", ",
            inner,
            "] but got: [",
            total,
            ", ",
            outer,
            "].",
        )
    if differ(left, right) and is_meta(left) == is_meta(right) and 0 not in (*a, *b):
        certain = len(a) > 2 and dims.equal(inner, outer) is True and batch.decided
        shown = [dtype_text(t.dtypes) if is_meta(left) else t.dtypes for t in (left, right)]
        on_cpu = all(t.device is not None and t.device.type in ("cpu", "meta") for t in (left, right))
        parts: tuple[object, ...] = ("expected scalar type ", shown[0], " but found ", shown[1])
        found = error(
            "RuntimeError",
            "other",
            "self.dtype == other.dtype",
            *(parts if certain and on_cpu else (HolePart("message"),)),
        )
        return replace(found, earlier="bool" in left.dtypes | right.dtypes)
    shape = (*batch.shape, columns) if len(a) == 1 else (*batch.shape, rows, columns)
    return ok(product_of(left, right, shape), may_raise=inner is None or inner != outer or not batch.decided)


def _matmul(b: Bound) -> Outcome:
    left, right = b.tensor(), b.tensor("other")
    return NO_RULE if left is None or right is None else product(left, right)


ROWS: Final[tuple[Row, ...]] = (
    ("tm", "matmul", ":Tinput :Tother", _matmul),
    ("l", "matmul", ":Tinput :Tother", _matmul),
)
