"""Subscripts, assignment targets, unpacking and comprehensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raiselens_server.foresee.core import Core, settled
from raiselens_server.foresee.frames import Raising
from raiselens_server.foresee.loops import UNROLL_LIMIT
from raiselens_server.foresee.objects import DictObject, ListObject
from raiselens_server.source import ir
from raiselens_server.values import lattice, ops
from raiselens_server.values.lattice import Array, Callable, Const, Named, Ref, Seq, Slice, Tensor, Union, Unknown

if TYPE_CHECKING:
    from raiselens_server.foresee.frames import Frame
    from raiselens_server.source.ir import Expr, Stmt
    from raiselens_server.values.lattice import Value


class Access(Core):
    """Reading and writing through subscripts and targets."""

    # Reading

    def subscript(self, value: Value, index: Value, expr: Expr, frame: Frame) -> Value:
        """`value[index]`."""
        match value:
            case Tensor() | Array():
                return self.outcome(
                    ops.getitem(value, self.plain(index)), expr, frame, "torch.Tensor.__getitem__", (value, index)
                )
            case Seq() | Ref(kind="list"):
                return self._sequence_item(value, index, expr, frame)
            case Const(value=str() as text):
                if isinstance(index, Const) and isinstance(index.value, int) and -len(text) <= index.value < len(text):
                    return Const(text[index.value])
                if isinstance(index, Slice):
                    bounds = _bounds(index)
                    return lattice.Opaque("str") if bounds is None else Const(text[bounds])
                return lattice.Opaque("str")
            case Ref(kind="instance"):
                element = self.element_of(value)
                return Unknown("item") if element is None or isinstance(index, Slice) else element
            case Ref(kind="dict"):
                contents = self.contents(value)
                if isinstance(contents, DictObject) and contents.items is not None:
                    found = contents.get(index)
                    if found is not None:
                        return found
                return Unknown("item")
            case Unknown(path=str() as path) if path.endswith(".shape") and isinstance(index, Const):
                return Unknown("parameter", f"{path}[{index.value!r}]")
            case Const(value=None):
                text = "'NoneType' object is not subscriptable"
                raise self.none_error(text, "none-subscript", f"{self.source(frame, expr[3])} is None", frame, expr)
            case Named() | Callable():
                return value if isinstance(value, Named) and "typing" in value.name else Unknown("item")
            case Union(options=options):
                return self.over_options(options, lambda option: self.subscript(option, index, expr, frame), frame)
            case _:
                return Unknown("item")

    def _sequence_item(self, value: Value, index: Value, expr: Expr, frame: Frame) -> Value:
        items = self.items_of(value)
        if items is None:
            element = self.element_of(value)
            if element is None:
                return Unknown("item")
            return self.many(element) if isinstance(index, Slice) else element
        if isinstance(index, Slice):
            bounds = _bounds(index)
            kind = value.kind if isinstance(value, Seq) else "list"
            if kind == "list":
                return self.new("list", ListObject(None if bounds is None else items[bounds]))
            return Unknown("item") if bounds is None else Seq(items[bounds], kind)
        if not isinstance(index, Const) or not isinstance(index.value, int):
            return lattice.join_all(items) if items else Unknown("item")
        if -len(items) <= index.value < len(items):
            return items[index.value]
        if not isinstance(value, Seq) or value.kind not in {"tuple", "torch.Size"}:
            # A list may have grown where nobody looked.
            return Unknown("item")
        raise Raising(
            "IndexError",
            ("tuple index out of range",),
            frame,
            condition=self.source(frame, expr),
            implicit="index",
            rule="index-out-of-range",
            callee=f"{value.kind}.__getitem__",
            offset=frame.base + expr[1],
        )

    def rows_of(self, value: Value) -> tuple[Value, ...] | None:
        """The rows of a tensor with a known, small first size."""
        if not isinstance(value, Tensor) or not value.shape:
            return None
        first = value.shape[0]
        if not isinstance(first, int) or first > UNROLL_LIMIT:
            return None
        outcomes = [ops.getitem(value, Const(index)) for index in range(first)]
        return tuple(o.value if isinstance(o, ops.Result) else Unknown("row") for o in outcomes)

    # Writing

    def assign(self, target: Expr, value: Value, frame: Frame) -> None:
        """Bind an assignment target."""
        match target[0]:
            case ir.NAME:
                frame.variables[target[3]] = value
            case ir.TUPLE | ir.LIST:
                self._unpack(target, value, frame)
            case ir.ATTRIBUTE:
                receiver = self.evaluate(target[3], frame)
                if isinstance(receiver, Tensor):
                    self._tensor_attribute(target, receiver, value, frame)
                else:
                    self.store_attribute(receiver, target[4], value, frame)
            case ir.SUBSCRIPT:
                self._store_item(target, value, frame, augmented=False)
            case ir.STAR:
                self.assign(target[3], Unknown("starred"), frame)
            case _:
                return

    def _tensor_attribute(self, target: Expr, receiver: Tensor, value: Value, frame: Frame) -> None:
        """`x.data = y` changes `x` and all that share it; `x.grad = y` changes nothing that is kept."""
        self.escape(value)
        if target[4] != "data":
            return
        self.change_tensor(receiver, Unknown("data-swap"), frame)

    def _unpack(self, target: Expr, value: Value, frame: Frame) -> None:
        parts = target[3]
        if value == lattice.NONE:
            text = "cannot unpack non-iterable NoneType object"
            raise self.none_error(text, "none-unpack", self.source(frame, target), frame)
        items = self.unpacked(value)
        if items is None and isinstance(value, Tensor) and value.shape is not None:
            items = self._unpacked_rows(value)
        starred = [index for index, part in enumerate(parts) if part[0] == ir.STAR]
        if items is None:
            names: list[Value] = [self._row(value)] * len(parts)
            if isinstance(value, Unknown) and value.path is not None and value.path.endswith((".shape", ".size()")):
                stem = value.path.removesuffix(".size()").removesuffix(".shape")
                names = [Unknown("parameter", f"{stem}.shape[{index}]") for index in range(len(parts))]
            for part, item in zip(parts, names, strict=True):
                self.assign(part, item, frame)
            return
        if starred:
            before, after = starred[0], len(parts) - starred[0] - 1
            if len(items) < before + after:
                self._unpack_error(value, len(items), before + after, target, frame, starred=True)
                self._unpack_unknown(parts, frame)
                return
            middle = items[before : len(items) - after]
            spread = [*items[:before], self.new("list", ListObject(tuple(middle))), *items[len(items) - after :]]
            for part, item in zip(parts, spread, strict=True):
                self.assign(part[3] if part[0] == ir.STAR else part, item, frame)
            return
        if len(items) != len(parts):
            self._unpack_error(value, len(items), len(parts), target, frame, starred=False)
            self._unpack_unknown(parts, frame)
            return
        for part, item in zip(parts, items, strict=True):
            self.assign(part, item, frame)

    def _unpacked_rows(self, value: Tensor) -> tuple[Value, ...] | None:
        shape = value.shape
        if not shape or not isinstance(shape[0], int) or shape[0] > 64:
            return None
        return (self._row(value),) * shape[0]

    def _row(self, value: Value) -> Value:
        """What each name gets that a tensor, of unknown length even, is unpacked to."""
        if not isinstance(value, Tensor):
            return Unknown("unpacked")
        outcome = ops.getitem(value, Const(0))
        return outcome.value if isinstance(outcome, ops.Result) else Unknown("row")

    def _unpack_unknown(self, parts: tuple[Expr, ...], frame: Frame) -> None:
        for part in parts:
            self.assign(part, Unknown("unpacked"), frame)

    def _unpack_error(self, value: Value, have: int, want: int, target: Expr, frame: Frame, *, starred: bool) -> None:
        if not isinstance(value, Seq) or value.kind not in {"tuple", "torch.Size"}:
            # A list may have grown where nobody looked.
            return
        if have > want:
            rule = "unpack-too-many"
            shown = f", got {have}" if self.scopes.version >= (3, 14) and isinstance(value, (Seq, Ref)) else ""
            message = f"too many values to unpack (expected {want}{shown})"
        else:
            rule = "unpack-not-enough"
            least = "at least " if starred else ""
            message = f"not enough values to unpack (expected {least}{want}, got {have})"
        raising = Raising(
            "ValueError",
            (message,),
            frame,
            condition=self._unpacking(frame, target),
            implicit="unpack",
            rule=rule,
            callee="",
            offset=frame.base + (frame.statement[1] if frame.statement is not None else target[1]),
        )
        raising.assumed, raising.wanted = frame.assumed, None if starred else want
        raise raising

    def _unpacking(self, frame: Frame, target: Expr) -> str:
        statement = frame.statement
        return self.source(frame, target if statement is None or statement[0] != ir.ASSIGN else statement)

    def _store_item(self, target: Expr, value: Value, frame: Frame, *, augmented: bool) -> None:
        receiver, index = self.evaluate(target[3], frame), self.evaluate(target[4], frame)
        match receiver:
            case Tensor() | Array():
                outcome = ops.setitem(receiver, self.plain(index), self.plain(value), augmented=augmented)
                self.outcome(outcome, target, frame, "torch.Tensor.__setitem__", (receiver, index, value))
            case Ref(kind="dict"):
                contents = self.contents(receiver)
                if isinstance(contents, DictObject) and contents.items is not None and isinstance(index, (Const, Seq)):
                    self.heap[receiver.uid] = DictObject(tuple((dict(contents.items) | {index: value}).items()))
                else:
                    self.heap[receiver.uid] = DictObject(None)
            case Ref(kind="list"):
                items = self.items_of(receiver)
                position = index.value if isinstance(index, Const) and isinstance(index.value, int) else None
                if items is None or position is None or not -len(items) <= position < len(items):
                    self.heap[receiver.uid] = ListObject(None)
                else:
                    changed = list(items)
                    changed[position] = value
                    self.heap[receiver.uid] = ListObject(tuple(changed))
            case _:
                self.escape(receiver)
                self.escape(value)

    def augment(self, statement: Stmt, frame: Frame) -> None:
        """`target op= value`."""
        _, _, _, target, op, expr = statement
        left = self.evaluate(target, frame) if target[0] in {ir.NAME, ir.ATTRIBUTE, ir.SUBSCRIPT} else Unknown("target")
        right = self.evaluate(expr, frame)
        if isinstance(left, (Tensor, Array)):
            result = self.outcome(
                ops.augmented(op, left, self.plain(right), self.ambient),
                target,
                frame,
                f"torch.Tensor.{_IN_PLACE.get(op, op)}",
            )
            result = self.placed(result, frame, target)
        elif isinstance(left, Ref) and left.kind == "list" and op == "+":
            items, others = self.items_of(left), self.items_of(right)
            self.heap[left.uid] = ListObject(None if items is None or others is None else items + others)
            result = left
        elif isinstance(left, Ref):
            self.escape(left)
            self.escape(right)
            result = Unknown("augmented") if left.kind == "instance" else left
        else:
            result = self.binary(op, left, right, (ir.BINARY, target[1], expr[2], op, target, expr), frame)
        if target[0] == ir.SUBSCRIPT:
            self._store_item(target, result, frame, augmented=True)
        else:
            self.assign(target, result, frame)

    # Comprehensions

    def _comprehension(self, expr: Expr, frame: Frame) -> Value:
        _, _, _, kind, element, clauses = expr
        saved, changed = frame.variables, len(self.changed_tensors)
        frame.variables = dict(saved)
        try:
            results = self._rounds(clauses, element, kind, frame)
        finally:
            frame.variables = saved
            self.outdate(saved, changed)
            if b":=" in frame.module.slice(frame.base + expr[1], frame.base + expr[2]):
                saved.update({name: Unknown("comprehension") for name in _walrus_names(expr)})
        if kind == "dict":
            known = results is not None and all(isinstance(r, Seq) and settled(r.items[0]) for r in results)
            pairs = {r.items[0]: r.items[1] for r in results or () if isinstance(r, Seq)} if known else None
            return self.new("dict", DictObject(None if pairs is None else tuple(pairs.items())))
        if kind == "set":
            return self.new_set(None if results is None else tuple(results))
        if kind == "generator" and results is not None:
            return Seq(tuple(results), "generator")
        return self.new("list", ListObject(None if results is None else tuple(results)))

    def _rounds(
        self, clauses: tuple[tuple[object, ...], ...], element: Expr, kind: str, frame: Frame
    ) -> list[Value] | None:
        if not clauses:
            if kind == "dict":
                return [Seq((self.evaluate(element[0], frame), self.evaluate(element[1], frame)))]
            return [self.evaluate(element, frame)]
        clause, rest = clauses[0], clauses[1:]
        if clause[0] == "if":
            test: Expr = clause[1]  # type: ignore[assignment]
            answer = self.test(test, frame)
            if answer is None:
                self.speculate(frame, lambda: self._spoiled(rest, element, kind, frame))
                return None
            return self._rounds(rest, element, kind, frame) if answer else []
        target: Expr = clause[1]  # type: ignore[assignment]
        iterable: Expr = clause[2]  # type: ignore[assignment]
        over = self.evaluate(iterable, frame)
        items = self.iterate(over, frame)
        if items is None or len(items) > UNROLL_LIMIT:
            self.assign(target, self.element_of(over) or Unknown("loop-item"), frame)
            self.speculate(frame, lambda: self._spoiled(rest, element, kind, frame))
            return None
        results: list[Value] | None = []
        for item in items:
            self.assign(target, item, frame)
            inner = self._rounds(rest, element, kind, frame)
            results = None if results is None or inner is None else results + inner
        return results

    def _spoiled(self, clauses: tuple[tuple[object, ...], ...], element: Expr, kind: str, frame: Frame) -> Value:
        self._rounds(clauses, element, kind, frame)
        return Unknown("comprehension")


_IN_PLACE = {"+": "__iadd__", "-": "__isub__", "*": "__imul__", "/": "__itruediv__", "//": "__ifloordiv__"}


def _bounds(index: Slice) -> slice | None:
    parts: list[int | None] = []
    for part in (index.start, index.stop, index.step):
        match part:
            case Const(value=None):
                parts.append(None)
            case Const(value=int() as number):
                parts.append(number)
            case _:
                return None
    return None if parts[2] == 0 else slice(*parts)


def _walrus_names(node: object) -> set[str]:
    """The names that `:=` binds in an expression: in a comprehension, those of the scope around it."""
    if not isinstance(node, tuple) or not node:
        return set()
    found = {node[3]} if node[0] == ir.WALRUS and len(node) == 5 and isinstance(node[3], str) else set()
    return found.union(*(_walrus_names(part) for part in node if isinstance(part, tuple)))
