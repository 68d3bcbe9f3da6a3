"""`view`, `reshape` and `expand`: other sizes for the same elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from raiselens_server.values import dims
from raiselens_server.values.dtypes import ALL
from raiselens_server.values.lattice import DType, HolePart, Named, Seq, Tensor
from raiselens_server.values.ops import layout, reading
from raiselens_server.values.ops.building import derive, error, legacy_type, ok
from raiselens_server.values.ops.conversions import view_dtype
from raiselens_server.values.ops.outcome import NO_RULE, Outcome, Raise

if TYPE_CHECKING:
    from raiselens_server.values.dims import Dim
    from raiselens_server.values.ops.layout import Shape
    from raiselens_server.values.ops.table import Bound, Row

_INCOMPATIBLE: Final = (
    "view size is not compatible with input tensor's size and stride (at least one dimension spans across two"
    " contiguous subspaces). Use .reshape(...) instead."
)


def _sizes(b: Bound, name: str) -> Shape | None:
    value = b.get(name)
    if not isinstance(value, Seq):
        return None
    return reading.sizes_of(value.items if value.kind == "varargs" else (value,))


def _view(b: Bound) -> Outcome:
    named = "size" if b.data == "view" else "shape"
    source, size = b.tensor(), b.get(named)
    if source is None:
        return NO_RULE
    if b.data == "view":
        wanted = size.items[0] if isinstance(size, Seq) and len(size.items) == 1 and size.kind == "varargs" else size
        if isinstance(wanted, DType | Named) and reading.dtypes_of(wanted):
            return view_dtype(source, reading.dtypes_of(wanted) or source.dtypes)
        if "dtype" in b.named and size is not None:
            return NO_RULE
        if "dtype" in b.named:
            return view_dtype(source, reading.dtypes_of(b.named["dtype"]) or source.dtypes)
        if isinstance(wanted, Seq) and wanted is size and size.kind == "varargs" and not size.items:
            return NO_RULE
    target = _sizes(b, named)
    if target is None:
        return ok(
            derive(source, names=source.dtypes if isinstance(size, Seq) and _loose(size) else ALL, shape=None),
            may_raise=True,
        )
    return reshaped(source, target, copies=b.data != "view")


def _loose(size: Seq) -> bool:
    return size.kind != "varargs" or len(size.items) > 1


def reshaped(source: Tensor, target: Shape, *, copies: bool) -> Outcome:
    """`view` or, where it may copy, `reshape`."""
    count = layout.numel(source.shape)
    solved = solve(target, count)
    if isinstance(solved, Raise):
        return solved
    shape, decided = solved
    old, new = layout.known(source.shape), layout.known(shape)
    if source.contiguous:
        return ok(
            derive(source, shape=shape, strides=_view_or_contiguous(source, old, new), contiguous=True),
            may_raise=not decided,
        )
    steps = layout.known(source.strides)
    if old is None or new is None or steps is None:
        return ok(derive(source, shape=shape, strides=None), may_raise=not (decided and copies))
    viewed = layout.view_strides(old, steps, new)
    if viewed is None and not copies:
        return error("RuntimeError", "size", "the strides allow the view", _INCOMPATIBLE)
    return ok(derive(source, shape=shape, strides=viewed or layout.contiguous_strides(new)), may_raise=not decided)


def _view_or_contiguous(source: Tensor, old: tuple[int, ...] | None, new: tuple[int, ...] | None) -> Shape | None:
    steps = layout.known(source.strides)
    if old is None or new is None or steps is None:
        return None if new is None else layout.contiguous_strides(new)
    return layout.view_strides(old, steps, new)


def solve(target: Shape, count: Dim | None) -> tuple[Shape, bool] | Raise:
    """The target with its -1 replaced, and whether it certainly fits `count` elements."""
    inferred = [place for place, size in enumerate(target) if size == -1]
    if len(inferred) > 1:
        return error("RuntimeError", "size", "one -1 at most", "only one dimension can be inferred")
    for place, size in enumerate(target):
        if size != -1 and dims.less(size, 0) is True:
            return error(
                "RuntimeError",
                "size",
                "size >= 0",
                "invalid shape dimension ",
                size,
                f" at index {place} of shape ",
                target,
            )
    unknown = [size for size in target if size is None or (size != -1 and dims.less(size, 0) is not False)]
    rest: Dim | None = 1
    for size in target:
        if size != -1:
            rest = dims.multiply(rest, size)
    if not inferred:
        if dims.equal(rest, count) is False and not _may_infer(target):
            return _invalid(target, count)
        return target, dims.equal(rest, count) is True
    size = _inferred(rest, count)
    shape = tuple(size if dim == -1 else dim for dim in target)
    if unknown or rest is None or count is None:
        return shape, False
    if rest == 0 and count == 0:
        text = " because the unspecified dimension size -1 can be any value and is ambiguous"
        return error(
            "RuntimeError",
            "size",
            "the other sizes are not 0",
            "cannot reshape tensor of 0 elements into shape ",
            target,
            text,
        )
    if rest == 0 and dims.equal(count, 0) is False:
        return _invalid(target, count)
    if isinstance(rest, int) and rest and dims.remainder(count, rest) not in (0, None):
        return _invalid(target, count)
    return shape, size is not None


def _may_infer(target: Shape) -> bool:
    return any(size is None or (not isinstance(size, int) and dims.less(size, 0) is not False) for size in target)


def _inferred(rest: Dim | None, count: Dim | None) -> Dim | None:
    if rest is None or count is None or rest == 0:
        return None
    if rest == count:
        return 1
    if dims.remainder(count, rest) == 0:
        return dims.floor_divide(count, rest)
    if not isinstance(rest, int) and not isinstance(count, int) and rest.constant == count.constant == 0:
        return _ratio(count, rest)
    return None


def _ratio(count: dims.Linear, rest: dims.Linear) -> Dim | None:
    if len(count.terms) == len(rest.terms) == 1 and count.terms[0][0] == rest.terms[0][0]:
        quotient, left = divmod(count.terms[0][1], rest.terms[0][1])
        return quotient if left == 0 else None
    return None


def _invalid(target: Shape, count: Dim | None) -> Raise:
    return error(
        "RuntimeError",
        "size",
        "the sizes multiply up to self.numel()",
        "shape '",
        target,
        "' is invalid for input of size ",
        count,
    )


def _view_as(b: Bound) -> Outcome:
    source, other = b.tensor(), b.tensor("other")
    if source is None or other is None:
        return NO_RULE
    if other.shape is None:
        return ok(derive(source, shape=None), may_raise=True)
    return reshaped(source, other.shape, copies=b.data != "view")


def _expand(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    if "other" in b.named:
        other = b.tensor("other")
        target = other.shape if other is not None else None
    else:
        target = _sizes(b, "size")
    if target is None:
        return ok(derive(source, shape=None), may_raise=True)
    if b.name == "broadcast_to" and -1 in target:
        return NO_RULE
    if source.shape is None:
        return ok(
            derive(source, shape=tuple(None if size == -1 or not isinstance(size, int) else size for size in target)),
            may_raise=True,
        )
    missing = len(target) - len(source.shape)
    if missing < 0:
        return error(
            "RuntimeError",
            "size",
            "len(size) >= self.dim()",
            "expand(",
            legacy_type(source),
            "{",
            source.shape,
            "}, size=",
            target,
            f"): the number of sizes provided ({len(target)}) must be greater or equal to the number of dimensions"
            f" in the tensor ({len(source.shape)})",
        )
    return _expanded(source, source.shape, target, missing)


def _expanded(source: Tensor, own: Shape, target: Shape, missing: int) -> Outcome:
    shape: list[Dim | None] = []
    strides: list[Dim | None] = []
    decided = True
    steps = source.strides or (None,) * len(own)
    for place in reversed(range(len(target))):
        size, wanted = (own[place - missing], target[place]) if place >= missing else (1, target[place])
        if wanted == -1:
            if place < missing:
                text = (
                    f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {place}"
                )
                return error(
                    "RuntimeError", "size", "size >= 0 for a new dimension", text if own else HolePart("message")
                )
            wanted = size
        elif dims.equal(size, 1) is False and dims.equal(size, wanted) is False and dims.less(wanted, 0) is False:
            shown = target if decided else HolePart("size")
            return error(
                "RuntimeError",
                "size",
                "size == 1 or size == self.size(dim)",
                "The expanded size of the tensor (",
                wanted,
                ") must match the existing size (",
                size,
                f") at non-singleton dimension {place}.  Target sizes: ",
                shown,
                ".  Tensor sizes: ",
                own,
            )
        elif size != wanted and not (size == 1 and dims.less(wanted, 0) is False):
            decided = False
        kept = steps[place - missing] if place >= missing else None
        shape.append(
            wanted
            if wanted is None or dims.less(wanted, 0) is False
            else size
            if dims.equal(size, 1) is False
            else None
        )
        same = dims.equal(size, wanted)
        strides.append(kept if same and place >= missing else 0 if size == 1 and same is False else None)
        if place < missing and wanted == 1:
            strides[-1] = None
    made_shape = tuple(reversed(shape))
    made = derive(source, shape=made_shape, strides=tuple(reversed(strides)), item=None)
    return ok(made, may_raise=not decided)


ROWS: Final[tuple[Row, ...]] = (
    ("m", "view", ":Tinput *size dtype?", _view, "view"),
    ("m", "reshape", ":Tinput *shape", _view, "reshape"),
    ("t", "reshape", ":Tinput shape", _view, "reshape"),
    ("m", "view_as", ":Tinput :Tother", _view_as, "view"),
    ("m", "reshape_as", ":Tinput :Tother", _view_as, "reshape"),
    ("m", "expand", ":Tinput *size implicit?", _expand),
    ("m", "broadcast_to", ":Tinput size", _expand),
    ("t", "broadcast_to", ":Tinput size", _expand),
    ("m", "expand_as", ":Tinput :Tother", _expand),
)
