"""Element-by-element operations of a condition, bounds, or three tensors."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from raiselens_server.values.dtypes import COMPLEX, FLOATING, INTEGRAL, only
from raiselens_server.values.lattice import HolePart, Opaque, Tensor
from raiselens_server.values.ops import reading
from raiselens_server.values.ops.building import C_TYPES, SAME_DEVICE, error, message, ok
from raiselens_server.values.ops.elementwise import Operand, elementwise, is_meta, operand, promoted
from raiselens_server.values.ops.outcome import NO_RULE, Outcome, Raise
from raiselens_server.values.ops.pointwise import DISCRETE, finish, operands_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raiselens_server.values.ops.table import Bound, Row

_BOOL: Final = frozenset({"bool"})


def _clamp(b: Bound) -> Outcome:
    bounds = [name for name in ("min", "max") if not reading.absent(b.get(name))]
    if not bounds:
        source = b.tensor()
        if source is not None and is_meta(source):
            text = "clamp called but both min and max are none!"
            return error("ValueError", "min", "min is not None or max is not None", text)
        text = "torch.clamp: At least one of 'min' or 'max' must not be None"
        return error("RuntimeError", "min", "min is not None or max is not None", text)
    operands = operands_of(b, ("input", *bounds))
    if operands is None:
        return NO_RULE
    tensors = [one.tensor for one in operands[1:] if one.tensor is not None]
    if 0 < len(tensors) < len(bounds):
        # Where one bound is a number the other, if it has no dimensions, is read as one.
        if any(tensor.shape != () for tensor in tensors):
            return NO_RULE
        operands = [operands[0], *(_as_number(one, b.ambient.default_dtypes) for one in operands[1:])]
    outcome = finish(b, elementwise(operands, promoted(operands)))
    if isinstance(outcome, Raise) and outcome.condition == SAME_DEVICE:
        return replace(outcome, message=(HolePart("message"),))
    if b.inplace and isinstance(outcome, Raise):
        return _cast_refused(outcome, operands)
    return outcome


def _cast_refused(outcome: Raise, operands: Sequence[Operand]) -> Raise:
    """How `clamp_` says that its result does not fit: with numbers as bounds it names the type as C++ does."""
    if any(one.dtypes & COMPLEX for one in operands):
        return replace(outcome, message=(HolePart("message"),), earlier=True)
    target, name = operands[0], only(operands[0].dtypes)
    if target.tensor is None or any(one.tensor is not None for one in operands[1:]):
        return replace(outcome, message=(HolePart("message"),))
    shown = HolePart("dtype") if name is None else C_TYPES[name]
    parts = ("result type ", promoted(operands), " can't be cast to the desired output type ", shown)
    return replace(outcome, message=message(*parts))


def _as_number(one: Operand, default: frozenset[str]) -> Operand:
    """The operand that a tensor without dimensions is once its value is taken out."""
    if one.tensor is None:
        return one
    kinds = (
        {"bool"} & one.dtypes | {"int" for name in one.dtypes & INTEGRAL} | {"float" for name in one.dtypes & FLOATING}
    )
    if len(kinds) != 1 or one.dtypes & COMPLEX:
        return one._replace(tensor=None, unknown=True)
    number = operand(Opaque(kinds.pop()), default)
    return one if number is None else number


def _where(b: Bound) -> Outcome:
    condition = b.named.get("condition")
    names = ("input", "other") if "self" not in b.named else ("self", "other")
    if not isinstance(condition, Tensor) or names[0] not in b.named:
        return NO_RULE
    choices = operands_of(b, names)
    if choices is None:
        return NO_RULE
    allowed = _BOOL if is_meta(condition) else _BOOL | {"uint8"}
    if not condition.dtypes & allowed and len({is_meta(t) for t in (condition, *_tensors(choices))}) > 1:
        return error("RuntimeError", "condition", "condition.dtype == bool", HolePart("message"))
    if not condition.dtypes & allowed:
        if is_meta(condition):
            return error(
                "RuntimeError",
                "condition",
                "condition.dtype == bool",
                "expected predicate to be bool, got ",
                _dotted(condition.dtypes),
            )
        text = "where expected condition to be a boolean tensor, but got a tensor with dtype "
        return error("RuntimeError", "condition", "condition.dtype == bool", text, condition.dtypes)
    chosen = promoted(choices)
    if not chosen:
        return ok(Tensor(), may_raise=True)
    outcome = elementwise([Operand(condition.dtypes, frozenset({0}), condition), *choices], chosen)
    numbers = any(one.tensor is None for one in choices)
    return replace(outcome, earlier=True) if numbers and isinstance(outcome, Raise) else outcome


def _tensors(operands: Sequence[Operand]) -> list[Tensor]:
    return [one.tensor for one in operands if one.tensor is not None]


def _dotted(names: frozenset[str]) -> str | HolePart:
    return f"torch.{next(iter(names))}" if len(names) == 1 else HolePart("dtype")


def _ternary(b: Bound) -> Outcome:
    operands = operands_of(b, ("input", *b.data))
    if operands is not None and b.name == "addcdiv" and not (operands[1].dtypes | operands[2].dtypes) - DISCRETE:
        return NO_RULE
    return NO_RULE if operands is None else finish(b, elementwise(operands, promoted(operands)))


ROWS: Final[tuple[Row, ...]] = (
    ("tmi", "clamp clip", ":Tinput min? max?", _clamp),
    ("tmi", "clamp_min", ":Tinput min", _clamp),
    ("tmi", "clamp_max", ":Tinput max", _clamp),
    ("t", "where", "condition input? other?", _where),
    ("m", "where", "self condition other", _where),
    ("tmi", "addcmul addcdiv", ":Tinput :Ttensor1 :Ttensor2 * value?", _ternary, ("tensor1", "tensor2")),
)
