"""Expressions on abstract values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from raiselens_server.foresee import strings
from raiselens_server.foresee.answers import constant_bool
from raiselens_server.foresee.core import Core
from raiselens_server.foresee.frames import Raising
from raiselens_server.foresee.objects import (
    DictObject,
    Function,
    ListObject,
    Pending,
)
from raiselens_server.source import ir
from raiselens_server.values import lattice
from raiselens_server.values.lattice import (
    Callable,
    Const,
    Device,
    DType,
    HolePart,
    Named,
    Ref,
    Seq,
    Slice,
    Union,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Callable as Handler

    from raiselens_server.foresee.frames import Frame
    from raiselens_server.source.ir import Expr

_ONE_OF_A_KIND: Final = frozenset({"cpu", "meta"})
_SWAPPED: Final = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


_EXPRESSIONS: Final = {
    ir.NAME: "_name",
    ir.CONST: "_constant",
    ir.ATTRIBUTE: "_attribute",
    ir.CALL: "_call",
    ir.SUBSCRIPT: "_subscript",
    ir.BINARY: "_binary",
    ir.UNARY: "_unary",
    ir.BOOLEAN: "_boolean",
    ir.COMPARE: "_compare",
    ir.CONDITIONAL: "_conditional",
    ir.TUPLE: "_tuple",
    ir.LIST: "_list",
    ir.SET: "_set",
    ir.DICT: "_dict",
    ir.FSTRING: "_fstring",
    ir.LAMBDA: "_lambda",
    ir.COMPREHENSION: "_comprehension",
    ir.SLICE: "_slice",
    ir.STAR: "_star",
    ir.WALRUS: "_walrus",
    ir.AWAIT: "_await",
    ir.YIELD: "_yield",
    ir.OPAQUE: "_opaque",
}
"""The handlers, by name: some are those of other parts of the interpreter."""


class Expressions(Core):
    """Evaluates expressions."""

    _expressions: ClassVar[dict[int, Handler[[Any, Expr, Frame], Value]]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._expressions = {kind: getattr(cls, name) for kind, name in _EXPRESSIONS.items() if hasattr(cls, name)}

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
                inner = self.unpacked(self.evaluate(item[3], frame))
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
        card = isinstance(value, Device) and value.index is None and value.type not in _ONE_OF_A_KIND
        if card and source.endswith(".device"):
            # What `x.device` gives names the card it is on, where `torch.device("cuda")` names none.
            return strings.hole(source)
        return strings.formatted(self.printable(value), conversion, spec, source)

    def printable(self, value: Value) -> Value:
        """The value with lists as snapshots, and classes and functions by name."""
        match value:
            case Ref(kind="list"):
                items = self.items_of(value)
                return value if items is None else Seq(tuple(self.printable(i) for i in items), "list")
            case Ref(kind="dict"):
                contents = self.contents(value)
                if not isinstance(contents, DictObject) or contents.items is None:
                    return value
                return Seq(tuple(Seq((key, self.printable(item))) for key, item in contents.items), "dict")
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
        # What is known of a call that was not run is known of what it gives once awaited.
        return value if isinstance(value, Seq) else Unknown("await")

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
            expr[3],
            frame,
        )

    def branch(self, test: Expr, frame: Frame, expr: Expr, *, taken: bool) -> Value:
        """Evaluate an operand that is reached only where `test` is `taken`."""
        saved, changed = frame.variables, len(self.changed_tensors)
        frame.variables = dict(saved)
        self.refine(test, taken, frame)
        try:
            return self.evaluate(expr, frame)
        finally:
            bound = {name: value for name, value in frame.variables.items() if name not in saved}
            frame.variables = saved
            self.outdate(saved, changed)
            for name in bound:
                saved[name] = Unknown("maybe-unbound")

    def _either(self, first: Handler[[], Value], second: Handler[[], Value], test: Expr, frame: Frame) -> Value:
        results: list[Value] = []
        raised: list[tuple[Raising, bool]] = []
        for thunk, taken in ((first, True), (second, False)):
            try:
                results.append(thunk())
            except Raising as raising:
                raised.append((raising, taken))
        if not results:
            raise raised[0][0]
        for each, taken in raised:
            self.stand(each, frame, test, taken=taken)
        return lattice.join_all(results)

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
        value = self.speculate(
            frame, lambda: constant_bool(self._branch_test(test, operand, frame, taken=taken)), test, taken=taken
        )
        return self.truth(value)

    def _branch_test(self, test: Expr, operand: Expr, frame: Frame, *, taken: bool) -> bool | None:
        saved, changed = frame.variables, len(self.changed_tensors)
        frame.variables = dict(saved)
        self.refine(test, taken, frame)
        try:
            return self.test(operand, frame)
        finally:
            bound = [name for name in frame.variables if name not in saved]
            frame.variables = saved
            self.outdate(saved, changed)
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
        return self.speculate(frame, lambda: self.branch(test, frame, operand, taken=taken), test, taken=taken)

    def _kept(self, left: Value, stop: bool) -> Value:
        """The left operand where it is the result: `x or y` gives `x` only if that is true."""
        if isinstance(left, Union):
            options = [option for option in left.options if self.truth(option) in {stop, None}]
            if options:
                return options[0] if len(options) == 1 else Union(tuple(options))
        return left

    # Comparisons

    def _subscript(self, expr: Expr, frame: Frame) -> Value:
        value = self.evaluate(expr[3], frame)
        index = self.evaluate(expr[4], frame)
        return self.subscript(value, index, expr, frame)
