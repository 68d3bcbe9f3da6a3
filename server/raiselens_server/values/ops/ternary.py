"""Element-by-element operations of a condition, bounds, or three tensors."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from raiselens_server.values.dtypes import COMPLEX
from raiselens_server.values.lattice import HolePart, Tensor
from raiselens_server.values.ops import reading
from raiselens_server.values.ops.building import SAME_DEVICE, error, ok
from raiselens_server.values.ops.elementwise import Operand, elementwise, is_meta, promoted
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
    if len({isinstance(b.get(name), Tensor) for name in bounds}) > 1:
        return NO_RULE
    operands = operands_of(b, ("input", *bounds))
    if operands is None:
        return NO_RULE
    outcome = finish(b, elementwise(operands, promoted(operands)))
    if isinstance(outcome, Raise) and outcome.condition == SAME_DEVICE:
        return replace(outcome, message=(HolePart("message"),))
    if b.inplace and isinstance(outcome, Raise):
        return replace(outcome, message=(HolePart("message"),), earlier=any(one.dtypes & COMPLEX for one in operands))
    return outcome


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
