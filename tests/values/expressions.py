"""Small Python expressions evaluated on abstract values, for the text cases.

A case is a block of lines. `name: kind` declares an unknown (`n: size`, `k: int`, `x: any`, `d: dtype`, `x: tensor`, or
a tensor known in part: `x: float32[4, n] cuda`, with `?` for what is not known); `name = expression` assigns; the last
expression is what the case is about.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from raiselens_server.values.dims import Linear, Symbol, of_symbol, render
from raiselens_server.values.dtypes import ALL, FLOATING, canonical
from raiselens_server.values.lattice import (
    Const,
    Device,
    DType,
    HolePart,
    Int,
    Named,
    Opaque,
    Seq,
    Slice,
    Tensor,
    Unknown,
    Value,
)
from raiselens_server.values.ops import (
    Ambient,
    NoRule,
    Outcome,
    Raise,
    Result,
    attribute,
    augmented,
    binary,
    call,
    getitem,
    knows,
    setitem,
    unary,
)

SCRIPT = Ambient(frozenset({"float32"}), Device("cpu"))
LIBRARY = Ambient(FLOATING, None)
_NAMES = {"F": "torch.nn.functional", "np": "numpy"}
_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.Gt: ">",
    ast.USub: "-", ast.Invert: "~",
}  # fmt: skip


class RaisedError(Exception):
    """An operation of the case raises."""

    def __init__(self, found: Raise) -> None:
        super().__init__(found.class_name)
        self.found = found


@dataclass
class Evaluator:
    """Runs the lines of a case."""

    ambient: Ambient = SCRIPT
    names: dict[str, Value] = field(default_factory=dict)

    def declare(self, name: str, kind: str) -> None:
        """`name: kind`."""
        match kind.partition(" "):
            case "size", _, least:
                self.names[name] = Int(of_symbol(Symbol(name, len(self.names), int(least or 0))))
            case ("int" | "bool" | "float") as type_name, _, _:
                self.names[name] = Opaque(type_name)
            case "any", _, _:
                self.names[name] = Unknown("test")
            case "dtype", _, _:
                self.names[name] = DType(ALL)
            case "tensor", _, _:
                self.names[name] = Tensor()
            case _:
                self.names[name] = self._tensor(kind)

    def _tensor(self, kind: str) -> Tensor:
        found = re.fullmatch(r"([\w?]+)(?:\[(.*)\])?(?: (\w+)(?::(\d+))?)?", kind)
        assert found, kind
        dtype, sizes, device, index = found.groups()
        shape: list[int | Linear | None] | None = None if sizes is None else []
        for size in (sizes or "").split(", "):
            if not size or shape is None:
                continue
            known = self.names.get(size)
            shape.append(None if size == "?" else known.dim if isinstance(known, Int) else int(size))
        return Tensor(
            dtypes=ALL if dtype == "?" else FLOATING if dtype == "floating" else frozenset({dtype}),
            shape=None if shape is None else tuple(shape),
            device=Device(device, int(index) if index else None) if device else None,
            requires_grad=False,
        )

    def run(self, lines: list[str]) -> Outcome:
        """The outcome of the last line."""
        last: Outcome = Result(Const(None))
        try:
            for line in lines:
                declared = re.fullmatch(r"(\w+): (.+)", line)
                if declared:
                    self.declare(declared[1], declared[2])
                else:
                    last = self._statement(ast.parse(line).body[0])
        except RaisedError as raised:
            return raised.found
        return last

    def _statement(self, node: ast.stmt) -> Outcome:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.names[name] = self.value(value)
            case ast.Assign(targets=[ast.Subscript(value=target, slice=index)], value=value):
                return self.settle(setitem(self.tensor(target), self.value(index), self.value(value)))
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                outcome = augmented(_OPERATORS[type(op)], self.names[name], self.value(value), self.ambient)
                return self.settle(outcome)
            case ast.Expr(value=value):
                return self.outcome(value)
            case _:
                raise AssertionError(ast.unparse(node))
        return Result(Const(None))

    def settle(self, outcome: Outcome) -> Outcome:
        """The outcome, raised where it is a raise."""
        if isinstance(outcome, Raise):
            raise RaisedError(outcome)
        return outcome

    def value(self, node: ast.expr) -> Value:
        """The value of an expression."""
        outcome = self.outcome(node)
        return outcome.value if isinstance(outcome, Result) else Unknown("no rule")

    def tensor(self, node: ast.expr) -> Tensor:
        """The value of an expression that is a tensor."""
        value = self.value(node)
        assert isinstance(value, Tensor)
        return value

    def outcome(self, node: ast.expr) -> Outcome:
        """The outcome of an expression."""
        return self.settle(self._outcome(node))

    def _outcome(self, node: ast.expr) -> Outcome:
        match node:
            case ast.Constant(value=constant):
                return Result(Const(constant))
            case ast.Name(id=name):
                return Result(self.names.get(name, Named(_NAMES.get(name, name))))
            case ast.Tuple(elts=items) | ast.List(elts=items):
                kind = "tuple" if isinstance(node, ast.Tuple) else "list"
                return Result(Seq(tuple(self.value(item) for item in items), kind))
            case ast.Slice(lower=lower, upper=upper, step=step):
                parts = [Const(None) if part is None else self.value(part) for part in (lower, upper, step)]
                return Result(Slice(*parts))
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(_OPERATORS[type(op)], self.value(left), self.value(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._binary(_OPERATORS[type(op)], self.value(left), self.value(right))
            case ast.UnaryOp(op=op, operand=operand):
                value = self.value(operand)
                if isinstance(value, Const) and isinstance(value.value, int | float):
                    return Result(Const(-value.value))
                return unary(_OPERATORS[type(op)], value)
            case ast.Subscript(value=value, slice=index):
                return self._subscript(self.value(value), self.value(index))
            case ast.Attribute(value=value, attr=name):
                return self._attribute(self.value(value), name)
            case ast.Call(func=function, args=args, keywords=keywords):
                named = {keyword.arg or "": self.value(keyword.value) for keyword in keywords}
                return self._call(function, [self.value(arg) for arg in args], named)
            case _:
                raise AssertionError(ast.unparse(node))

    def _binary(self, op: str, left: Value, right: Value) -> Outcome:
        if isinstance(left, Int) and isinstance(right, Const) and op == "+" and isinstance(right.value, int):
            return Result(Int(Linear(left.dim.constant + right.value, left.dim.terms)))
        return binary(op, left, right, self.ambient)

    def _subscript(self, value: Value, index: Value) -> Outcome:
        if isinstance(value, Seq) and isinstance(index, Const) and isinstance(index.value, int):
            return Result(value.items[index.value])
        return getitem(value, index) if isinstance(value, Tensor) else NoRule()

    def _attribute(self, value: Value, name: str) -> Outcome:
        if isinstance(value, Named) and not value.name.startswith(("torch.iinfo(", "torch.finfo(")):
            dtype = canonical(name) if value.name == "torch" else None
            return Result(DType(frozenset({dtype})) if dtype else Named(f"{value.name}.{name}"))
        found = attribute(value, name)
        return NoRule() if found is None else Result(found)

    def _call(self, function: ast.expr, args: list[Value], named: dict[str, Value]) -> Outcome:
        if isinstance(function, ast.Attribute):
            receiver = self.value(function.value)
            if not isinstance(receiver, Named):
                return call(f"torch.Tensor.{function.attr}", [receiver, *args], named, self.ambient)
            return call(f"{receiver.name}.{function.attr}", args, named, self.ambient)
        return NoRule()


def shown(outcome: Outcome) -> str:
    """An outcome as the text cases write it."""
    match outcome:
        case NoRule():
            return "? no rule"
        case Raise(class_name=class_name, message=parts, earlier=earlier):
            text = "".join(f"{{{part.expr}}}" if isinstance(part, HolePart) else part for part in parts)
            return f"{'~' if earlier else '!'} {class_name}: {text}"
        case Result(value=value, may_raise=may_raise):
            return f"{'?' if may_raise else '='} {shown_value(value)}"


def shown_value(value: Value) -> str:
    """A value as the text cases write it."""
    match value:
        case Tensor(dtypes=names, shape=shape, device=device):
            dtype = "?" if names == ALL else "floating" if names == FLOATING else "|".join(sorted(names))
            sizes = "[...]" if shape is None else f"[{', '.join('?' if s is None else render(s) for s in shape)}]"
            layout = {True: "", False: " strided", None: " layout?"}[value.contiguous]
            where = "?" if device is None else device.type if device.index is None else f"{device.type}:{device.index}"
            return f"{dtype}{sizes} {where}{layout}"
        case Const(value=constant):
            return repr(constant)
        case Int(dim=dim):
            return render(dim)
        case Opaque(type=kind):
            return f"some {kind}"
        case DType(names=names):
            return "some dtype" if names == ALL else "|".join(f"torch.{name}" for name in sorted(names))
        case Seq(items=items, kind=kind):
            return f"{kind}({', '.join(shown_value(item) for item in items)})"
        case _:
            return "unknown"


__all__ = ["LIBRARY", "SCRIPT", "Evaluator", "knows", "shown"]
