"""What is to be verified: the predicted error, and what is known of the arguments of the call that raises it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from raiselens_server.error import Foreseen, Hole, RaisedError

SCATTER_FUNCTION = "launch_scatter_req_token_ids_kernel"
SCATTER_MESSAGE = "kv-canary: scatter_req_token_ids "

Dim: TypeAlias = int | str | None
"""A size: a number, a linear form over named symbols (`"bs + 1"`), or `None` where nothing is known.

One symbol stands for one number in all arguments of a call.
"""


@dataclass(frozen=True, slots=True)
class TensorFact:
    """A tensor; `None` for what is not known.

    `dtype` as torch names it without the module (`"int64"`), `device` as `torch.device` takes it (`"cuda:0"`).
    """

    dtype: str | None = None
    shape: tuple[Dim, ...] | None = None
    device: str | None = None
    contiguous: bool | None = None


@dataclass(frozen=True, slots=True)
class ConstantFact:
    """A value that Python writes as a literal."""

    value: str | float | bool | None


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
class ObjectFact:
    """An instance that calling `type_name` (dotted) with `arguments` gives."""

    type_name: str
    arguments: tuple[Argument, ...] = ()


@dataclass(frozen=True, slots=True)
class UnknownFact:
    """A value of which nothing is known."""


Fact: TypeAlias = TensorFact | ConstantFact | NameFact | SequenceFact | ObjectFact | UnknownFact


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of the call; positional where `name` is `None`. A method's receiver is the first positional one."""

    name: str | None
    fact: Fact


@dataclass(frozen=True, slots=True)
class Predicted:
    """The class and the message that *before* must raise; what stands in a hole may be any text."""

    class_name: str
    message: str
    holes: tuple[Hole, ...] = ()


@dataclass(frozen=True, slots=True)
class FindingTarget:
    """A finding: `callee` is the dotted name of the function called, `arguments` the facts at the call.

    `repaired` are the facts at the same call once the repair is applied, `None` where there is no repair.
    """

    callee: str
    predicted: Predicted
    arguments: tuple[Argument, ...] = ()
    repaired: tuple[Argument, ...] | None = None

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


def finding_target(
    error: RaisedError, *, arguments: tuple[Argument, ...] = (), repaired: tuple[Argument, ...] | None = None
) -> FindingTarget:
    """The target for `error`; the callee of an observed one is unknown, so that only the bundled scatter can run."""
    match error.origin:
        case Foreseen(callee=callee, holes=holes):
            pass
        case _:
            callee, holes = "", ()
    return FindingTarget(callee, Predicted(error.class_name, error.message, holes), arguments, repaired)
