"""Which locals of a function carry something that its caller supplied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raiselens_server.source import ir
from raiselens_server.source.bindings import bound_by, names_read
from raiselens_server.source.module import flatten

if TYPE_CHECKING:
    from raiselens_server.source.units import FunctionUnit


def derived(unit: FunctionUnit) -> frozenset[str]:
    """The names that depend on a parameter, in any order of statements; parameters included."""
    if unit.derived is not None:
        return unit.derived
    flows: list[tuple[frozenset[str], set[str]]] = []
    for statement in flatten(unit.code.block):
        match statement[0]:
            case ir.ASSIGN | ir.ANNOTATED | ir.AUGMENTED:
                flows.append((bound_by(statement), set(names_read(statement[4:]))))
            case ir.FOR:
                flows.append((bound_by(statement), set(names_read(statement[4]))))
            case ir.WITH:
                flows.append((bound_by(statement), set(names_read(statement[3]))))
            case ir.MATCH:
                flows.append((bound_by(statement), set(names_read(statement[3]))))
            case ir.FUNCTION:
                inner = statement[3].code
                flows.append((frozenset({statement[3].name}), set(names_read(inner.block)) - inner.assigned))
            case _:
                continue
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
