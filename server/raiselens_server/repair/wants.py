"""What would have passed the guard, read from its condition and the values it saw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from raiselens_server.foresee.frames import Frame, Raising
from raiselens_server.source import ir
from raiselens_server.values import dtypes, lattice
from raiselens_server.values.lattice import Const, Device, DType, Ref, Seq, Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raiselens_server.foresee.report import Finding
    from raiselens_server.foresee.run import Run
    from raiselens_server.source.ir import Expr
    from raiselens_server.values.dims import Dim
    from raiselens_server.values.lattice import Value


@dataclass(frozen=True, slots=True)
class WantDType:
    """`subject` must have dtype `name`."""

    subject: str
    name: str


@dataclass(frozen=True, slots=True)
class WantRank:
    """`subject` must have `rank` dimensions."""

    subject: str
    rank: int


@dataclass(frozen=True, slots=True)
class WantSize:
    """Dimension `axis` of `subject` must be `more` larger than it is."""

    subject: str
    axis: int
    more: int


@dataclass(frozen=True, slots=True)
class WantDevice:
    """`subject` must be on `device`, where `other` is."""

    subject: str
    device: Device
    other: str | None


@dataclass(frozen=True, slots=True)
class WantContiguous:
    """`subject` must be contiguous."""

    subject: str


@dataclass(frozen=True, slots=True)
class WantValue:
    """`subject` must be one of the constants `allowed`."""

    subject: str
    allowed: tuple[str | int | float | bool, ...]


Want: TypeAlias = WantDType | WantRank | WantSize | WantDevice | WantContiguous | WantValue
"""`subject` is a name in the guard's frame."""


class Reader:
    """Evaluates parts of a guard in the frame as it was when it raised."""

    def __init__(self, run: Run, raising: Raising) -> None:
        level = raising.levels[-1]
        old = level.frame
        self.run = run
        self.frame = Frame(
            old.function, old.module, old.base, dict(raising.variables), old.closure, None, 6, local=old.local
        )
        self.frame.quiet = 1
        self.condition = level.conditions[-1] if level.conditions else None

    def value(self, expr: Expr) -> Value:
        """The value of a part of the guard."""
        try:
            return self.run.evaluate(expr, self.frame)
        except Raising:
            return lattice.Unknown("raises")

    def wants(self) -> Iterator[Want]:
        """What would have passed, most direct first."""
        if self.condition is not None:
            # A guard raises on its test, an assert on its failing: what is wanted is the other outcome.
            yield from self._of(self.condition.test, held=not self.condition.taken)

    def _of(self, test: Expr, *, held: bool) -> Iterator[Want]:
        match test[0]:
            case ir.UNARY if test[3] == "not":
                yield from self._of(test[4], held=not held)
            case ir.BOOLEAN:
                for operand in test[4]:
                    yield from self._of(operand, held=held)
            case ir.COMPARE:
                left = test[3]
                for op, right in test[4]:
                    yield from self._compare(left, op, right, held=held)
                    left = right
            case ir.CALL if test[3][0] == ir.ATTRIBUTE:
                yield from self._method(test, held=held)
            case ir.ATTRIBUTE if test[4] == "is_floating_point":
                subject = self._dtype_of(test[3])
                if subject is not None and held:
                    yield WantDType(subject, "float32")
            case _:
                return

    def _method(self, test: Expr, *, held: bool) -> Iterator[Want]:
        receiver, method = test[3][3], test[3][4]
        if not held or receiver[0] != ir.NAME or not isinstance(self.value(receiver), Tensor):
            return
        if method == "is_contiguous":
            yield WantContiguous(receiver[3])
        elif method == "is_floating_point":
            yield WantDType(receiver[3], "float32")

    def _compare(self, left: Expr, op: str, right: Expr, *, held: bool) -> Iterator[Want]:
        equal = {"==": held, "!=": not held, "is": held, "is not": not held}.get(op)
        member = {"in": held, "not in": not held}.get(op)
        if equal:
            yield from self._equal(left, right)
            yield from self._equal(right, left)
        elif member:
            yield from self._member(left, right)

    def _dtype_of(self, expr: Expr) -> str | None:
        """`x` of `x.dtype`, where that is a tensor."""
        if expr[0] == ir.ATTRIBUTE and expr[4] == "dtype" and expr[3][0] == ir.NAME:
            return str(expr[3][3]) if isinstance(self.value(expr[3]), Tensor) else None
        return None

    def _equal(self, subject: Expr, wanted: Expr) -> Iterator[Want]:
        name = self._dtype_of(subject)
        value = self.value(wanted)
        if name is not None and isinstance(value, DType):
            only = dtypes.only(value.names)
            if only is not None:
                yield WantDType(name, only)
            return
        if subject[0] == ir.ATTRIBUTE and subject[3][0] == ir.NAME and subject[4] == "device":
            if isinstance(value, Device):
                other = wanted[3][3] if wanted[0] == ir.ATTRIBUTE and wanted[3][0] == ir.NAME else None
                yield WantDevice(subject[3][3], value, other)
            return
        rank = self._rank_of(subject)
        if rank is not None and isinstance(value, Const) and isinstance(value.value, int):
            yield WantRank(rank, value.value)
            return
        yield from self._stride(subject, value)
        yield from self._size(subject, wanted)
        if subject[0] == ir.NAME and isinstance(value, Const) and isinstance(value.value, (str, int, float, bool)):
            yield WantValue(subject[3], (value.value,))

    def _stride(self, subject: Expr, value: Value) -> Iterator[Want]:
        if subject[0] == ir.CALL and subject[3][0] == ir.ATTRIBUTE and subject[3][4] == "stride" and value == Const(1):
            receiver = subject[3][3]
            if receiver[0] == ir.NAME:
                yield WantContiguous(receiver[3])

    def _rank_of(self, expr: Expr) -> str | None:
        """`x` of `x.dim()`, `x.ndim`, `len(x.shape)`."""
        match expr[0]:
            case ir.ATTRIBUTE if expr[4] == "ndim" and expr[3][0] == ir.NAME:
                return str(expr[3][3])
            case ir.CALL if expr[3][0] == ir.ATTRIBUTE and expr[3][4] in {"dim", "ndimension"}:
                return str(expr[3][3][3]) if expr[3][3][0] == ir.NAME else None
            case ir.CALL if expr[3][0] == ir.NAME and expr[3][3] == "len" and len(expr[4]) == 1:
                inner = expr[4][0]
                if inner[0] == ir.ATTRIBUTE and inner[4] == "shape" and inner[3][0] == ir.NAME:
                    return str(inner[3][3])
                return None
            case _:
                return None

    def _size(self, subject: Expr, wanted: Expr) -> Iterator[Want]:
        located = size_of(subject)
        if located is None:
            return
        name, axis = located
        have, want = lattice.as_dim(self.value(subject)), lattice.as_dim(self.value(wanted))
        more = _difference(have, want)
        if more:
            yield WantSize(name, axis, more)

    def _member(self, subject: Expr, container: Expr) -> Iterator[Want]:
        value = self.value(container)
        items = value.items if isinstance(value, Seq) else self.run.items_of(value) if isinstance(value, Ref) else None
        if items is None:
            return
        name = self._dtype_of(subject)
        if name is not None:
            for item in items:
                only = dtypes.only(item.names) if isinstance(item, DType) else None
                if only is not None:
                    yield WantDType(name, only)
        elif subject[0] == ir.NAME:
            allowed = tuple(i.value for i in items if isinstance(i, Const) and isinstance(i.value, (str, int, float)))
            if allowed:
                yield WantValue(subject[3], allowed)


