"""Expressions on abstract values."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

from raiselens_server.foresee import strings
from raiselens_server.foresee.core import Core
from raiselens_server.foresee.frames import Raising
from raiselens_server.foresee.objects import (
    DictObject,
    Function,
    InstanceObject,
    ListObject,
    Pending,
)
from raiselens_server.source import ir
from raiselens_server.values import dims, dtypes, lattice, ops
from raiselens_server.values.lattice import (
    Array,
    Callable,
    Const,
    Device,
    DType,
    HolePart,
    Int,
    Named,
    Opaque,
    Ref,
    Seq,
    Slice,
    Tensor,
    Text,
    Union,
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
_COMPARE: Final[dict[str, Handler[[Any, Any], Any]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_SWAPPED: Final = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_LONGEST: Final = 4096
_BIGGEST: Final = 1 << 64
_BOOL: Final = Opaque("bool")


def constant_bool(value: bool | None) -> Value:
    """A must-answer as a value."""
    return _BOOL if value is None else Const(value)


class Expressions(Core):
    """Evaluates expressions."""

    def evaluate(self, expr: Expr, frame: Frame) -> Value:
        """The value of an expression. Raises `Raising` where it certainly raises."""
        return self._expressions[expr[0]](self, expr, frame)

    def _opaque(self, expr: Expr, frame: Frame) -> Value:
        return Unknown("not-understood")

    def _constant(self, expr: Expr, frame: Frame) -> Value:
        return Const(expr[3])

    def _name(self, expr: Expr, frame: Frame) -> Value:
        return self.lookup(expr[3], frame)

    def lookup(self, name: str, frame: Frame) -> Value:
        """The value of a name, by Python's scope rules."""
        if name in frame.rebound:
            return Unknown("nonlocal")
        found = frame.variables.get(name)
        if found is not None:
            return found
        if name in frame.local:
            return Unknown("unbound")
        scope = frame.closure
        while scope is not None:
            if name in scope.rebound:
                return Unknown("nonlocal")
            found = scope.variables.get(name)
            if found is not None:
                return found
            if name in scope.local:
                return Unknown("unbound")
            scope = scope.closure
        return self.scopes.global_value(frame.module, name, self)

    def _attribute(self, expr: Expr, frame: Frame) -> Value:
        return self.load_attribute(self.evaluate(expr[3], frame), expr[4], frame, expr)

    def _tuple(self, expr: Expr, frame: Frame) -> Value:
        items = self.expand(expr[3], frame)
        return Unknown("starred") if items is None else Seq(tuple(items))

    def _list(self, expr: Expr, frame: Frame) -> Value:
        items = self.expand(expr[3], frame)
        return self.new("list", ListObject(None if items is None else tuple(items)))

    def _set(self, expr: Expr, frame: Frame) -> Value:
        items = self.expand(expr[3], frame)
        return self.new_set(None if items is None else tuple(items))

    def expand(self, items: tuple[Expr, ...], frame: Frame) -> list[Value] | None:
        """Evaluate items, stars expanded; None where a star's length is not known."""
        values: list[Value] = []
        known = True
        for item in items:
            if item[0] == ir.STAR:
                inner = self.items_of(self.evaluate(item[3], frame))
                if inner is None:
                    known = False
                else:
                    values.extend(inner)
            else:
                values.append(self.evaluate(item, frame))
        return values if known else None

    def _dict(self, expr: Expr, frame: Frame) -> Value:
        pairs: dict[Value, Value] = {}
        known = True
        for key, item in expr[3]:
            if key is None:
                inner = self.evaluate(item, frame)
                contents = self.contents(inner) if isinstance(inner, Ref) else None
                if isinstance(contents, DictObject) and contents.items is not None:
                    pairs.update(contents.items)
                else:
                    known = False
                continue
            name, value = self.evaluate(key, frame), self.evaluate(item, frame)
            if isinstance(name, (Const, DType, Named, Callable, Ref, Seq)):
                pairs[name] = value
            else:
                known = False
        return self.new("dict", DictObject(tuple(pairs.items()) if known else None))

    def _fstring(self, expr: Expr, frame: Frame) -> Value:
        parts: list[str | HolePart] = []
        for part in expr[3]:
            if isinstance(part, str):
                parts.append(part)
                continue
            inner, conversion, spec = part
            value = self.evaluate(inner, frame)
            text = "" if spec is None else spec[0]
            parts.extend(self.text_of(value, conversion, text, self.source(frame, inner)))
        return strings.to_value(strings.merge(parts))

    def text_of(self, value: Value, conversion: str, spec: str | None, source: str) -> strings.Parts:
        """How a value prints in a replacement field."""
        return strings.formatted(self.printable(value), conversion, spec, source)

    def printable(self, value: Value) -> Value:
        """The value with lists as snapshots, and classes and functions by name."""
        match value:
            case Ref(kind="list"):
                items = self.items_of(value)
                return value if items is None else Seq(tuple(self.printable(i) for i in items), "list")
            case Ref(kind="instance"):
                return self.exception_text(value) or value
            case Seq(items=items, kind=kind):
                return Seq(tuple(self.printable(i) for i in items), kind)
            case _:
                return value

    def _lambda(self, expr: Expr, frame: Frame) -> Value:
        function = Function(expr[3], frame.module, frame, frame.owner)
        return Callable(function, function.dotted)

    def _slice(self, expr: Expr, frame: Frame) -> Value:
        parts = [lattice.NONE if part is None else self.evaluate(part, frame) for part in expr[3:6]]
        return Slice(*parts)

    def _star(self, expr: Expr, frame: Frame) -> Value:
        self.evaluate(expr[3], frame)
        return Unknown("starred")

    def _walrus(self, expr: Expr, frame: Frame) -> Value:
        value = self.evaluate(expr[4], frame)
        frame.variables[expr[3]] = value
        return value

    def _await(self, expr: Expr, frame: Frame) -> Value:
        value = self.evaluate(expr[3], frame)
        if isinstance(value, Callable) and isinstance(value.target, Pending) and not value.target.generator:
            return self.run_pending(value.target, frame)
        return Unknown("await")

    def _yield(self, expr: Expr, frame: Frame) -> Value:
        if expr[3] is not None:
            self.escape(self.evaluate(expr[3], frame))
        frame.yielded = True
        return Unknown("yield")

    # Operators

    def _conditional(self, expr: Expr, frame: Frame) -> Value:
        answer = self.test(expr[3], frame)
        if answer is not None:
            return self.evaluate(expr[4] if answer else expr[5], frame)
        return self._either(
            lambda: self.branch(expr[3], frame, expr[4], taken=True),
            lambda: self.branch(expr[3], frame, expr[5], taken=False),
            frame,
        )

    def branch(self, test: Expr, frame: Frame, expr: Expr, *, taken: bool) -> Value:
        """Evaluate an operand that is reached only where `test` is `taken`."""
        saved = frame.variables
        frame.variables = dict(saved)
        self.refine(test, taken, frame)
        try:
            return self.evaluate(expr, frame)
        finally:
            bound = {name: value for name, value in frame.variables.items() if name not in saved}
            frame.variables = saved
            for name in bound:
                saved[name] = Unknown("maybe-unbound")

    def _either(self, first: Handler[[], Value], second: Handler[[], Value], frame: Frame) -> Value:
        results: list[Value] = []
        raised: list[Raising] = []
        for thunk in (first, second):
            try:
                results.append(thunk())
            except Raising as raising:
                raised.append(raising)
        if not results:
            raise raised[0]
        for each in raised:
            if frame.root:
                self.report(each, frame)
            else:
                frame.unsure = True
        joined = results[0]
        for value in results[1:]:
            joined = lattice.join(joined, value)
        return joined

    def test(self, expr: Expr, frame: Frame) -> bool | None:
        """What `bool(expr)` must be; the operands of and/or/not are asked by themselves."""
        if expr[0] == ir.BOOLEAN:
            stop = expr[3] == "or"
            answer = self.test(expr[4][0], frame)
            previous = expr[4][0]
            for operand in expr[4][1:]:
                if answer is stop:
                    return stop
                if answer is None:
                    right = self._speculative_test(previous, operand, frame, taken=not stop)
                    answer = stop if right is stop else None
                else:
                    answer = self.test(operand, frame)
                previous = operand
            return answer
        if expr[0] == ir.UNARY and expr[3] == "not":
            answer = self.test(expr[4], frame)
            return None if answer is None else not answer
        return self.truth(self.evaluate(expr, frame))

    def _speculative_test(self, test: Expr, operand: Expr, frame: Frame, *, taken: bool) -> bool | None:
        value = self.speculate(frame, lambda: constant_bool(self._branch_test(test, operand, frame, taken=taken)))
        return self.truth(value)

    def _branch_test(self, test: Expr, operand: Expr, frame: Frame, *, taken: bool) -> bool | None:
        saved = frame.variables
        frame.variables = dict(saved)
        self.refine(test, taken, frame)
        try:
            return self.test(operand, frame)
        finally:
            bound = [name for name in frame.variables if name not in saved]
            frame.variables = saved
            saved.update({name: Unknown("maybe-unbound") for name in bound})

    def _boolean(self, expr: Expr, frame: Frame) -> Value:
        stop = expr[3] == "or"
        value = self.evaluate(expr[4][0], frame)
        previous = expr[4][0]
        for operand in expr[4][1:]:
            answer = self.truth(value)
            if answer is stop:
                return value
            if answer is None:
                right = self._speculative_operand(previous, operand, frame, taken=not stop)
                value = lattice.join(self._kept(value, stop), right)
            else:
                value = self.evaluate(operand, frame)
            previous = operand
        return value

    def _speculative_operand(self, test: Expr, operand: Expr, frame: Frame, *, taken: bool) -> Value:
        return self.speculate(frame, lambda: self.branch(test, frame, operand, taken=taken))

    def _kept(self, left: Value, stop: bool) -> Value:
        """The left operand where it is the result: `x or y` gives `x` only if that is true."""
        if isinstance(left, Union):
            options = [option for option in left.options if self.truth(option) in {stop, None}]
            if options:
                return options[0] if len(options) == 1 else Union(tuple(options))
        return left

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
                return self.outcome(ops.unary(kind, value), expr, frame, f"torch.Tensor.{_UNARY_NAMES[kind]}")
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
            return self.outcome(outcome, expr, frame, f"torch.Tensor.{_BINARY_NAMES.get(op, op)}")
        match left, right:
            case (Const(value=a), Const(value=b)):
                return self._constants(op, a, b)
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

    def _constants(self, op: str, left: Any, right: Any) -> Value:
        function = _ARITHMETIC.get(op)
        try:
            if op == "**":
                small = isinstance(right, (int, float)) and abs(right) <= 64 and isinstance(left, (int, float))
                return Const(left**right) if small and abs(left) <= _BIGGEST else Unknown("operator")
            if function is None:
                return Unknown("operator")
            if op in {"*", "<<"} and not (_small(left) and _small(right)):
                return Unknown("operator")
            result = function(left, right)
        except (TypeError, ValueError, ZeroDivisionError, OverflowError):
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

    # Comparisons

    def _compare(self, expr: Expr, frame: Frame) -> Value:
        left = self.evaluate(expr[3], frame)
        result: Value = lattice.TRUE
        unsure = False
        for op, operand in expr[4]:
            right = self.evaluate(operand, frame)
            result = self.compare(op, left, right, expr, frame)
            answer = self.truth(result)
            if answer is False:
                return result
            unsure = unsure or answer is None
            left = right
        if unsure and self.truth(result) is True:
            return _BOOL
        return result

    def compare(self, op: str, left: Value, right: Value, expr: Expr, frame: Frame) -> Value:
        """`left op right` for one comparison."""
        if op in {"in", "not in"}:
            answer = self.contains(right, left)
            return constant_bool(answer if answer is None or op == "in" else not answer)
        if op in {"is", "is not"}:
            answer = self.identical(left, right)
            return constant_bool(answer if answer is None or op == "is" else not answer)
        left, right = self.as_size(left), self.as_size(right)
        if isinstance(left, (Tensor, Array)) or isinstance(right, (Tensor, Array)):
            if isinstance(left, (Seq, Ref)) or isinstance(right, (Seq, Ref)):
                return Unknown("comparison")
            outcome = ops.binary(op, self.plain(left), self.plain(right), self.ambient)
            return self.outcome(outcome, expr, frame, f"torch.Tensor.{_BINARY_NAMES.get(op, op)}")
        if op in {"==", "!="}:
            answer = self.equal(left, right)
            answer = answer if answer is None or op == "==" else not answer
        else:
            answer = self._ordered(op, left, right)
        # What an unknown operand compares to need not be a bool: tensors and arrays compare by element.
        return Unknown("comparison") if answer is None and _may_overload(left, right) else constant_bool(answer)

    def _ordered(self, op: str, left: Value, right: Value) -> bool | None:
        match left, right:
            case (Const(value=a), Const(value=b)):
                try:
                    return bool(_COMPARE[op](a, b))
                except TypeError:
                    return None
            case (Const() | Int(), Const() | Int()):
                low, high = lattice.as_dim(left), lattice.as_dim(right)
                match op:
                    case "<":
                        return dims.less(low, high)
                    case ">":
                        return dims.less(high, low)
                    case "<=":
                        answer = dims.less(high, low)
                    case _:
                        answer = dims.less(low, high)
                return None if answer is None else not answer
            case (Seq(items=a), Seq(items=b)) if all(isinstance(i, Const) for i in (*a, *b)):
                try:
                    return bool(_COMPARE[op](tuple(i.value for i in a), tuple(i.value for i in b)))  # type: ignore[union-attr]
                except TypeError:
                    return None
            case _:
                return None

    def equal(self, left: Value, right: Value) -> bool | None:
        """Whether `left == right` must hold, cannot, or depends."""
        if isinstance(left, Union) or isinstance(right, Union):
            return _over_options(left, right, self.equal)
        match left, right:
            case (Unknown(), _) | (_, Unknown()) | (Opaque(), _) | (_, Opaque()):
                same = isinstance(left, Unknown) and left == right and left.path is not None
                return True if same and "." in (left.path or "") else None  # type: ignore[union-attr]
            case (Const(value=a), Const(value=b)):
                return bool(a == b)
            case (Const() | Int(), Const() | Int()):
                return dims.equal(lattice.as_dim(left), lattice.as_dim(right))
            case (DType(names=a), DType(names=b)):
                if len(a) == 1 and a == b:
                    return True
                return False if not a & b else None
            case (Device(), Device()):
                return _same_device(left, right)
            case (Device(), Const(value=str() as text)) | (Const(value=str() as text), Device()):
                device = left if isinstance(left, Device) else right
                kind, _, index = text.partition(":")
                return _same_device(device, Device(kind, int(index) if index.isdigit() else None))  # type: ignore[arg-type]
            case (Seq(items=a, kind=k), Seq(items=b, kind=m)):
                if (k == "list") != (m == "list"):
                    return False
                return _all_equal(a, b, self.equal)
            case (Ref(kind="list"), _) | (_, Ref(kind="list")):
                return self._list_equal(left, right)
            case (Text(), Const(value=str())) | (Const(value=str()), Text()) | (Text(), Text()):
                return None
            case (Callable(), Callable()) | (Named(), Named()):
                return True if left == right else None
            case (Ref(), Ref()):
                return True if left == right else None
            case (Const(value=None), _) | (_, Const(value=None)):
                return (
                    None if isinstance(left, (Ref, Tensor, Array)) or isinstance(right, (Ref, Tensor, Array)) else False
                )
            case (DType(), Const() | Int() | Seq() | Text()) | (Const() | Int() | Seq() | Text(), DType()):
                return False
            case (Const(value=str()) | Text(), Seq() | Int()) | (Seq() | Int(), Const(value=str()) | Text()):
                return False
            case _:
                return None

    def _list_equal(self, left: Value, right: Value) -> bool | None:
        a, b = self.items_of(left), self.items_of(right)
        if isinstance(left, (Const, DType, Device)) or isinstance(right, (Const, DType, Device)):
            return False
        if a is None or b is None or isinstance(left, Seq) or isinstance(right, Seq):
            return None
        return _all_equal(a, b, self.equal)

    def identical(self, left: Value, right: Value) -> bool | None:
        """Whether `left is right` must hold, cannot, or depends."""
        if isinstance(left, Union) or isinstance(right, Union):
            return _over_options(left, right, self.identical)
        match left, right:
            case (Unknown(), _) | (_, Unknown()):
                return None
            case (Const(value=None | bool() as a), Const(value=None | bool() as b)):
                return a is b
            case (Named(name=name), _) | (_, Named(name=name)) if "." in name and left != right:
                return None
            case (Const(value=None), _) | (_, Const(value=None)):
                return False
            case (Const(value=bool()), Opaque(type="bool")) | (Opaque(type="bool"), Const(value=bool())):
                return None
            case (DType(names=a), DType(names=b)):
                return self.equal(left, right)
            case (Ref(), Ref()):
                return left == right
            case (Callable(), Callable()) | (Named(), Named()):
                return True if left == right else None
            case _:
                return None

    def contains(self, container: Value, item: Value) -> bool | None:
        """Whether `item in container` must hold, cannot, or depends."""
        match container:
            case Const(value=str() as text) if isinstance(item, Const) and isinstance(item.value, str):
                return item.value in text
            case Const(value=range() as numbers) if isinstance(item, Const) and isinstance(item.value, int):
                return item.value in numbers
            case Ref(kind="dict"):
                contents = self.contents(container)
                if not isinstance(contents, DictObject) or contents.items is None:
                    return None
                items: tuple[Value, ...] | None = tuple(key for key, _ in contents.items)
            case Seq() | Ref(kind="list" | "set"):
                items = self.items_of(container)
            case Ref(kind="instance") if isinstance(self.contents(container), InstanceObject):
                return None
            case _:
                return None
        if items is None:
            return None
        answers = [self.equal(item, candidate) for candidate in items]
        if any(answer is True for answer in answers):
            return True
        if any(answer is None for answer in answers):
            return self._dtype_member(item, items)
        return False

    def _dtype_member(self, item: Value, items: tuple[Value, ...]) -> bool | None:
        """Membership of a dtype that may be several, all of which are listed."""
        if isinstance(item, DType) and all(isinstance(i, DType) for i in items):
            listed = {dtypes.only(i.names) for i in items if isinstance(i, DType)}
            if item.names <= listed:
                return True
        return None

    def _subscript(self, expr: Expr, frame: Frame) -> Value:
        value = self.evaluate(expr[3], frame)
        index = self.evaluate(expr[4], frame)
        return self.subscript(value, index, expr, frame)

    _expressions: dict[int, Handler[[Any, Expr, Frame], Value]] = {  # noqa: RUF012 a constant table
        ir.NAME: _name,
        ir.CONST: _constant,
        ir.ATTRIBUTE: _attribute,
        ir.CALL: lambda self, expr, frame: self._call(expr, frame),
        ir.SUBSCRIPT: _subscript,
        ir.BINARY: _binary,
        ir.UNARY: _unary,
        ir.BOOLEAN: _boolean,
        ir.COMPARE: _compare,
        ir.CONDITIONAL: _conditional,
        ir.TUPLE: _tuple,
        ir.LIST: _list,
        ir.SET: _set,
        ir.DICT: _dict,
        ir.FSTRING: _fstring,
        ir.LAMBDA: _lambda,
        ir.COMPREHENSION: lambda self, expr, frame: self._comprehension(expr, frame),
        ir.SLICE: _slice,
        ir.STAR: _star,
        ir.WALRUS: _walrus,
        ir.AWAIT: _await,
        ir.YIELD: _yield,
        ir.OPAQUE: _opaque,
    }


