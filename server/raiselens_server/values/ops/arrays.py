"""numpy: how arrays are made, and what they keep on the way to `torch.from_numpy`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from raiselens_server.values import dims
from raiselens_server.values.dtypes import ALL, FLOATING, INTEGRAL
from raiselens_server.values.lattice import Array, Const, Named, Opaque, Seq, Value
from raiselens_server.values.ops import layout, reading
from raiselens_server.values.ops.building import ok
from raiselens_server.values.ops.layout import Mismatch
from raiselens_server.values.ops.outcome import NO_RULE, Outcome, Result
from raiselens_server.values.promotion import promote_sets

if TYPE_CHECKING:
    from raiselens_server.values.dims import Dim
    from raiselens_server.values.ops.layout import Shape
    from raiselens_server.values.ops.table import Bound, Row

_NAMES: Final = {
    "bool_": "bool",
    "bool": "bool",
    "single": "float32",
    "double": "float64",
    "half": "float16",
    "intc": "int32",
    "int_": "int64",
    "intp": "int64",
    "longlong": "int64",
    "short": "int16",
    "byte": "int8",
    "ubyte": "uint8",
    "float": "float64",
    "int": "int64",
    "complex": "complex128",
    **{name: name for name in (*INTEGRAL, "float16", "float32", "float64", "complex64", "complex128")},
}
_CODES: Final = {
    "?": "bool",
    "b1": "bool",
    "u1": "uint8",
    **{f"i{size // 8}": f"int{size}" for size in (8, 16, 32, 64)},
    **{f"f{size // 8}": f"float{size}" for size in (16, 32, 64)},
}
"""What numpy's codes for types mean, which are only written in strings."""
_COMPARISONS: Final = frozenset({"==", "!=", "<", "<=", ">", ">="})


def numpy_dtypes(value: Value | None) -> frozenset[str] | None:
    """The dtypes that a numpy dtype argument may mean, in torch's names; None where it is left out."""
    match value:
        case None | Const(value=None):
            return None
        case Const(value=str() as text):
            name = _NAMES.get(text) or _CODES.get(text)
        case Named(name=text):
            name = _NAMES.get(text.removeprefix("numpy.").removeprefix("builtins."))
        case _:
            return ALL
    return frozenset({name}) if name else ALL


def _filled(b: Bound) -> Outcome:
    if b.get("shape") is None or b.get("shape") == Seq((), "varargs"):
        return NO_RULE
    names = numpy_dtypes(b.get("dtype")) or _default(b)
    size = b.get("shape")
    return ok(
        Array(names, reading.sizes_of(size.items) if isinstance(size, Seq) and size.kind == "varargs" else _shape(size))
    )


def _default(b: Bound) -> frozenset[str]:
    return _of_number(b.get("fill_value")) if b.data == "fill" else frozenset({"float64"})


def _of_number(value: Value | None) -> frozenset[str]:
    kind = reading.number_kind(value)
    return frozenset({reading.PYTHON_DTYPES[kind]}) if kind else ALL


def _shape(value: Value | None) -> Shape | None:
    if value is None:
        return None
    if isinstance(value, Seq) or reading.number_kind(value) == "int":
        return reading.sizes_of((value,))
    return None


def _like(b: Bound) -> Outcome:
    source = b.get("input")
    given = numpy_dtypes(b.get("dtype"))
    if isinstance(source, Array):
        return ok(Array(given or source.dtypes, source.shape))
    return ok(Array(given or ALL, None))


def _array(b: Bound) -> Outcome:
    data = b.get("object")
    given = numpy_dtypes(b.get("dtype"))
    if isinstance(data, Array):
        return ok(Array(given or data.dtypes, data.shape))
    measured = _measured(data)
    if measured is None:
        return ok(Array(given or ALL, None), may_raise=True)
    names, shape = measured
    return ok(Array(given or names, shape))


def _measured(value: Value | None) -> tuple[frozenset[str], Shape] | None:
    """The dtypes and shape of nested numbers."""
    if not isinstance(value, Seq):
        names = _of_number(value)
        return None if names == ALL else (names, ())
    if value.kind not in ("list", "tuple"):
        return None
    if not value.items:
        return frozenset({"float64"}), (0,)
    parts = [_measured(item) for item in value.items]
    first = parts[0]
    if first is None or any(part is None or part[1] != first[1] for part in parts):
        return None
    names = frozenset().union(*(part[0] for part in parts if part is not None))
    for highest in ("complex128", "float64", "int64", "bool"):
        if highest in names:
            return frozenset({highest}), (len(parts), *first[1])
    return None


def _arange(b: Bound) -> Outcome:
    given = numpy_dtypes(b.get("dtype"))
    kinds = {reading.number_kind(value) for value in b.args}
    if kinds <= {"int", "bool"} and b.args:
        names = frozenset({"int64"})
    elif "float" in kinds and None not in kinds:
        names = frozenset({"float64"})
    else:
        names = ALL
    length = reading.size_of(b.args[0]) if len(b.args) == 1 else None
    if dims.less(length, 0) is not False:
        length = None
    return ok(Array(given or names, (length,)))


def _spaced(b: Bound) -> Outcome:
    if "retstep" in b.named:
        return NO_RULE
    count = Const(50) if reading.absent(b.get("num")) else b.named["num"]
    return ok(Array(numpy_dtypes(b.get("dtype")) or frozenset({"float64"}), (reading.size_of(count),)))


