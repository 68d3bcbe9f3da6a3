"""What would have passed the guard, read from its condition and the values it saw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from raiselens_server.foresee.frames import Frame, Raising
from raiselens_server.repair.content import bound_once, constant
from raiselens_server.repair.locate import expressions
from raiselens_server.repair.wants import (
    WantContiguous,
    WantDevice,
    WantDType,
    WantRank,
    WantShapeOf,
    WantSize,
    WantTensor,
    WantValue,
)
from raiselens_server.source import ir
from raiselens_server.source.module import flatten
from raiselens_server.values import dtypes, lattice
from raiselens_server.values.lattice import Const, Device, DType, Named, Ref, Seq, Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raiselens_server.foresee.report import Finding
    from raiselens_server.foresee.run import Run
    from raiselens_server.repair.wants import Want
    from raiselens_server.source.ir import Expr
    from raiselens_server.values.dims import Dim
    from raiselens_server.values.lattice import Value

_ORDER: Final = frozenset({"<", "<=", ">", ">="})
_OPPOSITE: Final = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_TURNED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


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
                if subject is not None:
                    yield WantDType(subject, "float32" if held else "int64")
            case ir.CALL if test[3][0] == ir.NAME and test[3][3] == "isinstance" and held:
                yield from self._instance(test)
            case _:
                return

    def _method(self, test: Expr, *, held: bool) -> Iterator[Want]:
        receiver, method = test[3][3], test[3][4]
        if receiver[0] != ir.NAME or not isinstance(self.value(receiver), Tensor):
            return
        if method == "is_contiguous" and held:
            yield WantContiguous(receiver[3])
        elif method == "is_floating_point":
            yield WantDType(receiver[3], "float32" if held else "int64")

    def _instance(self, test: Expr) -> Iterator[Want]:
        subject, kind = test[4] if len(test[4]) == 2 else (test, test)
        if subject[0] == ir.NAME and self.value(kind) == Named("torch.Tensor"):
            yield WantTensor(subject[3])

    def _compare(self, left: Expr, op: str, right: Expr, *, held: bool) -> Iterator[Want]:
        equal = {"==": held, "!=": not held, "is": held, "is not": not held}.get(op)
        member = {"in": held, "not in": not held}.get(op)
        if equal:
            yield from self._equal(left, right)
            yield from self._equal(right, left)
        elif member:
            yield from self._member(left, right)
        elif op in _ORDER:
            op = op if held else _OPPOSITE[op]
            yield from bounds(self, left, op, right)
            yield from bounds(self, right, _TURNED[op], left)
        elif op in {"==", "!=", "in", "not in"}:
            yield from self._unlike(left)

    def _unlike(self, subject: Expr) -> Iterator[Want]:
        """Another dtype than the one that is refused: the usual one of its family."""
        name = self._dtype_of(subject)
        value = None if name is None else self.value(subject)
        only = dtypes.only(value.names) if isinstance(value, DType) else None
        if name is not None and only is not None:
            usual = "int64" if only in dtypes.INTEGRAL else "float32"
            if usual != only:
                yield WantDType(name, usual)

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
        rank = self.rank_of(subject)
        if rank is not None and isinstance(value, Const) and isinstance(value.value, int):
            yield WantRank(rank, value.value)
            return
        yield from self._stride(subject, value)
        yield from self._same_shape(subject, wanted)
        yield from self._size(subject, wanted)
        yield from self._multiple(subject, value)
        if subject[0] == ir.NAME and isinstance(value, Const) and isinstance(value.value, (str, int, float, bool)):
            yield WantValue(subject[3], (value.value,))

    def _stride(self, subject: Expr, value: Value) -> Iterator[Want]:
        if subject[0] == ir.CALL and subject[3][0] == ir.ATTRIBUTE and subject[3][4] == "stride" and value == Const(1):
            receiver = subject[3][3]
            if receiver[0] == ir.NAME:
                yield WantContiguous(receiver[3])

    def rank_of(self, expr: Expr) -> str | None:
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
        located = self.size(subject)
        if located is None:
            return
        name, axis = located
        have, want = lattice.as_dim(self.value(subject)), lattice.as_dim(self.value(wanted))
        more = _difference(have, want)
        if more:
            yield WantSize(name, axis, more)

    def _same_shape(self, subject: Expr, wanted: Expr) -> Iterator[Want]:
        """`x.shape == y.shape`, and `x.shape == (n, m)` axis by axis."""
        name, other = shape_of(subject), shape_of(wanted)
        if name is None:
            return
        if other is not None:
            yield WantShapeOf(name, other)
        have, want = self.value(subject), self.value(wanted)
        if isinstance(have, Seq) and isinstance(want, Seq):
            if len(have.items) != len(want.items):
                yield WantRank(name, len(want.items))
                return
            for axis, (ours, theirs) in enumerate(zip(have.items, want.items, strict=True)):
                more = _difference(lattice.as_dim(ours), lattice.as_dim(theirs))
                if more:
                    yield WantSize(name, axis, more)

    def _multiple(self, subject: Expr, value: Value) -> Iterator[Want]:
        """`x.shape[i] % k == 0`: the next multiple."""
        if subject[0] != ir.BINARY or subject[3] != "%" or value != Const(0):
            return
        located = self.size(subject[4])
        have, step = lattice.as_dim(self.value(subject[4])), lattice.as_dim(self.value(subject[5]))
        if located is not None and isinstance(have, int) and isinstance(step, int) and step > 0 and have % step:
            yield WantSize(*located, -have % step, nearest=True)

    def size(self, expr: Expr) -> tuple[str, int] | None:
        """`(x, i)` of a size of a tensor, also through a local that it was bound to."""
        found = size_of(expr)
        if found is not None or expr[0] != ir.NAME or self.frame.function is None:
            return found
        block = self.frame.function.unit.body.block
        bound = bound_once(expr[3], [block])
        if bound is not None:
            return size_of(bound)
        for statement in flatten(block):
            target = statement[3][0] if statement[0] == ir.ASSIGN else None
            if target is not None and target[0] == ir.TUPLE:
                names = [item[3] if item[0] == ir.NAME else None for item in target[3]]
                name = shape_of(statement[4])
                if name is not None and names.count(expr[3]) == 1:
                    return name, names.index(expr[3])
        return None

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
    number = constant(index, [])
    return (receiver[3], number) if receiver[0] == ir.NAME and isinstance(number, int) else None


def shape_of(expr: Expr) -> str | None:
    """`x` of `x.shape`, `x.size()`."""
    if expr[0] == ir.CALL and not expr[4] and expr[3][0] == ir.ATTRIBUTE and expr[3][4] == "size":
        expr = expr[3]
    elif expr[0] != ir.ATTRIBUTE or expr[4] != "shape":
        return None
    return str(expr[3][3]) if expr[3][0] == ir.NAME else None


def _difference(have: Dim | None, want: Dim | None) -> int | None:
    if have is None or want is None:
        return None
    from raiselens_server.values import dims

    more = dims.subtract(want, have)
    return more if isinstance(more, int) else None


def bounds(reader: Reader, subject: Expr, op: str, limit: Expr) -> Iterator[Want]:
    """What would have been within a limit: `subject op limit` was wanted and is not so."""
    value, bound = reader.value(limit), reader.value(subject)
    strict = {"<": -1, ">": 1}.get(op, 0)
    size = lattice.as_dim(value)
    number = size if isinstance(size, int) else value.value if isinstance(value, Const) else None
    if not isinstance(number, (int, float)):
        return
    rank = reader.rank_of(subject)
    if rank is not None and isinstance(number, int):
        yield WantRank(rank, number + strict)
        return
    if subject[0] != ir.NAME or not isinstance(bound, Const) or not isinstance(bound.value, (int, float)):
        return
    have = bound.value
    if {"<": have < number, "<=": have <= number, ">": have > number, ">=": have >= number}[op]:
        return
    options: list[str | int | float | bool] = []
    if op in {">", ">="} and -have > number and isinstance(have, float):
        # A sign too many is likelier than a limit meant.
        options.append(-have)
    if not strict:
        options.append(number if isinstance(have, float) or not isinstance(number, float) else int(number))
    elif isinstance(have, int) and isinstance(number, int):
        options.append(number + strict)
    yield WantValue(subject[3], tuple(options))


def wants_of(finding: Finding, run: Run) -> tuple[Want, ...]:
    """What would have passed the guard of a finding; of Python's own guards, where a shape was taken apart."""
    raising = finding.raising
    if raising.implicit is None:
        return tuple(dict.fromkeys(Reader(run, raising).wants()))
    return tuple(_taken_apart(finding)) if raising.implicit in {"unpack", "index"} else ()


def _taken_apart(finding: Finding) -> Iterator[Want]:
    """The rank that `m, k = x.shape` and `x.shape[1]` take for granted, in a function that was called."""
    level = finding.raising.levels[-1]
    statement = level.statement
    if statement is None or finding.callee is None:
        return
    if finding.raising.implicit == "unpack" and statement[0] == ir.ASSIGN:
        target, name = statement[3][0], shape_of(statement[4])
        if target[0] == ir.TUPLE and name is not None and all(item[0] != ir.STAR for item in target[3]):
            yield WantRank(name, len(target[3]))
        return
    for expr in expressions(statement):
        name = shape_of(expr[3]) if expr[0] == ir.SUBSCRIPT else None
        index = constant(expr[4], []) if name is not None else None
        value = None if name is None else finding.raising.variables.get(name)
        if name is None or not isinstance(index, int) or not isinstance(value, Tensor) or value.shape is None:
            continue
        wanted = index + 1 if index >= 0 else -index
        if wanted > len(value.shape):
            yield WantRank(name, wanted)
