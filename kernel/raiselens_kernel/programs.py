"""A call as a program that makes it: what runs is what can be shown and pasted.

The call comes as source, cut out of the user's file; the names that it reads are written here, from the facts.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from raiselens_kernel.facts import all_facts, evaluate, numbers_for, shape_of, strides_of, tensors_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_SIZES = ((3, 5, 6, 7, 9, 10), (8,), (16,), (64,), (128,), (2, 4, 8, 16, 32), (1,), (4,))
_SHAPES = ((8,), (8, 8), (4, 8, 8), (2, 4, 8, 8), ())
_DTYPES = ("float32", "int64", "float16", "bfloat16", "int32", "bool")
_UNKNOWN = ("None", "8", "tensor")
_MOST_GUESSES = 120
_MOST_BYTES = 4 << 30


class UnbuildableError(Exception):
    """The call cannot be written as a program; the message is one line."""


@dataclass(frozen=True, slots=True)
class Guess:
    """What is made up where the facts say nothing: numbers for symbols; one size, shape, dtype and value for unknowns."""

    numbers: Mapping[str, int]
    filler: int
    shape: tuple[int, ...]
    dtype: str
    unknown: str


@dataclass(frozen=True, slots=True)
class Program:
    """A program in the parts it is run in: its imports may have to be helped along."""

    title: str
    imports: tuple[str, ...]
    body: str

    @property
    def text(self) -> str:
        """The whole, to be pasted and run."""
        imports = "\n".join(self.imports)
        return f'"""{_in_docstring(self.title)}"""\n\nfrom __future__ import annotations\n\n{imports}\n\n{self.body}'


def guesses(bindings: Sequence[Mapping[str, Any]]) -> Iterator[Guess]:
    """Guesses worth trying, the plainest first; exactly one where nothing has to be guessed."""
    tensors = list(tensors_of(bindings))
    facts = list(all_facts(b["fact"] for b in bindings))
    open_sizes = any(_has_open_size(fact) for fact in tensors) or any(fact["kind"] == "size" for fact in facts)
    is_unknown = any(fact["kind"] == "unknown" for fact in facts)
    sizes = _SIZES if open_sizes else _SIZES[:1]
    shapes = _SHAPES if any(fact.get("shape") is None for fact in tensors) or is_unknown else _SHAPES[:1]
    dtypes = _DTYPES if any(fact.get("dtype") is None for fact in tensors) or is_unknown else _DTYPES[:1]
    unknown = _UNKNOWN if is_unknown else _UNKNOWN[:1]
    tried = itertools.product(dtypes, shapes, unknown, sizes)
    for dtype, shape, value, supply in itertools.islice(tried, _MOST_GUESSES):
        yield Guess(numbers_for(bindings, supply), supply[0], shape, dtype, value)


def program(call: Mapping[str, Any], body: str, guess: Guess, *, device: str, title: str) -> Program:
    """The program that runs `body` with the call's imports and values. Raises `UnbuildableError`."""
    writer = _Writer(guess, device)
    lines = []
    for binding in call["bindings"]:
        value = writer.expression(binding["fact"], binding["name"])
        remark = "  # not known" if binding["fact"]["kind"] == "unknown" else ""
        lines.append(f"{binding['name']} = {value}{remark}\n")
    imports = {*call["imports"], *(f"import {name}" for name in writer.modules)}
    ordered = sorted(imports, key=lambda statement: (statement.startswith("from "), statement))
    return Program(title, tuple(ordered), "".join([*lines, body]))


