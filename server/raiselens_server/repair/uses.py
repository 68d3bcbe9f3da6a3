"""What one use of a changed value makes of the change: nothing, the same change in its result, or nobody knows.

A repair changes one property of a value. Each use is judged for that property by a table of what certainly takes the
value as it is now; what stands in no table is unknown, and with it the repair is not safe.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from typing_extensions import assert_never

from raiselens_server.repair.content import called, constant, fits
from raiselens_server.source import ir
from raiselens_server.values import dtypes

if TYPE_CHECKING:
    from raiselens_server.source.ir import Block, Expr


@dataclass(frozen=True, slots=True)
class NewDType:
    """The value has dtype `new`, where it had `old` (None: not known)."""

    old: str | None
    new: str


@dataclass(frozen=True, slots=True)
class NewShape:
    """The value has another rank or size."""


@dataclass(frozen=True, slots=True)
class NewDevice:
    """The value is on another device."""


@dataclass(frozen=True, slots=True)
class Stored:
    """Something else may have been stored in the value; asked of the uses before a call, to know what it gets."""


Effect: TypeAlias = NewDType | NewShape | NewDevice | Stored


class Outcome(enum.Enum):
    """What becomes of a change at one use."""

    ENDS = "ends"
    GOES_ON = "goes on"
    CALLED = "called"
    UNKNOWN = "unknown"


SHOWING: Final = frozenset({"print", "repr", "str", "format", "type", "isinstance", "id", "len"})
_LAYOUT_READS: Final = frozenset({"shape", "ndim"})
_DEVICE_READS: Final = frozenset({"device", "is_cuda", "layout"})
_SIZE_METHODS: Final = frozenset({"size", "dim", "ndimension", "numel", "nelement", "stride", "storage_offset", "is_contiguous"})  # fmt: skip
_MOVES: Final = frozenset({"view", "reshape", "clone", "contiguous", "unsqueeze", "squeeze", "transpose", "t", "permute", "expand", "expand_as", "flatten", "unflatten", "narrow", "select", "detach", "repeat", "flip", "view_as", "reshape_as"})  # fmt: skip
"""Methods that only lay out anew: any dtype, any device, and the result has the same."""
_VIEWS: Final = frozenset({"T", "mT", "data"})
_TO_DEVICE: Final = frozenset({"cpu", "cuda", "pin_memory"})
_TO_PYTHON: Final = frozenset({"item", "tolist", "int", "float", "bool"})
_SUMS: Final = frozenset({"sum", "cumsum", "prod", "cumprod"})
_CHOOSING: Final = frozenset({"max", "min", "amax", "amin", "abs"})
_COMPARING: Final = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "any", "all", "nonzero", "count_nonzero"})
_ARITHMETIC: Final = frozenset({"+", "-", "*"})
_LIKE: Final = frozenset({"torch.zeros_like", "torch.ones_like", "torch.empty_like"})
_ASKING: Final = frozenset({"torch.is_tensor", "torch.numel", "torch.equal"})
_JOINING: Final = frozenset({"torch.cat", "torch.stack"})


def judge(effect: Effect, use: Expr, inner: Expr, scopes: list[Block]) -> Outcome:
    """What the expression `use` makes of a change in `inner`, a direct part of it."""
    match use[0]:
        case ir.BINARY | ir.COMPARE | ir.UNARY if isinstance(effect, Stored):
            return Outcome.ENDS
        case ir.ATTRIBUTE:
            return _attribute(effect, use[4])
        case ir.CALL if use[3] is inner:
            return _method(effect, use)
        case ir.CALL:
            return _argument(effect, use)
        case ir.SUBSCRIPT:
            return _subscript(effect, use, inner)
        case ir.COMPARE:
            return _compare(effect, use)
        case ir.BINARY:
            return _binary(effect, use, inner, scopes)
        case ir.FSTRING:
            return Outcome.ENDS
        case ir.TUPLE | ir.LIST | ir.DICT | ir.CONDITIONAL | ir.WALRUS | ir.STAR:
            return Outcome.GOES_ON
        case ir.UNARY if use[3] == "-" and not (
            isinstance(effect, NewDType) and effect.new.startswith(("uint", "bool"))
        ):
            return Outcome.GOES_ON
        case _:
            return Outcome.UNKNOWN


def _attribute(effect: Effect, name: str) -> Outcome:
    match effect:
        case NewDType():
            harmless = _LAYOUT_READS | _DEVICE_READS
        case NewShape():
            harmless = _DEVICE_READS | {"dtype"}
        case NewDevice():
            harmless = _LAYOUT_READS | {"dtype", "layout"}
        case Stored():
            harmless = _LAYOUT_READS | _DEVICE_READS | {"dtype"}
        case _:
            assert_never(effect)
    if name in harmless:
        return Outcome.ENDS
    # Of a method the call around it decides; another attribute carries the change on, `dtype` above all.
    return Outcome.GOES_ON


def _method(effect: Effect, use: Expr) -> Outcome:
    name = called(use) or ""
    if use[3][0] != ir.ATTRIBUTE:
        return Outcome.UNKNOWN
    if isinstance(effect, Stored):
        # By torch's convention what stores ends in an underscore; what does not may give a view.
        return Outcome.UNKNOWN if name.endswith("_") else Outcome.ENDS if name in _TO_PYTHON else Outcome.GOES_ON
    if name in _MOVES:
        names_dtype = name == "view" and any(argument[0] == ir.ATTRIBUTE for argument in use[4])
        return Outcome.UNKNOWN if isinstance(effect, NewShape) or names_dtype else Outcome.GOES_ON
    if name == "zero_":
        return Outcome.ENDS
    match effect:
        case NewDType():
            return _method_on_dtype(effect, name, use)
        case NewShape():
            return Outcome.GOES_ON if name in dtypes.CAST_METHODS or name in _TO_DEVICE else Outcome.UNKNOWN
        case NewDevice():
            if name in _SIZE_METHODS | {"cpu", "cuda"}:
                return Outcome.ENDS
            return Outcome.GOES_ON if name in dtypes.CAST_METHODS else Outcome.UNKNOWN


def _method_on_dtype(effect: NewDType, name: str, use: Expr) -> Outcome:
    if name in _SIZE_METHODS or name in _COMPARING or name in dtypes.CAST_METHODS:
        return Outcome.ENDS
    if name in _TO_DEVICE:
        return Outcome.GOES_ON
    if name in _TO_PYTHON:
        return _same_family(effect, Outcome.ENDS)
    if name in _SUMS:
        # Of integers they give int64, whichever they are.
        ends = {effect.old, effect.new} <= dtypes.INTEGRAL
        return Outcome.ENDS if ends else _same_family(effect, Outcome.GOES_ON)
    if name in _CHOOSING:
        return _same_family(effect, Outcome.GOES_ON)
    if name in {"fill_", "add_", "sub_", "mul_"} and len(use[4]) == 1 and not use[5]:
        value = constant(use[4][0], [])
        whole = isinstance(value, int) or effect.new in dtypes.FLOATING
        return Outcome.GOES_ON if value is not None and whole and fits(value, effect.new) else Outcome.UNKNOWN
    return Outcome.UNKNOWN


def _same_family(effect: NewDType, outcome: Outcome) -> Outcome:
    """`outcome` where both dtypes are integral, or both floating."""
    alike = any({effect.old, effect.new} <= family for family in (dtypes.INTEGRAL, dtypes.FLOATING))
    return outcome if alike else Outcome.UNKNOWN


def _argument(effect: Effect, use: Expr) -> Outcome:
    function = use[3]
    if function[0] == ir.NAME and function[3] in SHOWING:
        return Outcome.UNKNOWN if isinstance(effect, NewShape) and function[3] == "len" else Outcome.ENDS
    if function[0] == ir.NAME and function[3] in {"int", "float", "bool"}:
        return _same_family(effect, Outcome.ENDS) if isinstance(effect, NewDType) else Outcome.ENDS
    return Outcome.CALLED


def _subscript(effect: Effect, use: Expr, inner: Expr) -> Outcome:
    if use[3] is inner:
        return Outcome.UNKNOWN if isinstance(effect, NewShape) else Outcome.GOES_ON
    if isinstance(effect, Stored):
        return Outcome.ENDS
    # As an index: torch before 2.13 takes int64 alone, and a mask is bool.
    return Outcome.ENDS if effect == NewDType("int32", "int64") else Outcome.UNKNOWN


def _compare(effect: Effect, use: Expr) -> Outcome:
    plain = all(op not in {"in", "not in", "is", "is not"} for op, _ in use[4])
    if not plain:
        # `x is None`, but not `x.dtype is torch.int64`.
        last = use[4][-1][1]
        return Outcome.ENDS if use[3][0] == ir.NAME and last == (*last[:3], None) else Outcome.UNKNOWN
    sides = [use[3], *(side for _, side in use[4])]
    if any(side[0] == ir.ATTRIBUTE for side in sides):
        return Outcome.UNKNOWN
    numbers = sum(constant(side, []) is not None for side in sides) == len(sides) - 1
    return Outcome.ENDS if isinstance(effect, NewDType) else Outcome.GOES_ON if numbers else Outcome.UNKNOWN


def _binary(effect: Effect, use: Expr, inner: Expr, scopes: list[Block]) -> Outcome:
    other = use[5] if use[4] is inner else use[4]
    number = constant(other, scopes)
    if number is not None and use[3] in _ARITHMETIC:
        if isinstance(effect, NewDType) and effect.new == "bool":
            return Outcome.UNKNOWN
        return Outcome.GOES_ON
    # Two tensors are promoted to a common dtype, whatever they have.
    if isinstance(effect, NewDType) and use[3] in _ARITHMETIC and effect.new != "bool":
        return Outcome.GOES_ON
    return Outcome.UNKNOWN


def judge_named(effect: Effect, dotted: str, call: Expr) -> Outcome:
    """What a function that is known by its name alone makes of a changed argument."""
    match effect:
        case Stored() if dotted.startswith("torch.") and not dotted.endswith("_"):
            return Outcome.UNKNOWN if any(name == "out" for name, _ in call[5]) else Outcome.GOES_ON
        case NewDType() if dotted in _ASKING:
            return Outcome.ENDS
        case NewDType() if dotted in _LIKE:
            return Outcome.ENDS if any(name == "dtype" for name, _ in call[5]) else Outcome.GOES_ON
        case NewDType() if dotted in _JOINING:
            return Outcome.GOES_ON
        case NewDevice() if dotted in _LIKE:
            return Outcome.ENDS if any(name == "device" for name, _ in call[5]) else Outcome.GOES_ON
        case _:
            return Outcome.UNKNOWN
