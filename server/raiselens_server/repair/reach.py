"""Which roots of a module an edit may concern, so that a repair is re-checked there and not in the whole file.

A module is cut into its functions, its classes and the rest, its top level. What mentions a name that an edited part
gives or stores, as a word anywhere in its text, is concerned too, and so on. Words say more than calls do: too many
roots are run again, never too few. Where the top level does more with such a name than call it, all are concerned.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from raiselens_server.source import ir
from raiselens_server.source.module import flatten

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from raiselens_server.source.ir import Block
    from raiselens_server.source.module import Module
    from raiselens_server.source.units import ClassUnit, FunctionUnit

TOP_LEVEL: Final = 0
"""The number of the top level among the roots; functions and methods follow in the order of the text."""

_WORD: Final = re.compile(rb"\w+")
_STORED: Final = re.compile(rb"\.(\w+)[^\S\n]*(?:=(?!=)|:)")
_GLOBAL: Final = re.compile(rb"^[^\S\n]*(?:global|nonlocal)[^\S\n]+([^\n#;]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Part:
    """A function or a class of the module: where it stands, its roots, the names it gives, and the words in it."""

    start: int
    end: int
    roots: tuple[int, ...]
    names: frozenset[bytes]
    words: frozenset[bytes]
    header: frozenset[bytes]
    """The words of a class's first lines: it and its bases concern each other."""


def roots_concerned(module: Module, places: Iterable[int]) -> frozenset[int] | None:
    """The numbers of the roots that a change at `places` (byte offsets) may concern; None where it may be any."""
    parts = list(_parts(module))
    reached: set[int] = set()
    for place in places:
        holders = {i for i, part in enumerate(parts) if part.start <= place < part.end}
        if not holders:
            return None
        reached |= holders
    waiting = list(reached)
    while waiting:
        part = parts[waiting.pop()]
        fresh = {i for i, other in enumerate(parts) if i not in reached and _concerns(part, other)}
        reached |= fresh
        waiting.extend(fresh)
    names = frozenset().union(*(parts[i].names for i in reached))
    top = _called_at_top(module, parts, names)
    if top is None:
        return None
    found = {root for i in reached for root in parts[i].roots}
    return frozenset(found | {TOP_LEVEL}) if top else frozenset(found)


def _concerns(part: _Part, other: _Part) -> bool:
    return not part.names.isdisjoint(other.words) or not other.names.isdisjoint(part.header)


def _parts(module: Module) -> Iterator[_Part]:
    number = TOP_LEVEL + 1
    for statement in flatten(module.block):
        if statement[0] == ir.FUNCTION:
            yield _part(module, statement[3], (number,), {statement[3].name})
            number += 1
        elif statement[0] == ir.CLASS:
            methods = list(_methods(statement[3].block))
            names = {name for name in (statement[3].name, *methods) if not name.startswith("__")}
            yield _part(module, statement[3], tuple(range(number, number + len(methods))), names)
            number += len(methods)


def _methods(block: Block) -> Iterator[str]:
    """The names of the methods of a class and of the classes in it, in the order in which they are run."""
    for statement in flatten(block):
        if statement[0] == ir.FUNCTION:
            yield statement[3].name
        elif statement[0] == ir.CLASS:
            yield from _methods(statement[3].block)


def _part(module: Module, unit: FunctionUnit | ClassUnit, roots: tuple[int, ...], given: set[str]) -> _Part:
    text = module.source[unit.start : unit.end]
    names = {name.encode() for name in given}
    names.update(_STORED.findall(text))
    for declared in _GLOBAL.findall(text):
        names.update(_WORD.findall(declared))
    head = text[: text.find(b":")] if text.startswith(b"class") else b""
    words = frozenset(_WORD.findall(text))
    return _Part(unit.start, unit.end, roots, frozenset(names), words, frozenset(_WORD.findall(head)))


def _called_at_top(module: Module, parts: list[_Part], names: frozenset[bytes]) -> bool | None:
    """Whether the top level calls one of these names; None where it does anything else with one."""
    called = False
    begin = 0
    for end, behind in [*((part.start, part.end) for part in parts), (len(module.source), len(module.source))]:
        for line in module.source[begin:end].splitlines():
            found = names.intersection(_WORD.findall(line))
            if found:
                callee = line.lstrip().partition(b"(")[0]
                if {callee} != found:
                    return None
                called = True
        begin = max(begin, behind)
    return called