_UNARY_NAMES: Final = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}
_BINARY_NAMES: Final = {
    "+": "__add__",
    "-": "__sub__",
    "*": "__mul__",
    "/": "__truediv__",
    "//": "__floordiv__",
    "%": "__mod__",
    "@": "__matmul__",
    "**": "__pow__",
    "&": "__and__",
    "|": "__or__",
    "^": "__xor__",
    "<<": "__lshift__",
    ">>": "__rshift__",
    "==": "__eq__",
    "!=": "__ne__",
    "<": "__lt__",
    "<=": "__le__",
    ">": "__gt__",
    ">=": "__ge__",
}
BINARY_NAMES = _BINARY_NAMES


def _may_overload(left: Value, right: Value) -> bool:
    return any(
        isinstance(side, (Unknown, Union, Callable, Named)) or (isinstance(side, Ref) and side.kind == "instance")
        for side in (left, right)
    )


def _small(value: object) -> bool:
    if isinstance(value, (int, float)):
        return abs(value) <= _BIGGEST
    return isinstance(value, (str, bytes)) and len(value) <= _LONGEST


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


def _same_device(left: Device, right: Device) -> bool | None:
    if left.type != right.type:
        return False
    if left.index == right.index:
        return True
    return None if left.index is None or right.index is None else False


def _all_equal(
    left: tuple[Value, ...], right: tuple[Value, ...], equal: Handler[[Value, Value], bool | None]
) -> bool | None:
    if len(left) != len(right):
        return False
    answers = [equal(a, b) for a, b in zip(left, right, strict=True)]
    if any(answer is False for answer in answers):
        return False
    return True if all(answers) else None


def _over_options(left: Value, right: Value, question: Handler[[Value, Value], bool | None]) -> bool | None:
    answers = {
        question(a, b)
        for a in (left.options if isinstance(left, Union) else (left,))
        for b in (right.options if isinstance(right, Union) else (right,))
    }
    return answers.pop() if len(answers) == 1 else None
