"""What is to be verified: the predicted error, and what is known of the arguments of the call that raises it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, TypeAlias

from raiselens_server.error import Foreseen, Hole, RaisedError

SCATTER_FUNCTION = "launch_scatter_req_token_ids_kernel"
SCATTER_MESSAGE = "kv-canary: scatter_req_token_ids "

_DEVICES: Final = re.compile(r"auto|cpu|cuda|cuda:\d+(,cuda:\d+)*")

Dim: TypeAlias = int | str | None
"""A size: a number, a linear form over named symbols (`"bs + 1"`), or `None` where nothing is known.

One symbol stands for one number in all arguments of a call.
"""


@dataclass(frozen=True, slots=True)
class TensorFact:
    """A tensor; `None` for what is not known.

    `dtype` as torch names it without the module (`"int64"`), `device` as `torch.device` takes it (`"cuda:0"`); `strides`
    in elements.
    """

    dtype: str | None = None
    shape: tuple[Dim, ...] | None = None
    device: str | None = None
    contiguous: bool | None = None
    strides: tuple[Dim, ...] | None = None
    requires_grad: bool | None = None


@dataclass(frozen=True, slots=True)
class ConstantFact:
    """A value that Python writes as a literal."""

    value: str | float | bool | None


@dataclass(frozen=True, slots=True)
class SizeFact:
    """An int that is a linear form over the symbols of sizes: `"bs + 1"`."""

    form: str


@dataclass(frozen=True, slots=True)
class NameFact:
    """A value that stands under a dotted name: `torch.float16`, `torch.nn.functional.relu`, an enum's member."""

    name: str


@dataclass(frozen=True, slots=True)
class SequenceFact:
    """A list, or with `is_tuple` a tuple."""

    items: tuple[Fact, ...]
    is_tuple: bool = False


@dataclass(frozen=True, slots=True)
class MappingFact:
    """A dict, its keys literals."""

    items: tuple[tuple[str | float | bool | None, Fact], ...]


@dataclass(frozen=True, slots=True)
class NamespaceFact:
    """An object of which some attributes are known, and nothing else is asked."""

    attributes: tuple[tuple[str, Fact], ...]


@dataclass(frozen=True, slots=True)
class UnknownFact:
    """A value of which nothing is known."""


Fact: TypeAlias = (
    TensorFact | ConstantFact | SizeFact | NameFact | SequenceFact | MappingFact | NamespaceFact | UnknownFact
)


@dataclass(frozen=True, slots=True)
class Binding:
    """A name that the call reads, and what is known of its value; `param`: the parameter that it is passed as."""

    name: str
    fact: Fact
    param: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """The user's call as a program: imports, made-up values for what it reads, and the source itself.

    `before` is the source as written: definitions and assignments that the repair touches, then the call. `after` is the
    same with the repair's edits, None without one.
    """

    imports: tuple[str, ...]
    bindings: tuple[Binding, ...]
    before: str
    after: str | None = None


@dataclass(frozen=True, slots=True)
class Predicted:
    """The class and the message that *before* must raise; what stands in a hole may be any text."""

    class_name: str
    message: str
    holes: tuple[Hole, ...] = ()


@dataclass(frozen=True, slots=True)
class FindingTarget:
    """A finding: `callee` is the dotted name of the function called, `call` the user's call.

    `repair` names the repair that *after* runs. What could not be built has its one line in `notes`.
    `paths` are the folders that the user's own modules are imported from.
    """

    callee: str
    predicted: Predicted
    call: Call | None = None
    repair: str | None = None
    notes: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    @property
    def is_scatter(self) -> bool:
        """Whether the bundled scatter runs too: the callee or the message is of its family."""
        return self.callee.rpartition(".")[2] == SCATTER_FUNCTION or self.predicted.message.startswith(SCATTER_MESSAGE)


@dataclass(frozen=True, slots=True)
class ScatterTarget:
    """The bundled scatter alone: every guard raises what it says, and the kernel agrees with the reference."""


Target: TypeAlias = FindingTarget | ScatterTarget


@dataclass(frozen=True, slots=True)
class VerifyRequest:
    """What to run, and where.

    `devices` is `("auto",)`, `("cpu",)`, `("cuda",)` or any number of `cuda:N`, over which the cases are shared out.
    `extra_paths` are put before the interpreter's own `sys.path`. `seed` repeats the inputs of an earlier run.
    `memory_limit` bounds each process that runs on the CPU, in bytes; a GPU bounds those that run on it.
    """

    target: Target
    devices: tuple[str, ...] = ("auto",)
    extra_paths: tuple[str, ...] = ()
    seed: int | None = None
    memory_limit: int | None = 16 << 30


def devices_of(text: str) -> tuple[str, ...] | None:
    """`auto`, `cpu`, `cuda` or `cuda:N,cuda:M`, as `VerifyRequest.devices`; None where it is none of them."""
    return tuple(text.split(",")) if _DEVICES.fullmatch(text) else None


def predicted_by(error: RaisedError) -> Predicted:
    """What *before* must raise."""
    match error.origin:
        case Foreseen(holes=holes):
            return Predicted(error.class_name, error.message, holes)
        case _:
            return Predicted(error.class_name, error.message)
