"""Loss functions of `torch.nn.functional`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from raiselens_server.values import dims
from raiselens_server.values.dtypes import ALL, ANY_FLOATING, COMPLEX, FLOATING
from raiselens_server.values.lattice import Const, HolePart, Tensor, Value
from raiselens_server.values.ops import reading
from raiselens_server.values.ops.building import derive, error, inherited_grad, ok, shape_text
from raiselens_server.values.ops.elementwise import elementwise, is_meta, operand, promoted
from raiselens_server.values.ops.outcome import NO_RULE, Outcome, Raise
from raiselens_server.values.ops.table import mixes_meta

if TYPE_CHECKING:
    from raiselens_server.values.ops.layout import Shape
    from raiselens_server.values.ops.table import Bound, Row

_INEXACT: Final = ANY_FLOATING | COMPLEX
_REDUCTIONS: Final = ("none", "mean", "sum")
_DIVERGENCE: Final = "target first"
"""How `kl_div` hands its operands on, which no other loss does."""
_CLASS_TARGETS: Final = frozenset({"int64", "uint8"})


def _reduction(b: Bound) -> str | Raise | None:
    """The reduction's name; None where it is unknown or given in the old way."""
    if any(not reading.absent(b.get(old)) for old in ("size_average", "reduce")):
        return None
    value = b.get("reduction")
    if value is None:
        return "mean"
    if not isinstance(value, Const) or not isinstance(value.value, str):
        return None
    if value.value == "elementwise_mean" or (value.value == "batchmean" and b.data == _DIVERGENCE):
        # An old name of the mean, still taken; and a mean that only the divergence has.
        return "mean"
    if value.value not in _REDUCTIONS:
        text = f"{value.value} is not a valid value for reduction"
        return error("ValueError", "reduction", f"reduction in {_REDUCTIONS}", text)
    return value.value


def _reduced(b: Bound, source: Tensor, names: frozenset[str], full: Shape | None, grad: bool | None) -> Outcome:
    reduction = _reduction(b)
    if isinstance(reduction, Raise):
        return replace(reduction, earlier=True)
    shape: Shape | None = None if reduction is None else full if reduction == "none" else ()
    strides = () if shape == () else None
    made = derive(source, names=names, shape=shape, strides=strides, requires_grad=inherited_grad(grad, names))
    return ok(made, may_raise=True)


def _joint_grad(*tensors: Value | None) -> bool | None:
    return False if all(not isinstance(t, Tensor) or t.requires_grad is False for t in tensors) else None


def _pointwise(b: Bound) -> Outcome:
    source, target = b.tensor(), b.tensor("target")
    if source is None or target is None or not reading.absent(b.get("weight")):
        return NO_RULE
    pair = (source, target) if b.data == "input first" else (target, source)
    operands = [one for one in (operand(t, frozenset()) for t in pair) if one is not None]
    outcome = elementwise(operands, promoted(operands))
    if isinstance(outcome, Raise):
        if is_meta(source) or is_meta(target):
            return NO_RULE
        odd = bool((source.dtypes | target.dtypes) - _INEXACT)
        return replace(outcome, earlier=True) if odd else outcome
    made = outcome.value
    shape = made.shape if isinstance(made, Tensor) else None
    device = made.device if isinstance(made, Tensor) else None
    if source.dtypes != target.dtypes or len(source.dtypes) != 1 or not source.dtypes <= FLOATING:
        return _reduced(b, replace(source, device=device), ALL, shape, None)
    return _reduced(
        b, replace(source, device=device), promoted(operands), shape, _joint_grad(source, target, b.get("weight"))
    )


def _binary_cross_entropy(b: Bound) -> Outcome:
    source, target = b.tensor(), b.tensor("target")
    if source is None or target is None:
        return NO_RULE
    if mixes_meta(b.named.values()):
        return ok(Tensor(), may_raise=True)
    own, wanted = source.shape, target.shape
    if own is not None and wanted is not None and _differ(own, wanted):
        if b.data == "logits":
            text = ("Target size (", *shape_text(wanted), ") must be the same as input size (", *shape_text(own), ")")
        else:
            text = (
                "Using a target size (",
                *shape_text(wanted),
                ") that is different to the input size (",
                *shape_text(own),
                ") is deprecated. Please ensure they have the same size.",
            )
        return error("ValueError", "target", "target.size() == input.size()", *text)
    if b.data == "plain" and not is_meta(source) and not is_meta(target):
        broken = _probability_dtypes(source, target)
        if broken is not None:
            return replace(broken, earlier=not reading.absent(b.get("weight")))
    return _reduced(
        b, source, source.dtypes if b.data == "plain" else _INEXACT, own, _joint_grad(source, target, b.get("weight"))
    )


def _probability_dtypes(source: Tensor, target: Tensor) -> Raise | None:
    if len(source.dtypes) != 1 or source.dtypes & target.dtypes or not target.dtypes or not source.dtypes <= _INEXACT:
        return None
    text = ("Found dtype ", target.dtypes, " but expected ", source.dtypes)
    return error("RuntimeError", "target", "target.dtype == input.dtype", *text)


