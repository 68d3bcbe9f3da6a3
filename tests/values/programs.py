"""Random small programs, run by the rules and by torch at once.

`Program` draws operations from the rule tables and arguments by the names of their parameters. The rules get what
torch gets, with some properties forgotten on the way in; what they say must never contradict what torch then does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from raiselens_server.values.lattice import (
    Unknown,
    Value,
)
from raiselens_server.values.ops import (
    Result,
    attribute,
    augmented,
    binary,
    getitem,
    setitem,
    unary,
)
from raiselens_server.values.ops.dispatch import TABLE
from raiselens_server.values.ops.table import Entry, run

if TYPE_CHECKING:
    from collections.abc import Callable

from tests.values.arguments import SKIPPED, Arguments, raw_arguments
from tests.values.oracle import AMBIENT, LOOSE, Tally, abstract, describe, forget


class Program(Arguments):
    """A stream of random operations."""

    def step(self, tally: Tally) -> None:
        """One random operation."""
        if self.rng.random() < 0.25:
            self._python_operation(tally)
            return
        name = self.rng.choice(NAMES)
        entry = TABLE[name]
        target = resolve(name)
        args, kwargs = self._arguments(entry)
        self._compare(name, entry, target, args, kwargs, tally)

    def _arguments(self, entry: Entry) -> tuple[list[Any], dict[str, Any]]:
        rng = self.rng
        first = self.tensor()
        if entry.signature is None:
            return raw_arguments(self, entry, first)
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        keyword = False
        for token in entry.signature.split():
            if token == "*":
                keyword = True
                continue
            if token.startswith("*"):
                sizes = self.size(first) if token != "*dims" else self.argument("dims", first, entry)
                args.extend(sizes if rng.random() < 0.5 else [sizes])
                keyword = True
                continue
            name = token.removeprefix(":T").rstrip("?")
            if (
                name in SKIPPED
                or (name == "reduce" and entry.short.endswith(("loss", "div", "entropy", "logits")))
                or (token.endswith("?") and rng.random() < 0.6)
            ):
                keyword = True
                continue
            value = (
                first
                if name in ("input", "self") and (entry.method or ":T" in token or rng.random() < 0.9)
                else self.argument(name, first, entry)
            )
            if name == "input" and entry.short == "embedding":
                value = self.index(first)
            if keyword or (rng.random() < 0.15 and name not in {"input", "self"}):
                kwargs[name] = value
                keyword = True
            else:
                args.append(value)
        return args, kwargs

    def _compare(
        self, name: str, entry: Entry, target: Any, args: list[Any], kwargs: dict[str, Any], tally: Tally
    ) -> None:
        known_args = [abstract(value) for value in args]
        known_kwargs = {key: abstract(value) for key, value in kwargs.items()}
        if self.vague:
            known_args = [
                value if entry.method and i == 0 and isinstance(value, Unknown) else forget(value, self.rng)
                for i, value in enumerate(known_args)
            ]
            known_kwargs = {key: forget(value, self.rng) for key, value in known_kwargs.items()}
            if any(isinstance(value, Unknown) for value in known_args[:1]) and (entry.method or not args):
                known_args[0] = abstract(args[0])
        ambient = LOOSE if self.vague and self.rng.random() < 0.5 else AMBIENT
        outcome = run(entry, known_args, known_kwargs, ambient)
        shown = f"{name}({', '.join(describe(v) for v in args)}, { ({k: describe(v) for k, v in kwargs.items()}) }) [{known_args} {known_kwargs}]"
        real_args = list(args)
        if entry.inplace and isinstance(args[0], torch.Tensor):
            real_args[0] = args[0].detach().clone() if not args[0].requires_grad else args[0]
            if tuple(real_args[0].stride()) != tuple(args[0].stride()):
                return
        real = tally.check(name, outcome, lambda: target(*real_args, **kwargs), shown, precise=not self.vague)
        self.keep(real)

    def keep(self, real: Any) -> None:
        """Put a tensor result into the pool."""
        if isinstance(real, torch.Tensor) and real.numel() <= 400 and real.dim() <= 5 and not real.is_quantized:
            self.pool.append(real.detach() if real.requires_grad and self.rng.random() < 0.7 else real)
            if len(self.pool) > 8:
                self.pool.pop(0)

    def _python_operation(self, tally: Tally) -> None:
        rng = self.rng
        first = self.tensor()
        known: Value = abstract(first) if not self.vague else forget(abstract(first), rng)
        if isinstance(known, Unknown):
            known = abstract(first)
        match rng.randrange(5):
            case 0 | 1:
                index = self.subscript(first)
                given = abstract(index) if not self.vague else forget(abstract(index), rng)
                outcome = getitem(known, given)
                shown = f"{describe(first)}[{describe(index)}] [{known}, {given}]"
                self.keep(tally.check("[]", outcome, lambda: first[index], shown, precise=not self.vague))
            case 2:
                index, value = self.subscript(first), self.near(first) if rng.random() < 0.7 else self.number()
                given = abstract(index) if not self.vague else forget(abstract(index), rng)
                stored = abstract(value) if not self.vague else forget(abstract(value), rng)
                outcome = setitem(known, given, stored)
                shown = f"{describe(first)}[{describe(index)}] = {describe(value)} [{known}, {given}, {stored}]"
                target = first.detach().clone()
                if target.stride() == first.stride() and not first.requires_grad:

                    def act() -> torch.Tensor:
                        target[index] = value
                        return target

                    tally.check("[]=", outcome, act, shown, precise=not self.vague)
            case 3:
                op = rng.choice(list(OPERATORS))
                other = self.near(first) if rng.random() < 0.7 else rng.choice([self.number(), [1, 2], "a", None])
                given = abstract(other) if not self.vague else forget(abstract(other), rng)
                left, right, known_left, known_right = (
                    (first, other, known, given) if rng.random() < 0.8 else (other, first, given, known)
                )
                if op == "*" and isinstance(other, list | str):
                    return
                outcome = binary(op, known_left, known_right, AMBIENT)
                shown = f"{describe(left)} {op} {describe(right)} [{known_left}, {known_right}]"
                self.keep(tally.check(op, outcome, lambda: OPERATORS[op](left, right), shown, precise=not self.vague))
                in_place = IN_PLACE.get(op)
                if in_place and left is first and not first.requires_grad:
                    target = first.clone()
                    if target.stride() == first.stride():
                        outcome = augmented(op, known_left, known_right, AMBIENT)
                        tally.check(
                            f"{op}=", outcome, lambda: in_place(target, right), f"{op}= {shown}", precise=not self.vague
                        )
            case _:
                op = rng.choice(["-", "~", "+"])
                act = {"-": lambda: -first, "~": lambda: ~first, "+": lambda: +first}[op]
                self.keep(
                    tally.check(
                        f"unary {op}", unary(op, known), act, f"{op}{describe(first)} [{known}]", precise=not self.vague
                    )
                )
                for name in ATTRIBUTES:
                    value = attribute(known, name)
                    if value is not None:
                        tally.check(
                            f".{name}",
                            Result(value, may_raise=True),
                            lambda name=name: getattr(first, name),
                            f"{describe(first)}.{name}",
                            precise=False,
                        )


ATTRIBUTES = (
    "shape",
    "dtype",
    "device",
    "ndim",
    "T",
    "mT",
    "is_cuda",
    "is_meta",
    "requires_grad",
    "itemsize",
    "nbytes",
    "data",
    "real",
    "H",
    "is_leaf",
    "grad_fn",
)
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "==": lambda a, b: a == b,
    "<": lambda a, b: a < b,
    "@": lambda a, b: a @ b,
}


def _iadd(a: Any, b: Any) -> Any:
    a += b
    return a


def _imul(a: Any, b: Any) -> Any:
    a *= b
    return a


def _idiv(a: Any, b: Any) -> Any:
    a /= b
    return a


def _iand(a: Any, b: Any) -> Any:
    a &= b
    return a


IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {"+": _iadd, "*": _imul, "/": _idiv, "&": _iand}


def resolve(name: str) -> Any:
    """The real operation of a dotted name."""
    found: Any = {"torch": torch, "numpy": np}[name.partition(".")[0]]
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


def _exists(name: str) -> bool:
    try:
        resolve(name)
    except AttributeError:
        return False
    return True


NAMES = sorted(
    name
    for name in TABLE
    if _exists(name)
    and "ndarray" not in name
    and "pin_memory" not in name
    and ".eig" not in name
    and not name.endswith((".as_strided", ".backward", ".record_stream", ".resize_"))
    and "cuda" not in name
    and "bernoulli" not in name
)


def run_programs(count: int, length: int, *, first_seed: int = 0, vague: bool = False) -> Tally:
    """Run `count` random programs of `length` operations each."""
    torch.manual_seed(0)
    tally = Tally()
    for seed in range(first_seed, first_seed + count):
        program = Program(seed, vague=vague)
        for _ in range(length):
            program.step(tally)
    return tally
