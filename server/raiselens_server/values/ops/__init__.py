"""What torch's own operations do to abstract tensors, as tables.

`call` takes a dotted name as the public API spells it (`torch.zeros`, `torch.nn.functional.linear`,
`torch.Tensor.view` with the tensor first, `numpy.ones`); the operators of Python have functions of their own.
Arguments may be unknown everywhere. A `Raise` holds whatever they turn out to be; a `Result` never says more than
what holds for all of them. Two things are assumed where a raise is decided: an unknown device is a real one (meta tensors
are asked for by name), and an unknown size is at least 1 (torch skips many checks on empty tensors).
"""

from __future__ import annotations

from raiselens_server.values.ops.attributes import attribute
from raiselens_server.values.ops.dispatch import call, knows, parameters
from raiselens_server.values.ops.operators import augmented, binary, unary
from raiselens_server.values.ops.outcome import NO_RULE, Ambient, NoRule, Outcome, Raise, Result
from raiselens_server.values.ops.storing import setitem
from raiselens_server.values.ops.subscripts import getitem

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
    "parameters",
    "setitem",
    "unary",
]