class _Writer:
    """Writes facts as expressions, and keeps the imports that they need."""

    def __init__(self, guess: Guess, device: str) -> None:
        self.modules: set[str] = set()
        self._guess = guess
        self._device = device

    def expression(self, fact: Mapping[str, Any], name: str) -> str:
        match fact["kind"]:
            case "tensor":
                return self._tensor(fact)
            case "constant":
                return _literal(fact["value"])
            case "size":
                value = evaluate(fact["form"], self._guess.numbers)
                return str(self._guess.filler if value is None else value)
            case "name":
                self.modules.add(_module_of(fact["name"]))
                return str(fact["name"])
            case "sequence":
                items = [self.expression(item, name) for item in fact["items"]]
                inside = ", ".join(items)
                return f"({inside}{',' if len(items) == 1 else ''})" if fact["is_tuple"] else f"[{inside}]"
            case "mapping":
                pairs = (f"{_literal(key)}: {self.expression(item, name)}" for key, item in fact["items"])
                return f"{{{', '.join(pairs)}}}"
            case "namespace":
                self.modules.add("types")
                given = (f"{key}={self.expression(item, name)}" for key, item in fact["items"])
                return f"types.SimpleNamespace({', '.join(given)})"
            case _:
                return self._tensor({}) if self._guess.unknown == "tensor" else self._guess.unknown

    def _tensor(self, fact: Mapping[str, Any]) -> str:
        self.modules.add("torch")
        dtype = fact.get("dtype") or self._guess.dtype
        shape = shape_of(fact, self._guess.numbers)
        sizes = list(self._guess.shape if shape is None else shape)
        numbers = [self._guess.filler if size is None else size for size in sizes]
        if _bytes_of(numbers) > _MOST_BYTES:
            raise UnbuildableError(f"a tensor of shape {tuple(numbers)} is larger than what is tried")
        text = self._laid_out(numbers, dtype, fact)
        return f"{text}.requires_grad_()" if fact.get("requires_grad") else text

    def _laid_out(self, numbers: list[int], dtype: str, fact: Mapping[str, Any]) -> str:
        strides = strides_of(fact, self._guess.numbers)
        if strides is not None and len(strides) == len(numbers) and 0 not in numbers and min(strides, default=0) >= 0:
            if strides == _in_order(numbers):
                return self._filled(numbers, dtype, fact)
            reach = 1 + sum((size - 1) * stride for size, stride in zip(numbers, strides, strict=True))
            return f"{self._filled([reach], dtype, fact)}.as_strided({_sizes(numbers)}, {_sizes(strides)})"
        if fact.get("contiguous") is False and len(numbers) > 1:
            swapped = [*numbers[:-2], numbers[-1], numbers[-2]]
            return f"{self._filled(swapped, dtype, fact)}.transpose(-1, -2)"
        if fact.get("contiguous") is False and numbers:
            return f"{self._filled([2 * numbers[0]], dtype, fact)}[::2]"
        return self._filled(numbers, dtype, fact)

    def _filled(self, shape: Sequence[int], dtype: str, fact: Mapping[str, Any]) -> str:
        device = self._placed(fact.get("device"))
        if fact.get("rising_to") is not None and len(shape) == 1:
            return f'torch.linspace(0, {fact["rising_to"]}, {shape[0]}, device="{device}").to(torch.{dtype})'
        # Zeros are valid indices; ones are valid divisors.
        factory = "zeros" if dtype.startswith(("int", "uint", "bool")) else "ones"
        if factory == "ones" and len(shape) == 2 and shape[0] == shape[1]:
            # Ones are no matrix that could be inverted.
            return f'torch.eye({shape[0]}, dtype=torch.{dtype}, device="{device}")'
        made = f'torch.{factory}({_sizes(shape)}, dtype=torch.{dtype}, device="{device}")'
        if factory == "ones" and dtype.startswith("float8"):
            return f'torch.ones({_sizes(shape)}, device="{device}").to(torch.{dtype})'
        return made

    def _placed(self, device: str | None) -> str:
        if device is None:
            return self._device
        kind = device.partition(":")[0]
        if kind == "cuda" and self._device == "cpu":
            return "cpu"
        return self._device if kind == "cuda" and ":" not in device else device


def devices_named(call: Mapping[str, Any]) -> set[str]:
    """The kinds of device that the facts name."""
    return {fact["device"].partition(":")[0] for fact in tensors_of(call["bindings"]) if fact.get("device")}


def _in_order(shape: Iterable[int]) -> tuple[int, ...]:
    strides: list[int] = []
    step = 1
    for size in reversed(list(shape)):
        strides.insert(0, step)
        step *= size
    return tuple(strides)


def _sizes(numbers: Sequence[int]) -> str:
    return f"({', '.join(map(str, numbers))}{',' if len(numbers) == 1 else ''})"


def _has_open_size(fact: Mapping[str, Any]) -> bool:
    return any(not isinstance(size, int) for size in fact.get("shape") or ())


def _bytes_of(shape: Sequence[int]) -> int:
    total = 8
    for size in shape:
        total *= size
    return total


def _module_of(dotted: str) -> str:
    # A class or a constant: by convention what comes before the first capitalised part is the module.
    parts = dotted.split(".")
    if parts[0] == "torch":
        return "torch"
    front = list(itertools.takewhile(lambda part: not part[:1].isupper(), parts[:-1]))
    if not front:
        raise UnbuildableError(f"{dotted} names no module to import it from")
    return ".".join(front)


def _literal(value: Any) -> str:
    if (isinstance(value, float) and value in {float("inf"), float("-inf")}) or value != value:  # noqa: PLR0124 -- NaN
        return f'float("{value}")'
    return repr(value)


def _in_docstring(title: str) -> str:
    return title.replace("\\", "\\\\").replace('"""', "'''")
