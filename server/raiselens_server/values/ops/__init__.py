"""What torch's own operations do to abstract tensors, as tables.

`call` takes a dotted name as the public API spells it (`torch.zeros`, `torch.nn.functional.linear`,
`torch.Tensor.view` with the tensor first, `numpy.ones`); the operators of Python have functions of their own.
Arguments may be unknown everywhere. A `Raise` holds whatever they turn out to be; a `Result` never says more than
what holds for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raiselens_server.values.ops.outcome import NO_RULE, Ambient, NoRule, Outcome, Raise, Result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raiselens_server.values.lattice import Array, Device, DType, Tensor, Value

__all__ = [
    "NO_RULE",
    "Ambient",
    "NoRule",
    "Outcome",
    "Raise",
    "Result",
    "attribute",
    "augmented",
    "binary",
    "call",
    "getitem",
    "knows",
    "setitem",
    "unary",
]


def call(name: str, args: Sequence[Value], kwargs: Mapping[str, Value], ambient: Ambient) -> Outcome:
    """Call the operation `name`; a method takes its tensor as the first argument."""
    return NO_RULE


def knows(name: str) -> bool:
    """Whether there is a rule for `name`."""
    return False


def attribute(value: Tensor | Array | DType | Device, name: str) -> Value | None:
    """Read `value.name`; None where there is no rule, as for a method."""
    return None


def binary(op: str, left: Value, right: Value, ambient: Ambient) -> Outcome:
    """`left op right`, where at least one is a tensor or an array; `op` as written: `+`, `@`, `<=`."""
    return NO_RULE


def unary(op: str, value: Value) -> Outcome:
    """`op value`: `-`, `+` or `~`."""
    return NO_RULE


def augmented(op: str, left: Value, right: Value, ambient: Ambient) -> Outcome:
    """`left op= right`, `op` without the `=`; the value is what `left` is bound to afterwards."""
    return NO_RULE


def getitem(tensor: Tensor | Array, index: Value) -> Outcome:
    """`tensor[index]`; several indices come as a `Seq` of kind `tuple`."""
    return NO_RULE


def setitem(tensor: Tensor | Array, index: Value, value: Value, *, augmented: bool = False) -> Outcome:
    """`tensor[index] = value`; the value is the tensor afterwards. `augmented`: `tensor[index] op= …` wrote it back."""
    return NO_RULE
