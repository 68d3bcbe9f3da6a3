"""Masks, embeddings and one-hot vectors."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from raiselens_server.values import dims
from raiselens_server.values.lattice import HolePart, Seq, Tensor
from raiselens_server.values.ops import layout, reading
from raiselens_server.values.ops.building import derive, dtype_text, error, legacy_type, ok
from raiselens_server.values.ops.devices import device_mismatch
from raiselens_server.values.ops.elementwise import Operand, elementwise, is_meta
from raiselens_server.values.ops.gathering import written
from raiselens_server.values.ops.inplace import into
from raiselens_server.values.ops.matmul import element
from raiselens_server.values.ops.outcome import NO_RULE, Outcome, Raise, Result
from raiselens_server.values.ops.storing import setitem

if TYPE_CHECKING:
    from raiselens_server.values.ops.table import Bound, Row

_WIDE: Final = frozenset({"int32", "int64"})

_LONG: Final = frozenset({"int64"})

_MASK: Final = frozenset({"bool"})


def _masked_fill(b: Bound) -> Outcome:
    source, mask = b.tensor(), b.tensor("mask")
    if source is None or mask is None:
        return NO_RULE
    if b.inplace and is_meta(source):
        return ok(source, may_raise=True)
    if mask.dtypes and not mask.dtypes & _MASK and is_meta(source) == is_meta(mask):
        if is_meta(source):
            return error(
                "RuntimeError",
                "mask",
                "mask.dtype == bool",
                "expected predicate to be bool, got ",
                dtype_text(mask.dtypes),
            )
        text = "masked_fill_ only supports boolean masks, but got mask with dtype "
        value = b.get("value")
        if isinstance(value, Tensor) and value.shape != ():
            return NO_RULE
        if (
            source.shape is not None
            and mask.shape is not None
            and isinstance(layout.broadcast(mask.shape, source.shape), layout.Mismatch)
        ):
            return error("RuntimeError", "mask", "mask.dtype == bool", HolePart("message"))
        kind = source.device.type if source.device is not None else None
        if kind == "cuda":
            text = "masked_fill only supports boolean masks, but got dtype "
            return error("RuntimeError", "mask", "mask.dtype == bool", text, mask.dtypes)
        shown = (text, element(mask.dtypes)) if kind == "cpu" else (HolePart("message"),)
        return error("RuntimeError", "mask", "mask.dtype == bool", *shown)
    order = (source, mask) if b.inplace else (mask, source)
    outcome = elementwise([_plain(tensor) for tensor in order], source.dtypes, exact_devices=False)
    if isinstance(outcome, Raise):
        return (
            outcome if not is_meta(source) and not is_meta(mask) else replace(outcome, message=(HolePart("message"),))
        )
    made = outcome.value
    if isinstance(made, Tensor):
        same = made.shape == source.shape and source.contiguous
        made = derive(
            source,
            shape=made.shape,
            strides=None,
            contiguous=True if same else None,
            device=source.device if is_meta(source) == is_meta(mask) else None,
            requires_grad=written(source, b.get("value")).requires_grad,
        )
        outcome = Result(made, may_raise=True)
    return into(source, outcome, casts=False) if b.inplace else outcome


def _plain(tensor: Tensor) -> Operand:
    return Operand(tensor.dtypes, frozenset({0}), tensor)


def _masked_select(b: Bound) -> Outcome:
    source, mask = b.tensor(), b.tensor("mask")
    if source is None or mask is None:
        return NO_RULE
    meta = is_meta(source) or is_meta(mask)
    if mask.dtypes and not mask.dtypes & (_MASK | {"uint8"}) and not meta:
        return error("RuntimeError", "mask", "mask.dtype == bool", "masked_select: expected BoolTensor for mask")
    return ok(derive(source, shape=(None,), strides=(1,)) if not meta else Tensor(source.dtypes), may_raise=True)


def _index_put(b: Bound) -> Outcome:
    source, indices = b.tensor(), b.get("indices")
    values = b.get("values")
    if source is None or not isinstance(indices, Seq) or values is None:
        return NO_RULE
    tensors = [item for item in indices.items if isinstance(item, Tensor) and item.shape]
    if len(tensors) != len(indices.items):
        kept = source if b.inplace else written(source, values)
        return ok(replace(kept, item=None, requires_grad=None), may_raise=True)
    outcome = setitem(source, Seq(indices.items), values)
    if isinstance(outcome, Raise):
        return NO_RULE if outcome.class_name == "IndexError" else replace(outcome, message=(HolePart("message"),))
    if isinstance(outcome, Result) and not b.inplace:
        return ok(written(source, values), may_raise=True)
    return outcome


def _embedding(b: Bound) -> Outcome:
    index, weight = b.tensor(), b.tensor("weight")
    if index is None or weight is None:
        return NO_RULE
    mixed = is_meta(index) != is_meta(weight)
    if weight.shape is not None and len(weight.shape) != 2 and not reading.absent(b.get("padding_idx")):
        return NO_RULE
    broken = device_mismatch(weight, index, "index", "_index_select")
    if broken is not None and weight.shape is not None and len(weight.shape) == 2:
        return broken
    padding = reading.constant_int(b.get("padding_idx"))
    rows = weight.shape[0] if weight.shape else None
    if (
        padding is not None
        and isinstance(rows, int)
        and len(weight.shape or ()) == 2
        and (padding >= rows if padding > 0 else padding < -rows)
    ):
        return error(
            "AssertionError", "padding_idx", "padding_idx < weight.size(0)", "Padding_idx must be within num_embeddings"
        )
    if weight.shape == () or (weight.shape is not None and len(weight.shape) != 2 and (mixed or is_meta(weight))):
        return NO_RULE
    if weight.shape is not None and len(weight.shape) != 2 and reading.absent(b.get("padding_idx")):
        return error("RuntimeError", "weight", "weight.dim() == 2", "'weight' must be 2-D")
    if index.dtypes and not index.dtypes & _WIDE and not mixed:
        kind: object = dtype_text(index.dtypes) if is_meta(index) else legacy_type(index)
        text = (
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
        )
        tail = () if is_meta(index) else (" instead (while checking arguments for embedding)",)
        if weight.shape is None:
            return error("RuntimeError", "indices", "indices.dtype in (int32, int64)", HolePart("message"))
        return error("RuntimeError", "indices", "indices.dtype in (int32, int64)", text, kind, *(tail or (" instead",)))
    shape = None
    if index.shape is not None:
        shape = (*index.shape, weight.shape[1] if weight.shape is not None and len(weight.shape) == 2 else None)
    made = derive(
        weight, shape=shape, strides=None, contiguous=True if index.contiguous and weight.contiguous else None
    )
    return ok(made, may_raise=True)


def _one_hot(b: Bound) -> Outcome:
    source = b.tensor()
    if source is None:
        return NO_RULE
    if source.dtypes and not source.dtypes & _LONG:
        text = "one_hot is only applicable to index tensor of type LongTensor."
        return error("RuntimeError", "input", "input.dtype == int64", text)
    count = reading.size_of(b.named["num_classes"]) if "num_classes" in b.named else None
    known = count if dims.less(count, 0) is False else None
    shape = None if source.shape is None else (*source.shape, known)
    return ok(derive(source, names=_LONG, shape=shape, strides=None), may_raise=True)


ROWS: Final[tuple[Row, ...]] = (
    ("tmi", "masked_fill", ":Tinput :Tmask value", _masked_fill),
    ("tm", "masked_select", ":Tinput :Tmask", _masked_select),
    ("tmi", "index_put", ":Tinput indices values accumulate?", _index_put),
    ("f", "embedding", "input weight padding_idx? max_norm? norm_type? scale_grad_by_freq? sparse?", _embedding),
    ("f", "one_hot", ":Tinput num_classes?", _one_hot),
)
