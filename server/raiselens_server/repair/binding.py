"""A repair of a call that does not fit its function: the keyword that was nearly right."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from raiselens_server.error import RepairKind
from raiselens_server.foresee.frames import Frame, Raising
from raiselens_server.foresee.objects import Class, Function
from raiselens_server.repair.proposal import Change, Proposal
from raiselens_server.source import ir, units
from raiselens_server.values.lattice import Callable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raiselens_server.foresee import Project
    from raiselens_server.foresee.report import Finding
    from raiselens_server.source.ir import Expr
    from raiselens_server.source.units import FunctionUnit

_ALIKE = 0.75
_BY_KEYWORD = frozenset({units.POSITIONAL_OR_KEYWORD, units.KEYWORD_ONLY})


def proposals(project: Project, finding: Finding) -> Iterator[Proposal]:
    """Rename an unexpected keyword, where just one parameter that is not filled is spelled like it."""
    node, frame = finding.call.node, finding.call.frame
    if finding.raising.rule != "call-unexpected-argument" or node is None or node[0] != ir.CALL:
        return
    unit = _called(project, finding, node[3])
    if unit is None:
        return
    wanted = {p.name for p in unit.parameters if p.kind in _BY_KEYWORD} - {name for name, _ in node[5]}
    known = {p.name for p in unit.parameters}
    for name, value in node[5]:
        if name is None or name in known:
            continue
        alike = difflib.get_close_matches(name, sorted(wanted), n=2, cutoff=_ALIKE)
        if len(alike) != 1:
            continue
        before = frame.module.text(frame.base + node[1], frame.base + value[1])
        end = frame.base + node[1] + len(before[: before.rindex(name)].encode())
        change = Change(frame.module, end, end + len(name.encode()), alike[0])
        yield Proposal(f"Rename `{name}` to `{alike[0]}`", RepairKind.CHANGE_ARGUMENT, (change,), doubtful=True)


def _called(project: Project, finding: Finding, function: Expr) -> FunctionUnit | None:
    static = project.scopes.static
    if static is None:
        return None
    frame = finding.call.frame
    variables = finding.variables[finding.level] if finding.level < len(finding.variables) else {}
    look = Frame(frame.function, frame.module, frame.base, dict(variables), frame.closure, None, 6, local=frame.local)
    look.quiet = 1
    try:
        value = static.evaluate(function, look)
    except Raising:
        return None
    match value:
        case Callable(target=Function(unit=unit)):
            return unit
        case Callable(target=Class(unit=unit)):
            methods = [s[3] for s in unit.block if s[0] == ir.FUNCTION and s[3].name == "__init__"]
            return methods[0] if methods else None
        case _:
            return None
