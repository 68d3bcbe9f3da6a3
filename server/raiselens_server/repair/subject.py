"""The value that a guard is about, as the user's file has it: its argument, and where its properties were decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from raiselens_server.repair.locate import Located, argument_of, at_site, expressions
from raiselens_server.source import ir
from raiselens_server.source.module import flatten
from raiselens_server.values.lattice import Tensor

if TYPE_CHECKING:
    from raiselens_server.foresee import Project
    from raiselens_server.foresee.report import Finding
    from raiselens_server.source.ir import Expr
    from raiselens_server.source.module import Module
    from raiselens_server.source.units import FunctionUnit
    from raiselens_server.values.lattice import Site, Value

_WRITTEN_NAMES: Final = frozenset({"out", "output", "outputs", "dst", "dest", "result", "results"})


@dataclass(frozen=True, slots=True)
class Subject:
    """`argument` is the expression at the user's call, None where it cannot be told apart.

    `written`: the callee writes into it, or its name says so; a copy made for the call would lose what is written.
    """

    name: str
    value: Value
    module: Module
    base: int
    unit: FunctionUnit | None
    argument: Expr | None
    written: bool = False

    @property
    def shown(self) -> str:
        """What to call it in a title: the variable passed, else the parameter."""
        if self.argument is not None and self.argument[0] == ir.NAME:
            return str(self.argument[3])
        return self.name

    def text(self) -> str:
        """The argument as written."""
        if self.argument is None:
            return ""
        return self.module.text(self.base + self.argument[1], self.base + self.argument[2])


def subject_of(finding: Finding, name: str) -> Subject | None:
    """The argument behind a name of the guard's frame."""
    callee = finding.callee
    if callee is None or callee.frame.function is None:
        return None
    value = finding.raising.variables.get(name)
    if value is None:
        return None
    param = _param_holding(finding, name, value)
    call = finding.call
    frame = call.frame
    unit = None if frame.function is None else frame.function.unit
    argument = None
    if param is not None and call.node is not None:
        first = callee.frame.function.unit.parameters[:1]
        bound = callee.frame.owner is not None and bool(first) and first[0].name in {"self", "cls"}
        argument = argument_of(call.node, callee.frame.function.unit, param, bound=bound)
    written = param is not None and _is_written(callee.frame.function.unit, param)
    return Subject(param or name, value, frame.module, frame.base, unit, argument, written)


def _is_written(unit: FunctionUnit, param: str) -> bool:
    """Whether a function stores into a parameter, or calls it what one stores into."""
    if _WRITTEN_NAMES & set(param.lower().split("_")):
        return True
    for statement in flatten(unit.body.block):
        targets = statement[3] if statement[0] == ir.ASSIGN else statement[3:4] if statement[0] == ir.AUGMENTED else ()
        if any(target[0] in {ir.SUBSCRIPT, ir.NAME} and _root(target) == param for target in targets):
            return True
        for expr in expressions(statement):
            if expr[0] == ir.CALL and expr[3][0] == ir.ATTRIBUTE and _root(expr[3]) == param:
                name = expr[3][4]
                if name.endswith("_") and not name.endswith("__"):
                    return True
    return False


def _root(expr: Expr) -> str | None:
    while expr[0] in {ir.ATTRIBUTE, ir.SUBSCRIPT, ir.CALL}:
        expr = expr[3]
    return str(expr[3]) if expr[0] == ir.NAME else None


def _param_holding(finding: Finding, name: str, value: Value) -> str | None:
    callee = finding.callee
    assert callee is not None  # noqa: S101 states what the caller has checked
    assert callee.frame.function is not None  # noqa: S101 states what the caller has checked
    names = [parameter.name for parameter in callee.frame.function.unit.parameters]
    if callee.frame is finding.raising.levels[-1].frame and name in names:
        return name
    for candidate in names:
        if callee.frame.variables.get(candidate) is value:
            return candidate
    return None


def allocation(project: Project, subject: Subject, site: Site | None) -> Located | None:
    """The expression at a site, where it lies in a file that may be edited."""
    if site is None or not isinstance(subject.value, Tensor) or not project.is_named(site.file):
        return None
    module = project.scopes.module_at(site.file)
    return None if module is None else at_site(module, site)
