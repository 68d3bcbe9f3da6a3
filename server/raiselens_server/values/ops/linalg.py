"""`torch.linalg`: square matrices, dtypes, and the shapes of decompositions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from raiselens_server.values import dims
from raiselens_server.values.dtypes import ANY_FLOATING, COMPLEX
from raiselens_server.values.lattice import Tensor, Unknown
from raiselens_server.values.ops import reading
from raiselens_server.values.ops.building import derive, error, ok
from raiselens_server.values.ops.elementwise import is_meta
from raiselens_server.values.ops.matmul import differ
from raiselens_server.values.ops.outcome import NO_RULE, Outcome, Raise

if TYPE_CHECKING:
    from raiselens_server.values.ops.layout import Shape
    from raiselens_server.values.ops.table import Bound, Row

_INEXACT: Final = ANY_FLOATING | COMPLEX
_LOW: Final = frozenset({"float16", "bfloat16"}) | {n for n in ANY_FLOATING if n.startswith(("float8", "float4"))}


@dataclass(frozen=True, slots=True)
class _Kind:
    """What an operation asks of its matrix, and what it makes: `same`, `batch` (one number a matrix), or nothing known."""

    shown: str
    square: bool
    result: str
    floating: bool = True


def matrix_error(kind: _Kind, source: Tensor) -> Raise | None:
    """What is certainly wrong with a matrix argument; the checks in torch's order."""
    shape = source.shape
    if shape is not None and len(shape) < 2:
        text = f"{kind.shown}: The input tensor A must have at least 2 dimensions."
        return error("RuntimeError", "A", "A.dim() >= 2", text)
    if kind.square and shape is not None and dims.equal(shape[-1], shape[-2]) is False:
        text = f"{kind.shown}: A must be batches of square matrices, but they are "
        return error("RuntimeError", "A", "A.size(-1) == A.size(-2)", text, shape[-2], " by ", shape[-1], " matrices")
    shown = source.dtypes
    if not kind.floating:
        return None
    if source.dtypes and not source.dtypes & _INEXACT:
        text = f"{kind.shown}: Expected a floating point or complex tensor as input. Got "
        return error("RuntimeError", "A", "A.is_floating_point() or A.is_complex()", text, shown)
    if kind.shown == "linalg.inv" and source.dtypes and source.dtypes <= _LOW:
        return error(
            "RuntimeError",
            "A",
            "A has full precision",
            f"{kind.shown}: Low precision dtypes not supported. Got ",
            shown,
        )
    return None


def _matrix(b: Bound) -> Outcome:
    source, kind = b.tensor(b.data[0]), b.data[1]
    if source is None or is_meta(source):
        return NO_RULE
    broken = matrix_error(kind, source)
    if broken is not None:
        odd = not kind.floating and (
            not source.dtypes <= _INEXACT - _LOW
            or source.requires_grad is not False
            or (kind.shown.startswith("linalg.eig") and len(source.shape or (1, 1)) < 2)
        )
        return replace(broken, earlier=True) if odd else broken
    shape: Shape | None = source.shape
    match kind.result:
        case "same":
            return ok(derive(source, strides=None), may_raise=True)
        case "batch" if shape is not None:
            return ok(derive(source, shape=shape[:-2], strides=None), may_raise=True)
        case _:
            return ok(Unknown(kind.shown), may_raise=True)


def _solve(b: Bound) -> Outcome:
    source, other = b.tensor("A"), b.tensor("B")
    if source is None or other is None or is_meta(source) or is_meta(other):
        return NO_RULE
    broken = matrix_error(_SOLVE, source)
    if broken is not None:
        return broken if source.dtypes <= _INEXACT and not differ(source, other) else replace(broken, earlier=True)
    if differ(source, other):
        shown = [t.dtypes for t in (source, other)]
        parts = (
            "linalg.solve: Expected A and B to have the same dtype, but found A of type ",
            shown[0],
            " and B of type ",
            shown[1],
            " instead",
        )
        return error("RuntimeError", "B", "A.dtype == B.dtype", *parts)
    known = source.shape is not None and other.shape is not None and not reading.given(b.get("left"))
    if not known or len(source.shape or ()) != 2 or len(other.shape or ()) not in (1, 2):
        return ok(derive(other, shape=None), may_raise=True)
    rows = (source.shape or (None,))[0]
    own = other.shape or ()
    if dims.equal(rows, own[0]) is False:
        columns = own[1] if len(own) == 2 else 1
        text = "linalg.solve: Incompatible shapes of A and B for the equation AX = B ("
        return error(
            "RuntimeError", "B", "A.size(-1) == B.size(-2)", text, rows, "x", rows, " and ", own[0], "x", columns, ")"
        )
    return ok(derive(other, strides=None), may_raise=True)


_SOLVE: Final = _Kind("linalg.solve", square=True, result="same")


def _row(names: str, kind: _Kind, *, param: str = "A", rest: str = "", spaces: str = "l") -> Row:
    return (spaces, names, f":T{param} {rest}".strip(), _matrix, (param, kind))


ROWS: Final[tuple[Row, ...]] = (
    _row("inv", _Kind("linalg.inv", square=True, result="same")),
    _row("inverse", _Kind("linalg.inv", square=True, result="same"), param="input", spaces="tm"),
    _row("cholesky", _Kind("linalg.cholesky", square=True, result="same"), param="input", rest="* upper?"),
    _row("det", _Kind("linalg.det", square=True, result="batch", floating=False)),
    _row("det", _Kind("linalg.det", square=True, result="batch", floating=False), param="input", spaces="tm"),
    _row("slogdet", _Kind("linalg.slogdet", square=True, result="", floating=False)),
    _row("eigh", _Kind("linalg.eigh", square=True, result="", floating=False), param="input", rest="UPLO?"),
    _row("eigvalsh", _Kind("linalg.eigh", square=True, result="", floating=False), param="input", rest="UPLO?"),
    _row("eig", _Kind("linalg.eig", square=True, result="", floating=False), param="input"),
    _row("eigvals", _Kind("linalg.eigvals", square=True, result="", floating=False), param="input"),
    _row("svd", _Kind("linalg.svd", square=False, result=""), rest="full_matrices? * driver?"),
    _row("svdvals", _Kind("linalg.svd", square=False, result=""), rest="* driver?"),
    _row("qr", _Kind("linalg.qr", square=False, result=""), rest="mode?"),
    ("l", "solve", ":TA :TB * left?", _solve),
)
