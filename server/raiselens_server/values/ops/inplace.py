"""What an in-place operation may store in its target."""

from __future__ import annotations

from dataclasses import replace

from raiselens_server.values.dtypes import COMPLEX, FLOATING
from raiselens_server.values.lattice import Tensor, Value
from raiselens_server.values.ops.building import error
from raiselens_server.values.ops.elementwise import is_meta
from raiselens_server.values.ops.outcome import Raise, Result
from raiselens_server.values.promotion import (
    can_cast,
)


def into(target: Tensor, outcome: Result | Raise, *, casts: bool = True) -> Result | Raise:
    """The outcome of an in-place operation that stores `outcome` in `target`."""
    if is_meta(target):
        return _into_meta(target, outcome)
    if isinstance(outcome, Raise):
        return outcome
    made = outcome.value
    may_raise = outcome.may_raise
    if isinstance(made, Tensor):
        broken = _does_not_fit(target, made) or (_cast_error(target, made) if casts else None)
        if broken is not None:
            return broken
        may_raise = may_raise or target.shape is None or made.shape != target.shape
        may_raise = may_raise or len(made.dtypes) > 1 or len(target.dtypes) > 1
    kept = Tensor(
        target.dtypes,
        target.shape,
        target.device,
        target.strides,
        _kept_grad(target, made),
        target.dtype_site,
        target.shape_site,
        target.device_site,
        None,
        target.parameter,
        target.contiguous,
    )
    return Result(kept, may_raise)


def _into_meta(target: Tensor, outcome: Result | Raise) -> Result:
    """On meta tensors an in-place operation casts without a check, and may resize its target."""
    made = outcome.value if isinstance(outcome, Result) else None
    same = isinstance(made, Tensor) and made.shape is not None and made.shape == target.shape
    loose = replace(target, requires_grad=None, item=None)
    return Result(loose if same else replace(loose, shape=None, strides=None, contiguous=None), may_raise=True)


def _kept_grad(target: Tensor, made: Value) -> bool | None:
    """Whether the target requires gradients after `made` was stored in it."""
    differentiable = isinstance(made, Tensor) and bool(made.dtypes & (FLOATING | COMPLEX))
    settled = differentiable or not target.dtypes & (FLOATING | COMPLEX)
    if settled and target.requires_grad is False and isinstance(made, Tensor) and made.requires_grad is False:
        return False
    return True if target.requires_grad is True else None


def _does_not_fit(target: Tensor, made: Tensor) -> Raise | None:
    if target.shape is None or made.shape is None:
        return None
    if len(made.shape) > len(target.shape):
        fits: bool | None = False
    else:
        missing = len(target.shape) - len(made.shape)
        pairs = zip(target.shape[missing:], made.shape, strict=True)
        fits = not any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs)
    if fits:
        return None
    condition = "the result fits the tensor changed in place"
    return error(
        "RuntimeError",
        None,
        condition,
        "output with shape ",
        target.shape,
        " doesn't match the broadcast shape ",
        made.shape,
    )


def _cast_error(target: Tensor, made: Tensor) -> Raise | None:
    if is_meta(target) or any(can_cast(a, b) for a in made.dtypes for b in target.dtypes):
        return None
    if not made.dtypes or not target.dtypes:
        return None
    return error(
        "RuntimeError",
        "self",
        "can_cast(result_type, self.dtype)",
        "result type ",
        made.dtypes,
        " can't be cast to the desired output type ",
        target.dtypes,
    )