def _differ(left: Shape, right: Shape) -> bool:
    return len(left) != len(right) or any(dims.equal(a, c) is False for a, c in zip(left, right, strict=True))


def _cross_entropy(b: Bound) -> Outcome:
    source, target = b.tensor(), b.tensor("target")
    if source is None or target is None:
        return NO_RULE
    reduction = _reduction(b)
    if isinstance(reduction, Raise):
        return reduction
    own, wanted = source.shape, target.shape
    given = [t for t in (target, b.get("weight")) if isinstance(t, Tensor) and t.dtypes & _INEXACT]
    alike = len(source.dtypes) == 1 and source.dtypes <= FLOATING and all(t.dtypes == source.dtypes for t in given)
    names = source.dtypes if alike else ALL
    if is_meta(source) or is_meta(target) or own is None or wanted is None or not own or 0 in own or 0 in wanted:
        return _reduced(b, source, names, None, None)
    plain = all(reading.absent(b.get(name)) for name in ("weight", "ignore_index", "label_smoothing"))
    soft = b.data == "entropy" and len(own) == len(wanted) and not _differ(own, wanted)
    maybe_soft = b.data == "entropy" and len(own) == len(wanted) and not (soft and own == wanted)
    if soft and own == wanted:
        if target.dtypes and not target.dtypes & _INEXACT:
            text = "Expected floating point type for target with class probabilities, got "
            return error("RuntimeError", "target", "target.is_floating_point()", text, target.dtypes)
        return _reduced(
            b, source, source.dtypes, (own[0], *own[2:]) if len(own) > 1 else (), _joint_grad(source, target)
        )
    if maybe_soft and not _differ(own, wanted):
        return _reduced(b, source, names, None, None)
    broken = _class_error(source, target, own, wanted)
    if broken is not None:
        return (
            broken
            if plain and source.dtypes <= FLOATING and source.dtypes <= _INEXACT
            else replace(broken, earlier=True)
        )
    return _reduced(b, source, names, wanted, _joint_grad(source, target, b.get("weight")))


def _class_error(source: Tensor, target: Tensor, own: Shape, wanted: Shape) -> Raise | None:
    """What is certainly wrong with a target of class indices."""
    if len(own) > 2:
        return None
    if len(wanted) > 1:
        text = "0D or 1D target tensor expected, multi-target not supported"
        found = error("RuntimeError", "target", "target.dim() <= 1", text)
        return found if dims.equal(own[0], wanted[0]) and len(own) == 2 else replace(found, earlier=True)
    if len(own) == 2 and len(wanted) == 1 and dims.equal(own[0], wanted[0]) is False:
        parts = ("Expected input batch_size (", own[0], ") to match target batch_size (", wanted[0], ").")
        return error("ValueError", "target", "input.size(0) == target.size(0)", *parts)
    sized = len(own) == 2 and len(wanted) == 1 and dims.equal(own[0], wanted[0]) is True
    if sized and target.dtypes and not target.dtypes & _CLASS_TARGETS and source.dtypes <= _INEXACT:
        on_cpu = source.device is not None and source.device.type == "cpu"
        text = "expected target dtype to be Long or Byte, but got "
        shown = (text, target.dtypes) if on_cpu else (HolePart("message"),)
        found = error("RuntimeError", "target", "target.dtype in (int64, uint8)", *shown)
        # on CUDA it is the kernel that has no case for the dtype
        return found if on_cpu else replace(found, earlier=True)
    return None


_OLD: Final = "size_average? reduce? reduction?"

ROWS: Final[tuple[Row, ...]] = (
    ("f", "mse_loss l1_loss", f":Tinput :Ttarget {_OLD} weight?", _pointwise, "input first"),
    ("f", "smooth_l1_loss", f":Tinput :Ttarget {_OLD} beta?", _pointwise, "input first"),
    ("f", "huber_loss", ":Tinput :Ttarget reduction? delta? weight?", _pointwise, "input first"),
    ("f", "kl_div", f":Tinput :Ttarget {_OLD} log_target?", _pointwise, _DIVERGENCE),
    ("f", "binary_cross_entropy", f":Tinput :Ttarget weight? {_OLD}", _binary_cross_entropy, "plain"),
    (
        "f",
        "binary_cross_entropy_with_logits",
        f":Tinput :Ttarget weight? {_OLD} pos_weight?",
        _binary_cross_entropy,
        "logits",
    ),
    (
        "f",
        "cross_entropy",
        ":Tinput :Ttarget weight? size_average? ignore_index? reduce? reduction? label_smoothing?",
        _cross_entropy,
        "entropy",
    ),
    ("f", "nll_loss", ":Tinput :Ttarget weight? size_average? ignore_index? reduce? reduction?", _cross_entropy, "nll"),
)
