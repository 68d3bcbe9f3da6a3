"""Facts at a call, written as a program that makes the call: what runs is what can be shown and pasted."""

from __future__ import annotations

import itertools
import keyword
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from raiselens_kernel.facts import numbers_for, shape_of, tensors_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_SIZES = ((3, 5, 6, 7, 9, 10), (8,), (16,), (64,), (128,), (2, 4, 8, 16, 32), (1,), (4,))
_SHAPES = ((8,), (8, 8), (4, 8, 8), (2, 4, 8, 8), ())
_DTYPES = ("float32", "int64", "float16", "bfloat16", "int32", "bool")
_MOST_GUESSES = 120
_MOST_BYTES = 4 << 30


class UnbuildableError(Exception):
    """The call cannot be written as a program; the message is one line."""


@dataclass(frozen=True, slots=True)
class Guess:
    """What is made up where the facts say nothing: numbers for symbols, one shape and one dtype for whole unknowns."""

    numbers: Mapping[str, int]
    filler: int
    shape: tuple[int, ...]
    dtype: str


def guesses(arguments: Sequence[Mapping[str, Any]]) -> Iterator[Guess]:
    """Guesses worth trying, the plainest first; exactly one where nothing has to be guessed."""
    tensors = list(tensors_of(arguments))
    sizes = _SIZES if any(_has_open_size(fact) for fact in tensors) else _SIZES[:1]
    shapes = _SHAPES if any(fact.get("shape") is None for fact in tensors) else _SHAPES[:1]
    dtypes = _DTYPES if any(fact.get("dtype") is None for fact in tensors) else _DTYPES[:1]
    for dtype, shape, supply in itertools.islice(itertools.product(dtypes, shapes, sizes), _MOST_GUESSES):
        yield Guess(numbers_for(arguments, supply), supply[0], shape, dtype)


def program(
    module: str,
    qualname: str,
    arguments: Sequence[Mapping[str, Any]],
    guess: Guess,
    *,
    device: str,
    title: str,
) -> str:
    """The program's text; its last statement is the call. Raises `UnbuildableError`."""
    writer = _Writer(guess, device)
    passed = []
    for index, argument in enumerate(arguments):
        name = argument["name"]
        wanted = name or f"argument_{index}"
        value = writer.expression(argument["fact"], wanted)
        if value is None:
            if name is None:
                raise UnbuildableError(f"nothing is known of argument {index + 1}")
            continue
        if "\n" not in value and not value.startswith("torch."):
            passed.append(f"{name}={value}" if name else value)
            continue
        variable = wanted if wanted.isidentifier() and not keyword.iskeyword(wanted) else f"argument_{index}"
        writer.lines.append(f"{variable} = {value}")
        passed.append(f"{name}={variable}" if name else variable)
    head, _, rest = qualname.partition(".")
    called = qualname.removesuffix(".__init__") if rest else head
    imports = ["import torch", *(f"import {name}" for name in sorted(writer.modules - {"torch"}))]
    if module == "torch":
        called = f"torch.{called}"
    else:
        imports.append(f"from {module} import {head}")
    return "\n".join(
        [f'"""{_in_docstring(title)}"""', "", *imports, "", *writer.lines, f"{called}({', '.join(passed)})", ""]
    )


class _Writer:
    """Writes facts as expressions, and keeps the lines and the imports that they need."""

    def __init__(self, guess: Guess, device: str) -> None:
        self.lines: list[str] = []
        self.modules: set[str] = set()
        self._guess = guess
        self._device = device

    def expression(self, fact: Mapping[str, Any], name: str) -> str | None:
        """`None` for a value of which nothing is known: the parameter keeps its default."""
        match fact["kind"]:
            case "tensor":
                return self._tensor(fact)
            case "constant":
                return _literal(fact["value"])
            case "name":
                self.modules.add(_module_of(fact["name"]))
                return str(fact["name"])
            case "sequence":
                items = [self.expression(item, f"{name}_{index}") for index, item in enumerate(fact["items"])]
                known = [item for item in items if item is not None]
                if len(known) < len(items):
                    raise UnbuildableError(f"an item of {name} is not known")
                if fact["is_tuple"]:
                    return f"({', '.join(known)}{',' if len(known) == 1 else ''})"
                return f"[{', '.join(known)}]"
            case "object":
                return self._object(fact, name)
            case _:
                return None

    def _object(self, fact: Mapping[str, Any], name: str) -> str:
        self.modules.add(_module_of(fact["type"]))
        parts = []
        for argument in fact["arguments"]:
            value = self.expression(argument["fact"], f"{name}_{argument['name']}")
            if value is None:
                if argument["name"] is None:
                    raise UnbuildableError(f"an argument of {name} is not known")
                continue
            parts.append(f"{argument['name']}={value}" if argument["name"] else value)
        return f"{fact['type']}({', '.join(parts)})"

    def _tensor(self, fact: Mapping[str, Any]) -> str:
        dtype = fact.get("dtype") or self._guess.dtype
        shape = shape_of(fact, self._guess.numbers)
        sizes = list(self._guess.shape if shape is None else shape)
        numbers = [self._guess.filler if size is None else size for size in sizes]
        if _bytes_of(numbers) > _MOST_BYTES:
            raise UnbuildableError(f"a tensor of shape {tuple(numbers)} is larger than what is tried")
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
        text = f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
        return f'torch.{factory}({text}, dtype=torch.{dtype}, device="{device}")'

    def _placed(self, device: str | None) -> str:
        if device is None:
            return self._device
        kind = device.partition(":")[0]
        if kind == "cuda" and self._device == "cpu":
            return "cpu"
        return self._device if kind == "cuda" and ":" not in device else device


def devices_named(arguments: Iterable[Mapping[str, Any]]) -> set[str]:
    """The kinds of device that the facts name."""
    return {fact["device"].partition(":")[0] for fact in tensors_of(arguments) if fact.get("device")}


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
