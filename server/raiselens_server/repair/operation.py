"""Repairs of what torch itself refuses: conversions of an operand, tried until one passes.

torch's rules say that a call raises, not what would have passed; so the likely conversions are proposed in order, and the
re-check decides. They change what is computed, so none is safe.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from raiselens_server.error import RepairKind
from raiselens_server.repair import dtype, place
from raiselens_server.repair.locate import needs_parentheses
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
    is_own = finding.level == len(finding.raising.levels) - 1
    is_method = is_own and (finding.raising.callee or "").startswith("torch.Tensor.")
    operands = list(_operands(node, is_method=is_method))
    text = finding.raising.condition + " " + "".join(p for p in finding.raising.message if isinstance(p, str))
    lowered = text.lower()
    shown = {id(expr): frame.module.text(frame.base + expr[1], frame.base + expr[2]) for expr in operands}
    # What the message names is what it is about.
    operands.sort(key=lambda expr: shown[id(expr)].lower() not in lowered)
    if "dtype" in lowered or "type" in lowered or "long" in lowered or "scalar" in lowered:
        for expr in operands:
            for other in operands:
                if other is not expr and other[0] in {ir.NAME, ir.ATTRIBUTE, ir.SUBSCRIPT}:
                    yield _suffix(finding, expr, f".to({shown[id(other)]}.dtype)", RepairKind.CAST_AT_CALL)
        for expr in operands:
            for suffix in _DTYPE_SUFFIXES:
                yield _suffix(finding, expr, suffix, RepairKind.CAST_AT_CALL)
    if "view" in lowered or "stride" in lowered or "contiguous" in lowered:
        if node[0] == ir.CALL and node[3][0] == ir.ATTRIBUTE and node[3][4] == "view":
            start = frame.base + node[3][2] - len("view")
            yield Proposal(
                "Use `reshape`, which copies where it must",
                RepairKind.RESHAPE,
                (Change(frame.module, start, start + len("view"), "reshape"),),
            )
        for expr in operands:
            yield _suffix(finding, expr, ".contiguous()", RepairKind.CONTIGUOUS)
    if "device" in lowered:
        for expr in operands:
            for other in operands:
                if other is not expr and other[0] in {ir.NAME, ir.ATTRIBUTE}:
                    yield _suffix(finding, expr, f".to({shown[id(other)]}.device)", RepairKind.MOVE_DEVICE)
    if "requires grad" in lowered:
        for expr in operands:
            yield _suffix(finding, expr, ".detach()", RepairKind.CHANGE_ARGUMENT)
    if node[0] == ir.CALL:
        yield from _literals(finding, node, lowered)
    if "shape" in lowered or "size" in lowered or "dim" in lowered:
        for expr in operands:
            for other in operands:
                if other is not expr and _differ_in_ones(_value(finding, expr), _value(finding, other)):
                    yield _suffix(finding, expr, f".view_as({shown[id(other)]})", RepairKind.RESHAPE)
        for expr in reversed(operands):
            yield _suffix(finding, expr, ".t()", RepairKind.RESHAPE)
            yield _suffix(finding, expr, ".unsqueeze(0)", RepairKind.RESHAPE)


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
        for receiver in _operands(finding.call.node, is_method=True):
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


def _suffix(finding: Finding, expr: Expr, suffix: str, kind: RepairKind) -> Proposal:
    frame = finding.call.frame
    start, end = frame.base + expr[1], frame.base + expr[2]
    text = frame.module.text(start, end)
    if needs_parentheses(expr):
        text = f"({text})"
    short = text if len(text) <= 40 else text[:37] + "…"
    return Proposal(
        f"Pass `{short}{suffix}`", kind, (Change(frame.module, start, end, f"{text}{suffix}"),), doubtful=True
    )


def _operands(node: Expr, *, is_method: bool) -> Iterator[Expr]:
    """The operands that may be tensors: arguments (items of a list too), the receiver of a method last."""
    match node[0]:
        case ir.CALL:
            for argument in (*node[4], *(value for _, value in node[5])):
                if argument[0] in {ir.TUPLE, ir.LIST}:
                    yield from (item for item in argument[3] if item[0] not in {ir.CONST, ir.STAR})
                elif argument[0] not in {ir.CONST, ir.STAR, ir.LAMBDA}:
                    yield argument
            if is_method and node[3][0] == ir.ATTRIBUTE:
                yield node[3][3]
        case ir.BINARY:
            yield node[5]
            yield node[4]
        case ir.SUBSCRIPT:
            yield node[4]
            yield node[3]
        case _:
            return
