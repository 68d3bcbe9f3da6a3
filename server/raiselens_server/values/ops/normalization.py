"""Normalisation layers and dropout."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from raiselens_server.values import dims
from raiselens_server.values.dtypes import ANY_FLOATING, COMPLEX
from raiselens_server.values.lattice import Const, Seq, Tensor
from raiselens_server.values.ops import layout, reading
from raiselens_server.values.ops.building import error, ok, shape_text
from raiselens_server.values.ops.elementwise import is_meta
from raiselens_server.values.ops.layers import layer_like
from raiselens_server.values.ops.outcome import NO_RULE, Outcome, Raise

if TYPE_CHECKING:
    from raiselens_server.values.ops.layout import Shape
    from raiselens_server.values.ops.table import Bound, Row

_INEXACT: Final = ANY_FLOATING | COMPLEX


def _normalized_shape(b: Bound, source: Tensor) -> Shape | Raise | None:
    value = b.get("normalized_shape")
    kind = reading.number_kind(value)
    if kind is not None and b.name == "layer_norm":
        text = f"layer_norm(): argument 'normalized_shape' (position 2) must be tuple of ints, not {kind}"
        return error("TypeError", "normalized_shape", "isinstance(normalized_shape, tuple)", text)
    wanted = reading.sizes_of((value,)) if isinstance(value, Seq) else None
    if wanted is None or is_meta(source):
        return None
    if wanted == ():
        text = (
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got"
            " normalized_shape = []"
        )
        return error("RuntimeError", "normalized_shape", "len(normalized_shape) > 0", text)
    return wanted


def _layer_norm(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    wanted = _normalized_shape(b, source)
    if isinstance(wanted, Raise):
        return replace(wanted, earlier="weight" in b.named or "bias" in b.named)
    outcome = _layer_norm_checked(b, source, wanted)
    names = {t.dtypes for t in (source, b.get("weight"), b.get("bias")) if isinstance(t, Tensor)}
    mixed = len(names) > 1 or not source.dtypes <= _INEXACT
    return replace(outcome, earlier=True) if mixed and isinstance(outcome, Raise) else outcome


def _layer_norm_checked(b: Bound, source: Tensor, wanted: Shape | None) -> Outcome:
    if wanted is None:
        return layer_like(source, source.shape, b.get("weight"), b.get("bias"))
    for name in ("weight", "bias"):
        given = b.get(name)
        if isinstance(given, Tensor) and given.shape is not None and _differ(given.shape, wanted):
            text = (f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape ", given.shape)
            return error(
                "RuntimeError", name, f"{name}.shape == normalized_shape", *text, " and normalized_shape = ", wanted
            )
    own = source.shape
    if own == () and b.name == "rms_norm":
        return NO_RULE
    if own is not None and (len(own) < len(wanted) or _differ(own[len(own) - len(wanted) :], wanted)):
        listed = list[Any]()
        for size in wanted:
            listed += [", ", size] if b.name == "layer_norm" or listed else [size]
        text = (
            "Given normalized_shape=",
            wanted,
            ", expected input with shape [*",
            *listed,
            "], but got input of size",
            own,
        )
        return error("RuntimeError", "input", "input.shape[-n:] == normalized_shape", *text)
    return layer_like(source, own, b.get("weight"), b.get("bias"))


def _differ(left: Shape, right: Shape) -> bool:
    return len(left) != len(right) or any(dims.equal(a, c) is False for a, c in zip(left, right, strict=True))


def _group_norm(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    own, groups = source.shape, reading.constant_int(b.get("num_groups"))
    if own is None or is_meta(source):
        return layer_like(source, own, b.get("weight"), b.get("bias"))
    if len(own) < 2:
        text = f"Expected at least 2 dimensions for input tensor but received {len(own)}"
        return error("RuntimeError", "input", "input.dim() >= 2", text)
    channels = own[1]
    values = layout.numel(own)
    batch = own[0]
    if groups and isinstance(values, int) and isinstance(channels, int) and isinstance(batch, int):
        size = (batch * channels // groups, groups, *own[2:])
        if batch * channels // groups * (values // max(batch * channels, 1)) == 1:
            text = "Expected more than 1 value per channel when training, got input size "
            return error("ValueError", "input", "more than one value per channel", text, size)
    if groups is not None and groups > 0 and channels is not None and dims.remainder(channels, groups) not in (0, None):
        text = "Expected number of channels in input to be divisible by num_groups, but got input of shape "
        found = error(
            "RuntimeError", "num_groups", "channels % num_groups == 0", text, own, f" and num_groups={groups}"
        )
        return replace(found, earlier="weight" in b.named or "bias" in b.named)
    return layer_like(source, own, b.get("weight"), b.get("bias"))


def _batch_norm(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    if not source.dtypes <= _INEXACT:
        return ok(Tensor(), may_raise=True)
    if any(
        isinstance(t, Tensor) and t.shape is not None and len(t.shape) != 1 for t in (b.get("weight"), b.get("bias"))
    ):
        return ok(Tensor(), may_raise=True)
    own = source.shape
    training = reading.flag(b.get("training"), default=False)
    count = layout.numel((own[0], *own[2:])) if own is not None and len(own) > 1 else None
    if training and own is not None and count == 1:
        text = ("Expected more than 1 value per channel when training, got input size ", *shape_text(own))
        return error("ValueError", "input", "more than one value per channel", *text)
    plain = source.dtypes <= _INEXACT and 0 not in (own or ())
    if own is not None and len(own) > 1 and not is_meta(source) and plain:
        for name in ("running_mean", "running_var", "weight", "bias"):
            given = b.get(name)
            if not isinstance(given, Tensor) or given.shape is None or len(given.shape) != 1:
                continue
            size = given.shape[0]
            if dims.equal(size, own[1]) is False:
                text = (f"{name} should contain ", own[1], " elements not ", size)
                found = error("RuntimeError", name, f"{name}.numel() == input.size(1)", *text)
                return replace(found, earlier="weight" in b.named or "bias" in b.named or not given.dtypes <= _INEXACT)
    return layer_like(source, own, b.get("weight"), b.get("bias"))


def _dropout(b: Bound) -> Outcome:
    source, rate = b.tensor(), b.get("p")
    if source is None:
        return NO_RULE
    if isinstance(rate, Const) and isinstance(rate.value, int | float) and not 0 <= rate.value <= 1:
        text = f"dropout probability has to be between 0 and 1, but got {rate.value}"
        return error("ValueError", "p", "0 <= p <= 1", text)
    return layer_like(source, source.shape)


ROWS: Final[tuple[Row, ...]] = (
    ("f", "layer_norm", ":Tinput normalized_shape weight? bias? eps?", _layer_norm),
    ("t", "layer_norm", ":Tinput normalized_shape weight? bias? eps? cudnn_enable?", _layer_norm),
    ("f", "rms_norm", ":Tinput normalized_shape weight? eps?", _layer_norm),
    ("t", "rms_norm", ":Tinput normalized_shape weight? eps?", _layer_norm),
    ("f", "group_norm", ":Tinput num_groups weight? bias? eps?", _group_norm),
    ("f", "batch_norm", ":Tinput running_mean running_var weight? bias? training? momentum? eps?", _batch_norm),
    (
        "f",
        "dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout",
        ":Tinput p? training? inplace?",
        _dropout,
    ),
)
