"""A keystroke inside a function: the function alone is parsed anew, and the rest of its module stays as it was.

`find_edit` answers None wherever that might not hold: the header is another one, something else in the file changed, the
text is no longer one function, or a search in the whole text may find something else. Then the file is read anew.

A function that is being typed seldom parses. Its errors stay its own: the rest of the file is read as it was, where a
parser that begins at the top may take a bracket not yet closed to swallow what follows.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from raiselens_server.source import field, ir
from raiselens_server.source.lower import CLASS_HEAD, Lowering
from raiselens_server.source.searched import may_mock, traces
from raiselens_server.source.syntax import Text, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tree_sitter import Node

    from raiselens_server.source.ir import Block
    from raiselens_server.source.module import Module
    from raiselens_server.source.units import FunctionUnit


_TRIPLE: Final = (b'"""', b"'''")


@dataclass(frozen=True, slots=True)
class Region:
    """The lines from a `def` to the next statement beside or behind it, by the addresses of the first text."""

    start: int
    end: int
    unit: FunctionUnit


@dataclass(frozen=True, slots=True)
class Edit:
    """What an edit makes of one function; `text` takes the place of its region, `source` that of the file."""

    region: Region
    after: FunctionUnit
    text: bytes
    source: bytes


def regions_of(module: Module, source: bytes) -> list[Region]:
    """The regions of a module's functions and methods, in order; `source` is its first text."""
    starts = sorted({*_statement_starts(module.block), len(source)})
    found: list[Region] = []
    for unit in module.functions:
        line = source.rfind(b"\n", 0, unit.start) + 1
        if unit.name == "<lambda>" or source[line : unit.start].strip():
            continue
        following = starts[bisect_right(starts, unit.start)] if unit.start < starts[-1] else len(source)
        end = following if following == len(source) else source.rfind(b"\n", 0, following) + 1
        if end >= unit.end:
            found.append(Region(line, end, unit))
    return sorted(found, key=lambda region: region.start)


def _statement_starts(block: Block) -> Iterator[int]:
    """Where the statements of a module and of its classes start; their decorators count to them."""
    from raiselens_server.source.module import flatten

    for statement in flatten(block):
        yield statement[1]
        if statement[0] == ir.CLASS:
            yield from _statement_starts(statement[3].block)


def find_edit(module: Module, source: bytes) -> Edit | None:
    """The function that alone changed, if `source` is the module's text now; None where more may have."""
    before = module.source
    first, last = _changed(before, source)
    region = _region_at(module, first)
    if region is None or module.broken:
        return None
    start, end = module.layout.region(region.start, region.end)
    if first <= start or last > end:
        return None
    old, new = before[start:end], source[start : end + len(source) - len(before)]
    after = _function(module, region, new)
    if after is None or not _same_for_callers(region.unit, after):
        return None
    address = module.layout.address(start)
    if _header(region.unit, address, old) != _header(after, after.base, new):
        return None
    mocks, imported = may_mock(before), module.imported
    if traces(old, imported, mocks=mocks) != traces(new, imported, mocks=mocks):
        return None
    return Edit(region, after, new, source)


def _changed(old: bytes, new: bytes) -> tuple[int, int]:
    """The part of `old` that is replaced in `new`: all before it and all behind it is the same."""
    most = min(len(old), len(new))
    first = _equal(most, lambda size, step: old[size : size + step] == new[size : size + step])
    n, m = len(old), len(new)
    behind = _equal(most - first, lambda size, step: old[n - size - step : n - size] == new[m - size - step : m - size])
    return first, n - behind


def _equal(most: int, holds: Callable[[int, int], bool]) -> int:
    """The greatest size up to `most` to which two texts are equal; `holds` compares a step from a size on.

    Steps are halved where they fail, so that the bytes are compared by the C library, and few of them twice.
    """
    size, step = 0, most
    while step:
        if size + step <= most and holds(size, step):
            size += step
        else:
            step //= 2
    return size


def _region_at(module: Module, offset: int) -> Region | None:
    regions = module.regions
    at = bisect_right(regions, offset, key=lambda region: module.layout.region(region.start, region.end)[0]) - 1
    return regions[at] if at >= 0 else None


def _function(module: Module, region: Region, text: bytes) -> FunctionUnit | None:
    """The function that `text` holds and nothing else; its addresses are those that the layout would give."""
    indented = text[:1].isspace()
    head = CLASS_HEAD if indented else b""
    root = parse(head + text).root_node
    # A string not yet closed, or a last line that is continued, runs on behind the region.
    if any(text.count(quotes) % 2 for quotes in _TRIPLE) or text.rstrip().endswith(b"\\"):
        return None
    node = _only(root, "class_definition") if indented else root
    body = node if node is None or not indented else node.child_by_field_id(field.BODY)
    member = None if body is None else _only(body, "function_definition")
    if member is None:
        return None
    outer, _, _ = region.unit.qualname.rpartition(".")
    lowering = Lowering(
        Text.of(head + text),
        len(head),
        outer,
        "class" if outer else "module",
        origin=module.layout.next_address(region.start),
    )
    return lowering.function(member)


def _only(node: Node, kind: str) -> Node | None:
    """The only child that is no comment, if it is of a kind."""
    children = [child for child in node.named_children if child.type != "comment"]
    return children[0] if len(children) == 1 and children[0].type == kind else None


def _same_for_callers(before: FunctionUnit, after: FunctionUnit) -> bool:
    return (before.name, before.is_async, before.code.generator) == (after.name, after.is_async, after.code.generator)


def _header(unit: FunctionUnit, address: int, text: bytes) -> bytes | None:
    """All of a region's text before the first statement of the body; `address` is that of the region."""
    block = unit.code.block
    return text[: unit.base + block[0][1] - address] if block else None
