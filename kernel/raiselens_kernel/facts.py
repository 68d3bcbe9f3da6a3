"""Facts at a call, as the request's JSON gives them, made into numbers and values.

A fact is `{"kind": "tensor", "dtype", "shape", "device", "contiguous", "strides", "requires_grad"}`, `{"kind": "constant",
"value"}`, `{"kind": "size", "form"}`, `{"kind": "name", "name"}`, `{"kind": "sequence", "items", "is_tuple"}`,
`{"kind": "mapping" | "namespace", "items": [[key, fact]]}` or `{"kind": "unknown"}`. A size is a number, a linear form such
as `2*bs + 1`, or null.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from raiselens_kernel.scatter.guards import Given

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_TERM = re.compile(r"\s*([+-]?)\s*(?:(\d+)\s*\*\s*)?([^\W\d]\w*(?:\.\w+)*|\d+)")
_USUAL_SIZES = (3, 5, 6, 7, 9, 10)


def symbols_of(form: str) -> list[str]:
    """The symbols of a linear form, in order."""
    return [name for _, name in _terms(form) if not name.isdigit()]


def evaluate(form: str, numbers: Mapping[str, int]) -> int | None:
    """The value of a linear form, `None` if a symbol has no number or the text is no linear form."""
    total = 0
    for factor, name in _terms(form):
        if name.isdigit():
            total += factor * int(name)
        elif name in numbers:
            total += factor * numbers[name]
        else:
            return None
    return total


def _terms(form: str) -> Iterator[tuple[int, str]]:
    at = 0
    while at < len(form):
        term = _TERM.match(form, at)
        if term is None or term.end() == at:
            return
        sign, factor, name = term.groups()
        yield (-1 if sign == "-" else 1) * int(factor or 1), name
        at = term.end()


def all_facts(facts: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The facts, and all that they are made of."""
    for fact in facts:
        yield fact
        match fact["kind"]:
            case "sequence":
                yield from all_facts(fact["items"])
            case "mapping" | "namespace":
                yield from all_facts(inner for _, inner in fact["items"])
            case _:
                pass


def tensors_of(bindings: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Every tensor fact among the bindings, also those inside other values."""
    return (fact for fact in all_facts(b["fact"] for b in bindings) if fact["kind"] == "tensor")


def numbers_for(bindings: Iterable[Mapping[str, Any]], sizes: Iterable[int] = _USUAL_SIZES) -> dict[str, int]:
    """A small number for each symbol of the bindings' sizes: different ones while `sizes` lasts, then its last."""
    numbers: dict[str, int] = {}
    supply = list(sizes)
    for fact in all_facts(b["fact"] for b in bindings):
        forms = [fact["form"]] if fact["kind"] == "size" else [*(fact.get("shape") or ()), *(fact.get("strides") or ())]
        for form in forms:
            for name in symbols_of(form) if isinstance(form, str) else ():
                numbers.setdefault(name, supply[min(len(numbers), len(supply) - 1)])
    return numbers


def shape_of(fact: Mapping[str, Any], numbers: Mapping[str, int]) -> tuple[int | None, ...] | None:
    """A tensor fact's shape in numbers, `None` where it is not known."""
    if fact.get("shape") is None:
        return None
    return tuple(_size(size, numbers) for size in fact["shape"])


def _size(size: str | int | None, numbers: Mapping[str, int]) -> int | None:
    if not isinstance(size, str):
        return size
    value = evaluate(size, numbers)
    return None if value is None else max(value, 0)


def strides_of(fact: Mapping[str, Any], numbers: Mapping[str, int]) -> tuple[int, ...] | None:
    """A tensor fact's strides in numbers, `None` where one is not known."""
    strides = [_size(stride, numbers) for stride in fact.get("strides") or (None,)]
    known = tuple(stride for stride in strides if stride is not None)
    return known if len(known) == len(strides) else None


def scatter_given(bindings: Iterable[Mapping[str, Any]], numbers: Mapping[str, int]) -> dict[str, Given]:
    """What is known of the scatter's arguments, by parameter. Devices are left out: the run chooses its own."""
    return {
        binding["param"]: Given(binding["fact"].get("dtype"), shape_of(binding["fact"], numbers))
        for binding in bindings
        if binding["param"] and binding["fact"]["kind"] == "tensor"
    }