def size_of(expr: Expr) -> tuple[str, int] | None:
    """`(x, i)` of `x.shape[i]`, `x.size(i)`, `len(x)`, also inside `int(…)`."""
    match expr[0]:
        case ir.CALL if expr[3][0] == ir.NAME and expr[3][3] == "int" and len(expr[4]) == 1:
            return size_of(expr[4][0])
        case ir.CALL if expr[3][0] == ir.NAME and expr[3][3] == "len" and len(expr[4]) == 1:
            return (expr[4][0][3], 0) if expr[4][0][0] == ir.NAME else None
        case ir.CALL if expr[3][0] == ir.ATTRIBUTE and expr[3][4] == "size" and len(expr[4]) == 1:
            receiver, index = expr[3][3], expr[4][0]
        case ir.CALL if expr[3][0] == ir.ATTRIBUTE and expr[3][4] == "numel":
            receiver, index = expr[3][3], (ir.CONST, 0, 0, 0)
        case ir.SUBSCRIPT if expr[3][0] == ir.ATTRIBUTE and expr[3][4] == "shape":
            receiver, index = expr[3][3], expr[4]
        case _:
            return None
    if receiver[0] == ir.NAME and index[0] == ir.CONST and isinstance(index[3], int):
        return receiver[3], index[3]
    return None


def _difference(have: Dim | None, want: Dim | None) -> int | None:
    if have is None or want is None:
        return None
    from raiselens_server.values import dims

    more = dims.subtract(want, have)
    return more if isinstance(more, int) else None


def wants_of(finding: Finding, run: Run) -> tuple[Want, ...]:
    """What would have passed the guard of a finding; empty for Python's and torch's own guards."""
    if finding.raising.implicit is not None:
        return ()
    return tuple(dict.fromkeys(Reader(run, finding.raising).wants()))