def _cast(b: Bound) -> Outcome:
    source = b.get("input")
    names = numpy_dtypes(b.get("dtype")) or ALL
    return ok(Array(names, source.shape if isinstance(source, Array) else None))


def _copy(b: Bound) -> Outcome:
    source = b.get("input")
    return ok(source) if isinstance(source, Array) else NO_RULE


def _reshape(b: Bound) -> Outcome:
    source, size = b.get("input"), b.get("size")
    if not isinstance(source, Array) or not isinstance(size, Seq):
        return NO_RULE
    sizes = reading.sizes_of(size.items if size.kind == "varargs" else (size,))
    if sizes is None or any(size == -1 for size in sizes):
        rank = None if sizes is None else tuple(None if size == -1 else size for size in sizes)
        return ok(Array(source.dtypes, rank), may_raise=True)
    return ok(Array(source.dtypes, sizes), may_raise=True)


def array_binary(op: str, left: Value, right: Value) -> Outcome:
    """An operator with an array on at least one side."""
    sides = [side for side in (left, right) if isinstance(side, Array)]
    shapes = [side.shape for side in sides if side.shape is not None]
    shape: Shape | None = None
    if len(sides) + sum(reading.number_kind(side) is not None for side in (left, right)) < 2:
        return NO_RULE
    if len(shapes) == len(sides) and op != "@":
        common = layout.broadcast_all(shapes)
        shape = None if isinstance(common, Mismatch) else common.shape
    if op in _COMPARISONS:
        return Result(Array(frozenset({"bool"}), shape), may_raise=True)
    same = len({side.dtypes for side in sides}) == 1 and len(sides[0].dtypes) == 1
    kinds = {reading.number_kind(side) for side in (left, right)} - {None}
    first = sides[0].dtypes
    if (
        same
        and op in ("+", "-", "*")
        and (not kinds or (first <= FLOATING and kinds <= {"int", "float"}) or (first <= INTEGRAL and kinds <= {"int"}))
    ):
        return Result(Array(first, shape), may_raise=True)
    return Result(Array(ALL, shape), may_raise=True)


def _as_array(value: Value | None) -> Array:
    """What numpy makes of an argument that stands for an array."""
    if isinstance(value, Array):
        return value
    measured = _measured(value)
    return Array(ALL, None) if measured is None else Array(*measured)


def _running(b: Bound) -> Outcome:
    """`cumsum` and `cumprod`: flat without an axis; narrow integers become the platform's."""
    value = b.get("input")
    if not isinstance(value, Array) and _measured(value) is None:
        # Anything with a method of that name answers itself: of a tensor it is a tensor.
        return NO_RULE
    source, given = _as_array(value), numpy_dtypes(b.get("dtype"))
    if source.shape == ():
        source = Array(source.dtypes, (1,))
    kept = source.dtypes <= {"int64", "float32", "float64"}
    names = given or (source.dtypes if kept else ALL)
    flat = reading.absent(b.get("dim"))
    return ok(Array(names, (layout.numel(source.shape),) if flat else source.shape), may_raise=True)


def _concatenate(b: Bound) -> Outcome:
    """Arrays one behind the other: of one dtype, or of integers and what is wider."""
    given, parts = numpy_dtypes(b.get("dtype")), b.get("arrays")
    if not isinstance(parts, Seq) or not parts.items or "out" in b.named:
        return ok(Array(given or ALL, None), may_raise=True)
    arrays = [_as_array(part) for part in parts.items]
    names = arrays[0].dtypes
    for array in arrays[1:]:
        known = names == array.dtypes or names | array.dtypes <= {"int32", "int64"}
        names = promote_sets(names, array.dtypes) if known else ALL
    shape: Shape | None = None
    if all(array.shape is not None and len(array.shape) == 1 for array in arrays):
        length: Dim | None = 0
        for array in arrays:
            size = array.shape[0] if array.shape else None
            length = None if length is None or size is None else dims.add(length, size)
        shape = (length,)
    return ok(Array(given or names, shape), may_raise=True)


def _scalar_type(b: Bound) -> Outcome:
    return ok(Opaque("numpy." + b.name))


ROWS: Final[tuple[Row, ...]] = (
    ("n", "zeros ones empty", "shape dtype? order? * like?", _filled),
    ("n", "full", "shape fill_value dtype? order?", _filled, "fill"),
    ("n", "zeros_like ones_like empty_like", "input dtype? order? subok? shape?", _like),
    ("n", "full_like", "input fill_value dtype? order?", _like),
    ("n", "array asarray", "object dtype? * copy? order?", _array),
    ("n", "arange", None, _arange),
    ("n", "linspace", "start stop num? endpoint? retstep? dtype?", _spaced),
    ("n", "cumsum cumprod", "input dim? dtype?", _running),
    ("d", "numpy.ndarray.cumsum numpy.ndarray.cumprod", "input dim? dtype?", _running),
    ("n", "concatenate", "arrays dim? out? * dtype? casting?", _concatenate),
    ("d", "numpy.random.rand numpy.random.randn", "*shape", _filled),
    ("d", "numpy.random.random", "shape?", _filled),
    ("d", "numpy.ndarray.astype", "input dtype order? casting? copy?", _cast),
    ("d", "numpy.ndarray.copy", "input order?", _copy),
    ("d", "numpy.ndarray.reshape", "input *size order?", _reshape),
)
