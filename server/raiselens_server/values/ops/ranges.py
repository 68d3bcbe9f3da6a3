"""Ranges, permutations and random integers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from raiselens_server.values import dims
from raiselens_server.values.dtypes import COMPLEX
from raiselens_server.values.lattice import Const, Value
from raiselens_server.values.ops import reading
from raiselens_server.values.ops.building import error, fresh, ok
from raiselens_server.values.ops.factories import OPTIONS, negative_error, options_error
from raiselens_server.values.ops.outcome import NO_RULE, Outcome, Raise

if TYPE_CHECKING:
    from raiselens_server.values.dims import Dim
    from raiselens_server.values.ops.table import Bound, Row


def _arange(b: Bound) -> Outcome:
    values = b.args + tuple(b.named[key] for key in ("start", "end", "step") if key in b.named)
    if not 1 <= len(values) <= 3 or (b.args and "start" in b.named):
        return NO_RULE
    start, end, step = (Const(0), values[0], Const(1)) if len(values) == 1 else (*values, Const(1))[:3]
    if len(values) == 1 and "end" in b.named and "start" in b.named:
        return NO_RULE
    kinds = [reading.number_kind(value) for value in (start, end, step)]
    default = b.ambient.default_dtypes
    names = reading.dtypes_of(b.get("dtype"))
    if names is None:
        if "float" in kinds:
            names = default
        else:
            names = frozenset({"int64"}) if all(k in ("int", "bool") for k in kinds) else default | {"int64"}
    if kinds[2] is not None and step in (Const(0), Const(0.0)):
        return error("RuntimeError", "step", "step != 0", "step must be nonzero")
    length = _range_length(start, end, step)
    if isinstance(length, Raise):
        return length
    device = reading.device_of(b.get("device"), b.ambient.default_device)
    broken = options_error(b, names)
    return broken or ok(fresh(names, (length,), device), may_raise=not isinstance(length, int))


def _range_length(start: Value, end: Value, step: Value) -> Dim | Raise | None:
    inconsistent = error(
        "RuntimeError", "end", "(step > 0) == (end >= start)", "upper bound and lower bound inconsistent with step sign"
    )
    match start, end, step:
        case Const(value=int() | float() as first), Const(value=int() | float() as last), Const(
            value=int() | float() as by
        ):
            if not all(math.isfinite(value) for value in (first, last, by)):
                return None
            if (last > first and by < 0) or (last < first and by > 0):
                return inconsistent
            return math.ceil((last - first) / by)
        case _:
            first_dim, last_dim = reading.size_of(start), reading.size_of(end)
            if first_dim is None or last_dim is None or step != Const(1):
                return None
            if dims.less(last_dim, first_dim) is True:
                return inconsistent
            return dims.subtract(last_dim, first_dim)


def _spaced(b: Bound) -> Outcome:
    steps = b.get("steps") or Const(None)
    kinds = {reading.number_kind(b.get("start")), reading.number_kind(b.get("end"))}
    names = reading.dtypes_of(b.get("dtype"))
    if names is None:
        names = COMPLEX if "complex" in kinds else b.ambient.default_dtypes
        if None in kinds:
            names = names | COMPLEX
    count = reading.size_of(steps)
    if dims.less(count, 0) is True:
        return error("RuntimeError", "steps", "steps >= 0", "number of steps must be non-negative")
    device = reading.device_of(b.get("device"), b.ambient.default_device)
    grad = reading.flag(b.get("requires_grad"), default=False)
    made = fresh(names, (count,), device, requires_grad=grad)
    broken = options_error(b, names)
    return replace(broken, earlier=True) if broken is not None else ok(made, may_raise=count is None)


def _eye(b: Bound) -> Outcome:
    rows = reading.size_of(b.named["n"])
    columns = rows if reading.absent(b.get("m")) else reading.size_of(b.named["m"])
    if dims.less(rows, 0) is True:
        return error("RuntimeError", "n", "n >= 0", "n must be greater or equal to 0, got ", rows)
    names = reading.dtypes_of(b.get("dtype")) or b.ambient.default_dtypes
    device = reading.device_of(b.get("device"), b.ambient.default_device)
    return options_error(b, names) or ok(
        fresh(names, (rows, columns), device, requires_grad=reading.flag(b.get("requires_grad"), default=False))
    )


def _randperm(b: Bound) -> Outcome:
    count = reading.size_of(b.named["n"])
    names = reading.dtypes_of(b.get("dtype")) or frozenset({"int64"})
    device = reading.device_of(b.get("device"), b.ambient.default_device)
    broken = negative_error((count,)) if device is not None else None
    return broken or ok(
        fresh(names, (count,), device, requires_grad=reading.flag(b.get("requires_grad"), default=False)),
        may_raise=count is None,
    )


def _randint(b: Bound) -> Outcome:
    size = b.get("size")
    bounds = list(b.args)
    if size is None:
        if not bounds:
            return NO_RULE
        size = bounds.pop()
    if reading.number_kind(size) is not None:
        return NO_RULE
    low = b.get("low") or (bounds[0] if len(bounds) > 1 else Const(0))
    high = b.get("high") or (bounds[-1] if bounds else Const(None))
    first, last = reading.constant_int(low), reading.constant_int(high)
    names = reading.dtypes_of(b.get("dtype")) or frozenset({"int64"})
    device = reading.device_of(b.get("device"), b.ambient.default_device)
    shape = reading.sizes_of((size,))
    if first is not None and last is not None and first >= last and device is not None and device.type == "cpu":
        text = f"random_ expects 'from' to be less than 'to', but got from={first} >= to={last}"
        return error("RuntimeError", "low", "low < high", text)
    broken = negative_error(shape) if shape is not None else None
    return broken or options_error(b, names) or ok(fresh(names, shape, device), may_raise=first is None or last is None)


ROWS: Final[tuple[Row, ...]] = (
    ("t", "arange", None, _arange),
    ("t", "linspace", f"start end steps {OPTIONS}", _spaced),
    ("t", "logspace", f"start end steps base? {OPTIONS}", _spaced),
    ("t", "eye", f"n m? {OPTIONS}", _eye),
    ("t", "randperm", f"n {OPTIONS}", _randperm),
    ("t", "randint", None, _randint),
)
