"""The launcher's ten guards as data: for each predicted message, a call that must raise it.

`plan_raising` goes from a message back to arguments; what the message leaves open gets small values that pass
every other guard. It knows the guards' wording from this package's launcher, which is sglang's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from raiselens_kernel.scatter.launch import SGLANG_BATCH_BLOCK

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "kv-canary: scatter_req_token_ids "
PARAMETERS = ("flat_in", "offsets", "req_pool_indices", "pool_out")

_RANKS = {"flat_in": 1, "offsets": 1, "req_pool_indices": 1, "pool_out": 2}
_DTYPES = {"flat_in": "int64", "offsets": "int64", "req_pool_indices": "int64", "pool_out": "int32"}
_LARGEST = {"flat_in": 1 << 16, "offsets": 1 << 16, "req_pool_indices": 1 << 16, "pool_out": 1 << 12}


@dataclass(frozen=True, slots=True)
class Guard:
    """One guard: a name for people, and the class and message of a call that it refuses."""

    name: str
    class_name: str
    message: str


@dataclass(frozen=True, slots=True)
class Given:
    """What is known of one argument; `None` where nothing is. Shapes are numbers by now."""

    dtype: str | None = None
    shape: tuple[int | None, ...] | None = None


GUARDS: tuple[Guard, ...] = (
    Guard("rank of flat_in", "ValueError", f"{PREFIX}flat_in must be 1-D, got shape (2, 5)"),
    Guard("rank of offsets", "ValueError", f"{PREFIX}offsets must be 1-D, got shape (4, 1)"),
    Guard("rank of req_pool_indices", "ValueError", f"{PREFIX}req_pool_indices must be 1-D, got shape ()"),
    Guard("rank of pool_out", "ValueError", f"{PREFIX}pool_out must be 2-D, got shape (16,)"),
    Guard("dtype of flat_in", "TypeError", f"{PREFIX}flat_in must be int64, got torch.int32"),
    Guard("dtype of offsets", "TypeError", f"{PREFIX}offsets must be int64, got torch.int32"),
    Guard("dtype of req_pool_indices", "TypeError", f"{PREFIX}req_pool_indices must be int64, got torch.int32"),
    Guard("dtype of pool_out", "TypeError", f"{PREFIX}pool_out must be int32, got torch.int64"),
    Guard("length of offsets", "ValueError", f"{PREFIX}offsets length 3 != bs+1 (4)"),
    Guard(
        "batch block",
        "ValueError",
        f"{PREFIX}bs+1={SGLANG_BATCH_BLOCK + 1} exceeds BATCH_BLOCK={SGLANG_BATCH_BLOCK}; "
        "bump _SCATTER_BATCH_BLOCK if real workloads need this",
    ),
)


def plan_raising(message: str, given: Mapping[str, Given]) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Dtype and shape of each argument of a call that must raise `message`, with what is `given` laid over it.

    Sizes that no message speaks of are kept small, whatever the facts say.
    """
    wanted = {name: Given(_DTYPES[name]) for name in PARAMETERS} | _from_message(message)
    for name, current in wanted.items():
        if name in given:
            known = given[name]
            shape = known.shape if known.shape is not None else current.shape
            wanted[name] = Given(known.dtype or current.dtype, shape)
    shapes = _shapes({name: fact.shape for name, fact in wanted.items()})
    return {name: (wanted[name].dtype or _DTYPES[name], shapes[name]) for name in PARAMETERS}


def arguments_raising(message: str, given: Mapping[str, Given], device: torch.device) -> dict[str, torch.Tensor]:
    """The same as zeros on `device`: no guard looks at the content."""
    return {
        name: torch.zeros(shape, dtype=getattr(torch, dtype), device=device)
        for name, (dtype, shape) in plan_raising(message, given).items()
    }


def _from_message(message: str) -> dict[str, Given]:
    told = message.removeprefix(PREFIX)
    subject, _, rest = told.partition(" ")
    if subject in _RANKS and rest.startswith("must be "):
        what, _, got = rest.removeprefix("must be ").partition(", got ")
        if what.endswith("-D"):
            return {subject: Given(_DTYPES[subject], _shape_text(got.removeprefix("shape "), subject))}
        return {subject: Given(_dtype_text(got, subject))}
    if told.startswith("offsets length "):
        got, _, expected = told.removeprefix("offsets length ").partition(" != bs+1 (")
        requests = _number(expected.rstrip(")"), 4) - 1
        return {
            "offsets": Given("int64", (_number(got, requests),)),
            "req_pool_indices": Given("int64", (requests,)),
        }
    if told.startswith("bs+1="):
        bound = _number(told.removeprefix("bs+1=").partition(" ")[0], SGLANG_BATCH_BLOCK + 1)
        return {"offsets": Given("int64", (bound,)), "req_pool_indices": Given("int64", (bound - 1,))}
    return {}


def _number(text: str, otherwise: int) -> int:
    return int(text) if text.isascii() and text.isdigit() else otherwise


def _dtype_text(text: str, subject: str) -> str:
    name = text.removeprefix("torch.")
    if isinstance(getattr(torch, name, None), torch.dtype):
        return name
    return "int64" if _DTYPES[subject] == "int32" else "int32"


def _shape_text(text: str, subject: str) -> tuple[int, ...]:
    sizes = [size.strip() for size in text.strip("()").split(",")]
    if text.startswith("(") and all(size.isascii() and size.isdigit() for size in sizes if size):
        return tuple(int(size) for size in sizes if size)
    return (4,) * (3 - _RANKS[subject])


def _shapes(wanted: Mapping[str, tuple[int | None, ...] | None]) -> dict[str, tuple[int, ...]]:
    rows = wanted["req_pool_indices"]
    offsets = wanted["offsets"]
    known_rows = rows[0] if rows is not None and len(rows) == 1 else None
    known_offsets = offsets[0] if offsets is not None and len(offsets) == 1 else None
    requests = known_rows if known_rows is not None else (known_offsets - 1 if known_offsets else 3)
    usual: dict[str, tuple[int, ...]] = {
        "flat_in": (8,),
        "offsets": (requests + 1,),
        "req_pool_indices": (requests,),
        "pool_out": (requests + 2, 16),
    }
    shapes: dict[str, tuple[int, ...]] = {}
    for name, usual_shape in usual.items():
        shape = wanted[name]
        if shape is None:
            shapes[name] = usual_shape
            continue
        filler = usual_shape if len(shape) == len(usual_shape) else (4,) * len(shape)
        shapes[name] = tuple(
            other if size is None else min(size, _LARGEST[name]) for size, other in zip(shape, filler, strict=True)
        )
    return shapes
