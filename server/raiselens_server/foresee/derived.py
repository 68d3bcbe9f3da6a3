"""Which locals of a function carry something that its caller supplied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raiselens_server.source import ir
from raiselens_server.source.bindings import bound_by, names_read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raiselens_server.source.ir import Block
    from raiselens_server.source.units import FunctionUnit


def derived(unit: FunctionUnit) -> frozenset[str]:
    """The names that depend on a parameter, by value or by the branch they are bound on; parameters included."""
    if unit.derived is not None:
        return unit.derived
    flows = list(_flows(unit.code.block, frozenset()))
    known = {parameter.name for parameter in unit.parameters}
    changed = True
    while changed:
        changed = False
        for targets, sources in flows:
            if not targets <= known and sources & known:
                known |= targets
                changed = True
    unit.derived = frozenset(known)
    return unit.derived


def _flows(block: Block, tests: frozenset[str]) -> Iterator[tuple[frozenset[str], set[str]]]:
    """The names that each statement binds, and those that decide what to: `tests` are read by the branches around."""
    for statement in block:
        match statement[0]:
            case ir.ASSIGN | ir.ANNOTATED | ir.AUGMENTED:
                yield bound_by(statement), {*names_read(statement[4:]), *tests}
            case ir.FUNCTION:
                inner = statement[3].code
                yield frozenset({statement[3].name}), set(names_read(inner.block)) - inner.assigned
            case ir.IF | ir.WHILE:
                inside = tests | set(names_read(statement[3]))
                yield from _flows(statement[4], inside)
                yield from _flows(statement[5], inside)
            case ir.FOR:
                yield bound_by(statement), {*names_read(statement[4]), *tests}
                inside = tests | set(names_read(statement[4]))
                yield from _flows(statement[5], inside)
                yield from _flows(statement[6], tests)
            case ir.WITH:
                yield bound_by(statement), {*names_read(statement[3]), *tests}
                yield from _flows(statement[4], tests)
            case ir.MATCH:
                subject = set(names_read(statement[3]))
                yield bound_by(statement), subject | tests
                for _, _, body in statement[4]:
                    yield from _flows(body, tests | subject)
            case ir.TRY:
                for part in (statement[3], *(body for _, _, body in statement[4]), statement[5], statement[6]):
                    yield from _flows(part, tests)
            case _:
                continue
