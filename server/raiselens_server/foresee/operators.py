"""Arithmetic and other operators on abstract values."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

from raiselens_server.foresee import strings
from raiselens_server.foresee.answers import BINARY_NAMES, constant_bool
from raiselens_server.foresee.core import Core
from raiselens_server.foresee.objects import (
    DictObject,
    ListObject,
)
from raiselens_server.source import ir
from raiselens_server.values import dims, lattice, ops
from raiselens_server.values.lattice import (
    Array,
    Const,
    HolePart,
    Int,
    Opaque,
    Ref,
    Seq,
    Tensor,
    Text,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Callable as Handler

    from raiselens_server.foresee.frames import Frame
    from raiselens_server.source.ir import Expr

_ARITHMETIC: Final[dict[str, Handler[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}
_LONGEST: Final = 4096
_BIGGEST: Final = 1 << 64
_LONGEST_SUM: Final = 1 << 16
_MOST_PLACES: Final = 64
_UNARY_NAMES: Final = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}


class Operators(Core):
    """Applies operators."""

    def _unary(self, expr: Expr, frame: Frame) -> Value:
        kind, value = expr[3], self.evaluate(expr[4], frame)
        if kind == "not":
            answer = self.truth(value)
            return constant_bool(None if answer is None else not answer)
        match value:
            case Const(value=bool() | int() | float() as number):
                if kind == "~":
                    return Const(~int(number)) if isinstance(number, int) else Unknown("operator")
                return Const(-number if kind == "-" else +number)
            case Int(dim=dim) if kind == "-":
                return Int(dims.scale(dim, -1))  # type: ignore[arg-type]
            case Tensor() | Array():
                return self.outcome(ops.unary(kind, value), expr, frame, f"torch.Tensor.{_UNARY_NAMES[kind]}", (value,))
            case _:
                return Unknown("operator")

    def _binary(self, expr: Expr, frame: Frame) -> Value:
        left, right = self.evaluate(expr[4], frame), self.evaluate(expr[5], frame)
        return self.binary(expr[3], left, right, expr, frame)

    def binary(self, op: str, left: Value, right: Value, expr: Expr, frame: Frame) -> Value:
        """`left op right`."""
        left, right = self.as_size(left), self.as_size(right)
        if isinstance(left, (Tensor, Array)) or isinstance(right, (Tensor, Array)):
            outcome = ops.binary(op, self.plain(left), self.plain(right), self.ambient)
            return self.outcome(outcome, expr, frame, f"torch.Tensor.{BINARY_NAMES.get(op, op)}", (left, right))
        match left, right:
            case (Const(value=a), Const(value=b)):
                return self._constants(op, a, b, frame)
            case (Const(value=str() as template), _) if op == "%":
                values = right.items if isinstance(right, Seq) else (right,)
                sources = _percent_sources(self, expr, frame, len(values))
                parts = strings.percent(template, tuple(self.printable(v) for v in values), sources)
                return Opaque("str") if parts is None else strings.to_value(parts)
            case (Const(value=str()) | Text(), Const(value=str()) | Text()) if op == "+":
                return strings.to_value(strings.merge([*_text_parts(left), *_text_parts(right)]))
            case (Const(value=str()) | Text(), _) if op == "+":
                part = HolePart(self.source(frame, expr[5])) if len(expr) > 5 else HolePart("…")
                return strings.to_value(strings.merge([*_text_parts(left), part]))
            case (Seq(items=a, kind=k), Seq(items=b)) if op == "+":
                return Seq(a + b, "tuple" if k == "torch.Size" else k)
            case (Seq(items=a, kind=k), Const(value=int() as n)) if op == "*" and 0 <= n * len(a) <= _LONGEST:
                return Seq(a * n, k)
            case (Ref(kind="list"), _) if op in "+*":
                return self._list_operator(op, left, right)
            case (Ref(kind="dict"), Ref(kind="dict")) if op == "|":
                one, two = self.contents(left), self.contents(right)
                if isinstance(one, DictObject) and isinstance(two, DictObject) and None not in (one.items, two.items):
                    return self.new(
                        "dict", DictObject(tuple({**dict(one.items or ()), **dict(two.items or ())}.items()))
                    )
                return self.new("dict", DictObject(None))
            case _:
                return self._integers(op, left, right)

    def _constants(self, op: str, left: Any, right: Any, frame: Frame) -> Value:
        function = _ARITHMETIC.get(op)
        try:
            if op == "**":
                small = isinstance(right, (int, float)) and abs(right) <= 64 and isinstance(left, (int, float))
                return Const(left**right) if small and abs(left) <= _BIGGEST else Unknown("operator")
            if function is None:
                return Unknown("operator")
            if _could_be_vast(op, left, right):
                return Unknown("operator")
            result = function(left, right)
        except (TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
            self.refused(error, frame)
            return Unknown("operator")
        return Const(result) if isinstance(result, (bool, int, float, str, bytes, complex)) else Unknown("operator")

    def _list_operator(self, op: str, left: Value, right: Value) -> Value:
        items = self.items_of(left)
        if op == "+":
            others = self.items_of(right)
            known = None if items is None or others is None else items + others
            return self.new("list", ListObject(known))
        times = right.value if isinstance(right, Const) and isinstance(right.value, int) else None
        if items is None or times is None or not 0 <= times * len(items) <= _LONGEST:
            return self.new("list", ListObject(None))
        return self.new("list", ListObject(items * times))

    def _integers(self, op: str, left: Value, right: Value) -> Value:
        a, b = lattice.as_dim(left), lattice.as_dim(right)
        if a is not None and b is not None:
            result: dims.Dim | None = None
            match op:
                case "+":
                    result = dims.add(a, b)
                case "-":
                    result = dims.subtract(a, b)
                case "*":
                    result = dims.multiply(a, b)
                case "//":
                    result = dims.floor_divide(a, b)
                case "%":
                    result = dims.remainder(a, b)
                case "/":
                    return Opaque("float")
                case _:
                    pass
            if result is not None:
                return lattice.from_dim(result)
            return Opaque("int") if op in {"+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>"} else Unknown("operator")
        kinds = {_number_kind(left), _number_kind(right)}
        if kinds <= {"int"} and op not in {"/", "**"}:
            return Opaque("int")
        if kinds <= {"int", "float"}:
            return Opaque("float") if "float" in kinds or op == "/" else Unknown("operator")
        self.escape(left)
        self.escape(right)
        return Unknown("operator")


def _could_be_vast(op: str, left: object, right: object) -> bool:
    """Whether the result could be larger than any program's own: text repeated, padded or doubled, a number shifted."""
    match op, left, right:
        case "*", (str() | bytes()) as text, int() as times:
            return len(text) * times > _LONGEST
        case "*", int() as times, (str() | bytes()) as text:
            return len(text) * times > _LONGEST
        case "*", (int() | float()), (int() | float()):
            return not (abs(left) <= _BIGGEST and abs(right) <= _BIGGEST)
        case "<<", int(), int() as places:
            return abs(left) > _BIGGEST or places > _MOST_PLACES
        case "+", (str() | bytes()), (str() | bytes()):
            return len(left) + len(right) > _LONGEST_SUM
        case "%", (str() | bytes()) as template, _:
            text = template if isinstance(template, str) else template.decode("latin-1")
            return "*" in text or strings.is_wide(text)
        case _:
            return False


def _number_kind(value: Value) -> str:
    match value:
        case Const(value=bool() | int()) | Int() | Opaque(type="int" | "bool"):
            return "int"
        case Const(value=float()) | Opaque(type="float"):
            return "float"
        case _:
            return "other"


def _text_parts(value: Value) -> strings.Parts:
    match value:
        case Const(value=str() as text):
            return (text,)
        case Text(parts=parts):
            return parts
        case _:
            return ()


def _percent_sources(run: Core, expr: Expr, frame: Frame, count: int) -> tuple[str, ...]:
    right = expr[5] if expr[0] == ir.BINARY else None
    if right is not None and right[0] == ir.TUPLE and len(right[3]) == count:
        return tuple(run.source(frame, item) for item in right[3])
    text = "…" if right is None else run.source(frame, right)
    return tuple(text if count == 1 else f"{text}[{i}]" for i in range(count))
