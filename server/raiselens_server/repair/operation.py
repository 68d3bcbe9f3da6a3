"""Repairs of what torch itself refuses: conversions of an operand, tried until one passes.

torch's rules say that a call raises, not what would have passed; so the likely conversions are proposed in order, and the
re-check decides. They change what is computed, so none is safe.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from raiselens_server.error import RepairKind
from raiselens_server.repair import dtype, place
from raiselens_server.repair.locate import needs_parentheses
from raiselens_server.repair.operands import all_operands, operands_of
from raiselens_server.repair.proposal import Change, Proposal
from raiselens_server.repair.shape import same_elements
from raiselens_server.repair.subject import Subject, allocation
from raiselens_server.repair.wants import WantDevice
from raiselens_server.source import ir
from raiselens_server.values import dtypes
from raiselens_server.values.lattice import Device, Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raiselens_server.foresee import Project
    from raiselens_server.foresee.report import Finding
    from raiselens_server.repair.operands import Operand
    from raiselens_server.source.ir import Expr
    from raiselens_server.values.lattice import Value

_RESULT_TYPE: Final = re.compile(rf"result type ({'|'.join(dtypes.LEGACY)}) can't be cast")
_DTYPE_SUFFIXES: Final = (".long()", ".float()", ".bool()", ".int()")


def proposals(project: Project, finding: Finding) -> Iterator[Proposal]:
    """Conversions of the operands of the failing operation."""
    call = finding.call
    yield from _of_target(project, finding)
    node, frame = call.node, call.frame
    if node is None:
        return
    operands = operands_of(finding)
    text = finding.raising.condition + " " + "".join(p for p in finding.raising.message if isinstance(p, str))
    lowered = text.lower()
    shown = {id(one): frame.module.text(frame.base + one.expr[1], frame.base + one.expr[2]) for one in operands}
    alike = Counter(shown.values())
    # What the message names is what it is about.
    operands.sort(key=lambda one: shown[id(one)].lower() not in lowered)

    def changed(one: Operand, suffix: str, kind: RepairKind) -> Proposal:
        return _suffix(finding, one.expr, suffix, kind, one.place if alike[shown[id(one)]] > 1 else "")

    if "dtype" in lowered or "type" in lowered or "long" in lowered or "scalar" in lowered:
        for one in operands:
            for other in operands:
                if other is not one and other.expr[0] in {ir.NAME, ir.ATTRIBUTE, ir.SUBSCRIPT}:
                    yield changed(one, f".to({shown[id(other)]}.dtype)", RepairKind.CAST_AT_CALL)
        # Where two dtypes must be one, an integer would only lose what the other operand has.
        suffixes = (".float()",) if finding.raising.condition.count(".dtype") > 1 else _DTYPE_SUFFIXES
        for one in operands:
            for suffix in suffixes:
                yield changed(one, suffix, RepairKind.CAST_AT_CALL)
    if "view" in lowered or "stride" in lowered or "contiguous" in lowered:
        if node[0] == ir.CALL and node[3][0] == ir.ATTRIBUTE and node[3][4] == "view":
            start = frame.base + node[3][2] - len("view")
            yield Proposal(
                "Use `reshape`, which copies where it must",
                RepairKind.RESHAPE,
                (Change(frame.module, start, start + len("view"), "reshape"),),
            )
        for one in operands:
            yield changed(one, ".contiguous()", RepairKind.CONTIGUOUS)
    if "device" in lowered:
        for one in operands:
            for other in operands:
                if other is not one and other.expr[0] in {ir.NAME, ir.ATTRIBUTE}:
                    yield changed(one, f".to({shown[id(other)]}.device)", RepairKind.MOVE_DEVICE)
    if "requires grad" in lowered:
        for one in operands:
            yield changed(one, ".detach()", RepairKind.CHANGE_ARGUMENT)
    if node[0] == ir.CALL:
        yield from _literals(finding, node, lowered)
    if "shape" in lowered or "size" in lowered or "dim" in lowered:
        for one in operands:
            for other in operands:
                if other is not one and _differ_in_ones(_value(finding, one.expr), _value(finding, other.expr)):
                    yield changed(one, f".view_as({shown[id(other)]})", RepairKind.RESHAPE)
        for one in reversed(operands):
            yield changed(one, ".t()", RepairKind.RESHAPE)
            yield changed(one, ".unsqueeze(0)", RepairKind.RESHAPE)


def _of_target(project: Project, finding: Finding) -> Iterator[Proposal]:
    """What the tensor that is written or read would have to be where it was made."""
    text = "".join(part for part in finding.raising.message if isinstance(part, str))
    statement, frame = finding.call.statement, finding.call.frame
    made = _RESULT_TYPE.search(text)
    if made is not None and statement is not None and statement[0] == ir.AUGMENTED and statement[3][0] == ir.NAME:
        target = statement[3]
        value = _value(finding, target)
        if isinstance(value, Tensor):
            unit = None if frame.function is None else frame.function.unit
            subject = Subject(target[3], value, frame.module, frame.base, unit, target)
            source = allocation(project, subject, value.dtype_site)
            if source is not None:
                yield from dtype.at_allocation(subject, source, dtypes.only(value.dtypes), dtypes.LEGACY[made[1]])
    if "meta tensor" in text and finding.call.node is not None:
        for receiver in (one.expr for one in all_operands(finding.call.node, is_method=True)):
            value = _value(finding, receiver)
            if isinstance(value, Tensor):
                subject = Subject(receiver[3], value, frame.module, frame.base, None, receiver)
                yield from place.device_proposals(project, subject, WantDevice(receiver[3], Device("cpu"), None), None)


def _literals(finding: Finding, node: Expr, lowered: str) -> Iterator[Proposal]:
    """Another axis, and a whole number in place of a fraction that is one."""
    frame = finding.call.frame
    for name, value in (*((None, argument) for argument in node[4]), *node[5]):
        if value[0] != ir.CONST or isinstance(value[3], bool):
            continue
        start, end = frame.base + value[1], frame.base + value[2]
        if isinstance(value[3], float) and value[3].is_integer() and "float" in lowered:
            options = [int(value[3])]
        elif isinstance(value[3], int) and name in {"dim", "axis"}:
            options = [axis for axis in (0, 1, -1) if axis != value[3]]
        else:
            continue
        for option in options:
            title = f"Pass {option}" + (f" as `{name}`" if name else "")
            change = Change(frame.module, start, end, str(option))
            yield Proposal(title, RepairKind.CHANGE_ARGUMENT, (change,), doubtful=True)


def _value(finding: Finding, expr: Expr) -> Value | None:
    """The value of a name at the user's call."""
    if expr[0] != ir.NAME or finding.level >= len(finding.variables):
        return None
    return finding.variables[finding.level].get(expr[3])


def _differ_in_ones(ours: Value | None, theirs: Value | None) -> bool:
    if not isinstance(ours, Tensor) or not isinstance(theirs, Tensor):
        return False
    return same_elements(ours.shape, theirs.shape)


def _suffix(finding: Finding, expr: Expr, suffix: str, kind: RepairKind, place_of: str) -> Proposal:
    frame = finding.call.frame
    start, end = frame.base + expr[1], frame.base + expr[2]
    text = frame.module.text(start, end)
    if needs_parentheses(expr):
        text = f"({text})"
    short = text if len(text) <= 40 else text[:37] + "…"
    title = f"Pass `{short}{suffix}`" + (f" {place_of}" if place_of else "")
    return Proposal(title, kind, (Change(frame.module, start, end, f"{text}{suffix}"),), doubtful=True)
