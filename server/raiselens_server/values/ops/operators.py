"""Python's operators on tensors."""

from __future__ import annotations

from typing import Final

from raiselens_server.values.lattice import NONE, Array, Const, Seq, Tensor, Text, Unknown, Value
from raiselens_server.values.ops import reading
from raiselens_server.values.ops.arrays import array_binary
from raiselens_server.values.ops.building import derive, error, ok
from raiselens_server.values.ops.dispatch import call
from raiselens_server.values.ops.outcome import NO_RULE, Ambient, Outcome

_FUNCTIONS: Final = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "//": "floor_divide",
    "%": "remainder",
    "**": "pow",
    "&": "bitwise_and",
    "|": "bitwise_or",
    "^": "bitwise_xor",
    "<<": "bitwise_left_shift",
    ">>": "bitwise_right_shift",
    "==": "eq",
    "!=": "ne",
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
    "@": "matmul",
}
_NOWHERE: Final = Ambient(frozenset({"float16", "bfloat16", "float32", "float64"}), None)
_NAMED: Final = {op: f"torch.{name}" for op, name in _FUNCTIONS.items()}
_IN_PLACE: Final = {op: f"torch.Tensor.{name}_" for op, name in _FUNCTIONS.items() if op not in ("@", "%")}
_REFLECTED: Final = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_EQUALITY: Final = frozenset({"==", "!="})
_TYPED: Final = frozenset({"+", "-", "/", "@"})


def binary(op: str, left: Value, right: Value, ambient: Ambient) -> Outcome:
    """`left op right`, where at least one is a tensor or an array; `op` as written: `+`, `@`, `<=`."""
    return _operate(op, left, right, ambient, op)


def _operate(op: str, left: Value, right: Value, ambient: Ambient, shown: str) -> Outcome:
    name = _NAMED.get(op)
    if name is None or ambient.overridden:
        return NO_RULE
    if isinstance(left, Array) or isinstance(right, Array):
        return array_binary(op, left, right)
    if op in _EQUALITY and not (_takes_part(left) and _takes_part(right)):
        return NO_RULE
    if op in _TYPED and isinstance(left, Tensor) and _foreign(right):
        kinds = f"'{reading.type_name(left)}' and '{reading.type_name(right)}'"
        return error(
            "TypeError", None, "both are tensors or numbers", f"unsupported operand type(s) for {shown}: {kinds}"
        )
    if not isinstance(left, Tensor) and not reading.number_kind(left):
        if left == NONE and op in _TYPED:
            text = f"unsupported operand type(s) for {shown}: 'NoneType' and '{reading.type_name(right)}'"
            return error("TypeError", None, "both are tensors or numbers", text)
        return NO_RULE if _foreign(left) else ok(Unknown("operator"), may_raise=True)
    if not isinstance(left, Tensor) and op in _REFLECTED:
        return call(_NAMED[_REFLECTED[op]], (right, left), {}, ambient)
    if op == "@" and (reading.number_kind(right) or reading.number_kind(left)):
        kinds = f"'{reading.type_name(left)}' and '{reading.type_name(right)}'"
        return error("TypeError", None, "both are tensors", f"unsupported operand type(s) for {shown}: {kinds}")
    return call(name, (left, right), {}, ambient)


def _takes_part(value: Value) -> bool:
    return isinstance(value, Tensor) or reading.number_kind(value) is not None


def _foreign(value: Value) -> bool:
    """Whether a tensor certainly has no arithmetic with the value, nor the value with a tensor."""
    match value:
        case Const(value=None | str()) | Text():
            return True
        case Seq(kind="list" | "tuple"):
            return True
        case _:
            return False


def unary(op: str, value: Value) -> Outcome:
    """`op value`: `-`, `+` or `~`."""
    match op, value:
        case "+", Tensor(dtypes=names) if names == {"bool"}:
            text = "The `+` operator, on a bool tensor is not supported."
            return error("RuntimeError", None, "the dtype is not bool", text)
        case "+", Tensor():
            return ok(derive(value) if "bool" in value.dtypes else value, may_raise="bool" in value.dtypes)
        case "-", Tensor():
            return call("torch.neg", (value,), {}, _NOWHERE)
        case "~", Tensor() if not any(name == "bool" or "int" in name for name in value.dtypes):
            text = "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
            return error("TypeError", None, "the dtype is bool or integral", text)
        case "~", Tensor():
            return call("torch.bitwise_not", (value,), {}, _NOWHERE)
        case _, Array():
            return ok(value)
        case _:
            return NO_RULE


def augmented(op: str, left: Value, right: Value, ambient: Ambient) -> Outcome:
    """`left op= right`, `op` without the `=`; the value is what `left` is bound to afterwards."""
    if not isinstance(left, Tensor) or op not in _IN_PLACE or _foreign(right):
        return _operate(op, left, right, ambient, f"{op}=")
    return call(_IN_PLACE[op], (left, right), {}, ambient)
