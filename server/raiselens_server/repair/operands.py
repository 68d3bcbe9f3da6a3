"""The operands of a failing operation of torch, and which of them its guard is about."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from raiselens_server.repair.subject import subject_of
from raiselens_server.source import ir
from raiselens_server.values import ops

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raiselens_server.foresee.report import Finding
    from raiselens_server.source.ir import Expr

_WORD: Final = re.compile(r"[^\W\d]\w*")
_ROOT: Final = re.compile(r"(?<![.\w])([^\W\d]\w*)\.")
_METHOD: Final = "torch.Tensor."


@dataclass(frozen=True, slots=True)
class Operand:
    """An expression that may be a tensor; `place` says which it is where another reads the same."""

    expr: Expr
    place: str


def operands_of(finding: Finding) -> list[Operand]:
    """The operands of the user's call: arguments (items of a list too), the receiver of a method last.

    Where the guard speaks of parameters, only what fills those: another operand converted would hide the guard, or
    change what is right.
    """
    node = finding.call.node
    if node is None:
        return []
    found = list(all_operands(node, is_method=_is_own(finding) and (finding.raising.callee or "").startswith(_METHOD)))
    asked = _asked_about(finding)
    return found if asked is None else [one for one in found if any(one.expr is expr for expr in asked)]


def all_operands(node: Expr, *, is_method: bool) -> Iterator[Operand]:
    """Whatever may be a tensor in an operation, whichever the guard is about."""
    match node[0]:
        case ir.CALL:
            given = [(f"argument {number}", value) for number, value in enumerate(node[4], start=1)]
            for place, argument in (*given, *((f"`{name}`", value) for name, value in node[5])):
                if argument[0] in {ir.TUPLE, ir.LIST}:
                    for number, item in enumerate(argument[3], start=1):
                        if item[0] not in {ir.CONST, ir.STAR}:
                            yield Operand(item, f"as item {number} of {place}")
                elif argument[0] not in {ir.CONST, ir.STAR, ir.LAMBDA}:
                    yield Operand(argument, f"as {place}")
            if is_method and node[3][0] == ir.ATTRIBUTE:
                yield Operand(node[3][3], "before the dot")
        case ir.BINARY:
            yield Operand(node[5], "on the right")
            yield Operand(node[4], "on the left")
        case ir.SUBSCRIPT:
            yield Operand(node[4], "as the index")
            yield Operand(node[3], "before the index")
        case _:
            return


def _is_own(finding: Finding) -> bool:
    """Whether the user's own code calls the operation, not a function in between."""
    return finding.level == len(finding.raising.levels) - 1


def _asked_about(finding: Finding) -> list[Expr] | None:
    """The arguments of the user's call that fill the parameters named by the guard; None where that is not known."""
    raising, last = finding.raising, finding.raising.levels[-1].node
    parameters = ops.parameters(raising.callee or "")
    named = [name for name in dict.fromkeys(_WORD.findall(raising.condition)) if name in parameters]
    if last is None or last[0] != ir.CALL or not named:
        return None
    if not {*_ROOT.findall(raising.condition)} <= {*parameters, "torch"}:
        # It has names of its own for some of the operands: `mat1.dtype == mat2.dtype` of `mm(input, mat2)`.
        return None
    found: list[Expr] = []
    for name in named:
        filled = _filling(last, name, parameters, is_method=(raising.callee or "").startswith(_METHOD))
        if filled is not None and not _is_own(finding):
            subject = subject_of(finding, filled[3]) if filled[0] == ir.NAME else None
            filled = None if subject is None else subject.argument
        if filled is None:
            return None
        found.append(filled)
    return found


def _filling(call: Expr, name: str, parameters: tuple[str, ...], *, is_method: bool) -> Expr | None:
    for keyword, value in call[5]:
        if keyword == name:
            return value  # type: ignore[no-any-return]
    given = list(call[4])
    if is_method:
        if call[3][0] != ir.ATTRIBUTE:
            return None
        given.insert(0, call[3][3])
    position = parameters.index(name)
    if position >= len(given) or any(item[0] == ir.STAR for item in given):
        return None
    return given[position]  # type: ignore[no-any-return]
