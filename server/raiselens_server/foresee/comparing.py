"""Comparisons: equality, identity, order and membership, as must-answers."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

from raiselens_server.foresee.answers import BINARY_NAMES, SOME_BOOL, constant_bool
from raiselens_server.foresee.core import Core
from raiselens_server.foresee.objects import (
    DictObject,
    InstanceObject,
)
from raiselens_server.values import dims, dtypes, lattice, ops
from raiselens_server.values.lattice import (
    Array,
    Callable,
    Const,
    Device,
    DType,
    Int,
    Named,
    Opaque,
    Ref,
    Seq,
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

_COMPARE: Final[dict[str, Handler[[Any, Any], Any]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Comparing(Core):
    """Compares values."""

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
            return SOME_BOOL
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
            return self.outcome(outcome, expr, frame, f"torch.Tensor.{BINARY_NAMES.get(op, op)}", (left, right))
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
                return True if left == right and left.uid not in self.standing else None
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
                # What a field holds may have been read before, or be held elsewhere too.
                return None if left.uid in self.standing or right.uid in self.standing else left == right
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


def _may_overload(left: Value, right: Value) -> bool:
    return any(
        isinstance(side, (Unknown, Union, Callable, Named)) or (isinstance(side, Ref) and side.kind == "instance")
        for side in (left, right)
    )


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
