"""A finding as a target: the facts at its call, as foreseeing knew them, and what its repair makes of them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from raiselens_server.error import Foreseen, RepairKind
from raiselens_server.source import units
from raiselens_server.values import dtypes
from raiselens_server.values.lattice import Unknown
from raiselens_server.verify.from_values import fact_from
from raiselens_server.verify.request import Argument, FindingTarget, SequenceFact, TensorFact, finding_target

if TYPE_CHECKING:
    from raiselens_server.error import Diagnosis, Repair
    from raiselens_server.foresee import Project
    from raiselens_server.foresee.report import Finding

_NOT_BOUND = Unknown("not-bound")
_DTYPE = re.compile(r"\btorch\.(\w+)|\.(\w+)\(\)")


def target_of(project: Project, diagnosis: Diagnosis) -> FindingTarget:
    """The target for a diagnosis; of an observed error, or of one whose call enters no followed function, no facts."""
    error = diagnosis.error
    finding = project.finding(error)
    arguments = () if finding is None else arguments_of(finding)
    if not arguments or not isinstance(error.origin, Foreseen) or error.origin.param is None:
        return finding_target(error, arguments=arguments)
    afters = (_repaired(arguments, error.origin.param, repair) for repair in diagnosis.repairs)
    repaired = next((after for after in afters if after is not None), None)
    return finding_target(error, arguments=arguments, repaired=repaired)


def arguments_of(finding: Finding) -> tuple[Argument, ...]:
    """The arguments of the user's call, by the parameters of the function that it enters."""
    callee = finding.callee
    if callee is None or callee.frame.function is None:
        return ()
    deepest = callee is finding.raising.levels[-1]
    variables = finding.raising.variables if deepest else callee.frame.variables
    arguments: list[Argument] = []
    for parameter in callee.frame.function.unit.parameters:
        fact = fact_from(variables.get(parameter.name, _NOT_BOUND))
        match parameter.kind:
            case units.VAR_KEYWORD:
                continue
            case units.VAR_POSITIONAL:
                items = fact.items if isinstance(fact, SequenceFact) else ()
                if items:
                    # What comes before further positional arguments was positional itself.
                    arguments = [Argument(None, argument.fact) for argument in arguments]
                    arguments += [Argument(None, item) for item in items]
            case kind:
                arguments.append(Argument(None if kind == units.POSITIONAL_ONLY else parameter.name, fact))
    return tuple(arguments)


def _repaired(arguments: tuple[Argument, ...], param: str, repair: Repair) -> tuple[Argument, ...] | None:
    """The facts once the repair is applied; `None` where its edits do not say them plainly."""
    fact = next((argument.fact for argument in arguments if argument.name == param), None)
    if not isinstance(fact, TensorFact):
        return None
    text = " ".join(edit.text for edit in repair.edits)
    match repair.kind:
        case RepairKind.CHANGE_DTYPE_AT_ALLOCATION | RepairKind.CAST_AT_CALL:
            dtype = _dtype_in(text)
            changed = None if dtype is None else replace(fact, dtype=dtype)
        case RepairKind.CONTIGUOUS:
            changed = replace(fact, contiguous=True)
        case _:
            changed = None
    if changed is None:
        return None
    return tuple(Argument(param, changed) if argument.name == param else argument for argument in arguments)


def _dtype_in(text: str) -> str | None:
    named = {name for pair in _DTYPE.findall(text) for name in pair if name}
    found = {dtypes.CAST_METHODS.get(name, name) for name in named} & dtypes.ALL
    return found.pop() if len(found) == 1 else None
