"""From a certain raise to a finding: which call to blame, what to say of it, and when to stay silent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from raiselens_catalog.template import slug
from raiselens_server.error import (
    Foreseen,
    Place,
    RaisedError,
    Related,
    Severity,
)
from raiselens_server.error import (
    Frame as ErrorFrame,
)
from raiselens_server.foresee import exceptions
from raiselens_server.foresee.overriding import Overriding
from raiselens_server.foresee.run import Run
from raiselens_server.foresee.statements import ends_in_raise
from raiselens_server.foresee.templates import message_template
from raiselens_server.foresee.versions import for_other_versions
from raiselens_server.source import ir
from raiselens_server.source.bindings import names_read
from raiselens_server.source.module import flatten
from raiselens_server.values import dims, dtypes
from raiselens_server.values.lattice import Const, Ref, Tensor, Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from raiselens_server.foresee.frames import Frame, Level, Raising
    from raiselens_server.foresee.objects import HeapObject
    from raiselens_server.foresee.scopes import Scopes
    from raiselens_server.source.ir import Expr, Stmt
    from raiselens_server.values.lattice import Site, Value
    from raiselens_server.values.ops import Ambient


@dataclass(frozen=True, slots=True)
class Finding:
    """A foreseen error with what repairs need: the abstract raise, and which of its levels is the user's call.

    `variables` are those of the levels down to the user's call as they were at the raise, `heap` the objects at that time.
    """

    error: RaisedError
    raising: Raising
    level: int
    variables: tuple[dict[str, Value], ...] = ()
    heap: dict[int, HeapObject] = field(default_factory=dict)

    @property
    def known(self) -> tuple[bool, int]:
        """How much this run knew of what will be said; of two runs that meet the same raise the greater counts."""
        origin = self.error.origin
        assert isinstance(origin, Foreseen)  # noqa: S101 this is where they are made
        return origin.message_certain, -len(origin.holes)

    @property
    def call(self) -> Level:
        """The level of the user's call."""
        return self.raising.levels[self.level]

    @property
    def callee(self) -> Level | None:
        """The level that the user's call enters, None where no followed function is entered."""
        below = self.level + 1
        return self.raising.levels[below] if below < len(self.raising.levels) else None


class RootRun(Overriding, Run):
    """The run of one root; `named` says which files findings may be reported in."""

    def __init__(self, scopes: Scopes, ambient: Ambient, named: Callable[[str], bool]) -> None:
        super().__init__(scopes, ambient)
        self.named = named
        self.findings: list[Finding] = []
        self.compared = False

    def report(self, raising: Raising, frame: Frame) -> bool:
        """Take a certain raise that arrived in the root; False where this path ends in it all the same."""
        if frame.quiet or raising.rule == "reraise":
            return False
        kinds = [kind for handlers in frame.handlers for kind in handlers]
        if any(self.catches(kind, cls, frame) is not False for kind in kinds for cls in raising.classes):
            return False
        if not all(self.lets_through(shield, cls, frame) for shield in frame.shields for cls in raising.classes):
            return False
        if any(loop.tests is not None and len(frame.tests) > loop.tests for loop in frame.loops):
            # Another round may be the one that goes this way.
            return False
        level = self._blamed(raising)
        if level is None or not raising.class_name or not exceptions.reported(self.class_chain(raising.cls)):
            return False
        if not (self._decided_by_caller(raising, level) or self.is_proven(raising)) or for_other_versions(frame):
            return False
        if not self.stands(raising, level):
            # A derived class may go on from here.
            return True
        variables = tuple(dict(outer.frame.variables) for outer in raising.levels[: level + 1])
        self.findings.append(Finding(self._error(raising, level, frame), raising, level, variables, dict(self.heap)))
        return True

    def _blamed(self, raising: Raising) -> int | None:
        """The deepest level in a named file, outside the guarded function itself."""
        deepest = len(raising.levels) - (1 if raising.implicit else 2)
        for index in range(deepest, -1, -1):
            if self.named(raising.levels[index].frame.module.path):
                return index
        return None

    def _decided_by_caller(self, raising: Raising, level: int) -> bool:
        below = raising.levels[level + 1 :]
        # NotImplementedError says that a way is not there yet, which the one who wrote the call mostly knows.
        if raising.implicit is None and (raising.class_name == "NotImplementedError" or self._hands_over(raising)):
            return False
        if below and _never_returns(below[0].frame):
            return False
        if any(condition.derived for inner in below for condition in inner.conditions):
            return True
        if raising.implicit is None:
            return False
        if not below:
            return True
        guard = raising.levels[-1]
        return raising.implicit != "binding" and any(
            name in guard.frame.derived for name in names_read(header(guard.statement))
        )

    def _hands_over(self, raising: Raising) -> bool:
        """Whether the guard only asks if it was given something to raise about: `if reasons: raise …`.

        Such a helper is called in order to raise, with the message or the list of complaints as its argument.
        """
        test = raising.test
        if test is not None and test[0] == ir.UNARY and test[3] == "not" and self._passes_on(raising):
            test = test[4]
        if test is None or test[0] != ir.NAME or _is_matched(test, raising.levels[-1]):
            return False
        value = raising.variables.get(test[3])
        if isinstance(value, Const) and isinstance(value.value, bool):
            call = raising.levels[-2].node if len(raising.levels) > 1 else None
            written = call is not None and call[0] == ir.CALL and any(_is_bool(argument) for argument in call[4])
            return written and self._passes_on(raising)
        return isinstance(value, (Ref, Text)) or (isinstance(value, Const) and isinstance(value.value, str))

    def _passes_on(self, raising: Raising) -> bool:
        """Whether a guard raises with nothing but what it was handed: `check(False, "no such mode")`."""
        guard = raising.levels[-1]
        statement, function = guard.statement, guard.frame.function
        if statement is None or statement[0] != ir.RAISE or statement[3] is None or function is None:
            return False
        raised = statement[3]
        handed = {parameter.name for parameter in function.unit.parameters}
        return bool(
            raised[0] == ir.CALL and len(raised[4]) == 1 and raised[4][0][0] == ir.NAME and raised[4][0][3] in handed
        )

    # What is said

    def _error(self, raising: Raising, level: int, root: Frame) -> RaisedError:
        call, guard = raising.levels[level], raising.levels[-1]
        message, holes = raising.rendered()
        param = raising.param or self._param(raising, level)
        frames = tuple(
            ErrorFrame(
                inner.frame.module.path,
                inner.frame.module.line_of(inner.at),
                inner.frame.qualname,
            )
            for inner in raising.levels
        )
        when = " and ".join(root.branches) if root.branches else None
        origin = Foreseen(
            place=statement_place(call),
            severity=Severity.ERROR,
            rule=self._rule(raising, guard),
            condition=raising.condition,
            callee=self._callee(raising, level),
            param=param,
            holes=holes,
            when=when,
            message_certain=not any(inner.unsure for inner in raising.levels[level + 1 :]) and not raising.earlier,
            related=self._related(raising, level, param),
        )
        return RaisedError(raising.class_name, message, frames, origin)

    def _callee(self, raising: Raising, level: int) -> str:
        if level + 1 < len(raising.levels):
            function = raising.levels[level + 1].frame.function
            return "" if function is None else function.dotted
        return raising.callee or ""

    def _rule(self, raising: Raising, guard: Level) -> str:
        if raising.rule:
            return raising.rule
        if raising.implicit:
            return slug(f"{raising.callee or ''} {raising.condition or raising.class_name}")
        module, base = guard.frame.module, guard.frame.base
        template = None if guard.statement is None else message_template(module, base, guard.statement)
        if template:
            return slug(template)
        return slug(f"{guard.frame.qualname} {raising.condition or raising.class_name}")

    def _param(self, raising: Raising, level: int) -> str | None:
        """The parameter of the called function that the guard is about."""
        if level + 1 >= len(raising.levels) or raising.test is None:
            return None
        callee, guard = raising.levels[level + 1].frame, raising.levels[-1].frame
        if callee.function is None:
            return None
        names = [parameter.name for parameter in callee.function.unit.parameters]
        read = list(dict.fromkeys(names_read(raising.test)))
        if guard is callee:
            direct = [name for name in read if name in names and name not in {"self", "cls"}]
            if direct:
                return direct[0]
            return self._through_locals(read, callee, names)
        values = [guard.variables.get(name) for name in read]
        for value in values:
            for name in names:
                if value is not None and callee.variables.get(name) is value and isinstance(value, Tensor):
                    return name
        return None

    def _through_locals(self, read: list[str], callee: Frame, names: list[str]) -> str | None:
        from raiselens_server.source.module import flatten

        assert callee.function is not None  # noqa: S101 states what the caller has checked
        for statement in flatten(callee.function.unit.code.block):
            if statement[0] == ir.ASSIGN and any(t[0] == ir.NAME and t[3] in read for t in statement[3]):
                for name in names_read(statement[4]):
                    if name in names:
                        return name
        return None

    def _related(self, raising: Raising, level: int, param: str | None) -> tuple[Related, ...]:
        """Where the value was made that the guard is about, then the calls that led to the statement, innermost first."""
        decided = {
            place: text
            for site, text in self._origins(raising, level, param)
            if (place := self._named_place(site)) is not None and not _within(site, raising.levels[level])
        }
        return (*(Related(place, text) for place, text in decided.items()), *self._callers(raising, level))

    def _callers(self, raising: Raising, level: int) -> Iterator[Related]:
        for index in range(level - 1, -1, -1):
            outer, entered = raising.levels[index], raising.levels[index + 1].frame
            if entered.function is not None and not entered.function.unit.parameters:
                # Nothing came in, so the calls above decided nothing.
                return
            if outer.statement is not raising.levels[level].statement and self.named(outer.frame.module.path):
                yield Related(statement_place(outer), f"called from here, in {outer.frame.qualname}")

    def _origins(self, raising: Raising, level: int, param: str | None) -> Iterator[tuple[Site, str]]:
        values: tuple[Value | None, ...] = raising.operands
        name = ""
        if not values and param is not None and level + 1 < len(raising.levels):
            values = (raising.levels[level + 1].frame.variables.get(param),)
            name = f"`{param}` "
        for value in values:
            if isinstance(value, Tensor):
                site, text = deciding_site(value, raising.condition)
                if site is not None:
                    yield site, f"{name}{text} here"

    def _named_place(self, site: Site) -> Place | None:
        module = self.scopes.module_at(site.file)
        if module is None or not self.named(site.file):
            return None
        return Place(site.file, module.span(site.start, site.end))


def _within(site: Site, level: Level) -> bool:
    """Whether a site lies in the statement that is reported, which is shown anyway."""
    frame, statement = level.frame, level.statement
    if statement is None or site.file != frame.module.path:
        return False
    start: int = frame.base + statement[1]
    end: int = frame.base + statement[2]
    return start <= site.start and site.end <= end


def _is_matched(test: Expr, guard: Level) -> bool:
    """Whether a test is the subject of a `match`, which asks for more than whether there is one."""
    from raiselens_server.source.module import flatten

    function = guard.frame.function
    block = guard.frame.module.block if function is None else function.unit.code.block
    return any(statement[0] == ir.MATCH and statement[3] is test for statement in flatten(block))


def _is_bool(expr: Expr) -> bool:
    return expr[0] == ir.CONST and isinstance(expr[3], bool)


def _never_returns(frame: Frame) -> bool:
    """Whether a function can do nothing but raise: who calls it wants that."""
    if frame.function is None:
        return False
    block = frame.function.unit.code.block
    return ends_in_raise(block) and not any(statement[0] == ir.RETURN for statement in flatten(block))


def deciding_site(value: Tensor, condition: str) -> tuple[Site | None, str]:
    """Where the property that `condition` asks for was decided, and what it was decided to be."""
    if ".device" in condition and value.device is not None:
        shown = value.device.type if value.device.index is None else f"{value.device.type}:{value.device.index}"
        return value.device_site, f"is put on {shown}"
    if "dtype" in condition or "floating_point" in condition:
        name = dtypes.only(value.dtypes)
        return value.dtype_site, f"gets {name}" if name else "gets its dtype"
    if value.shape is not None:
        sizes = ", ".join("?" if size is None else dims.render(size) for size in value.shape)
        return value.shape_site, f"gets shape ({sizes}{',' if len(value.shape) == 1 else ''})"
    return value.shape_site, "gets its shape"


def header(statement: Stmt | None) -> Expr | None:
    """The part of a statement before its blocks."""
    if statement is None:
        return None
    match statement[0]:
        case ir.IF | ir.WHILE:
            return statement[:4]
        case ir.FOR:
            return statement[:5]
        case ir.WITH | ir.MATCH:
            return statement[:4]
        case ir.TRY | ir.FUNCTION | ir.CLASS:
            return statement[:3]
        case _:
            return statement


def statement_place(level: Level) -> Place:
    """The user's statement; of a compound one, its header."""
    module, base, statement = level.frame.module, level.frame.base, level.statement
    if statement is None:
        return Place(module.path, module.span(level.at, level.at))
    start, end = base + statement[1], base + statement[2]
    match statement[0]:
        case ir.IF | ir.WHILE | ir.MATCH:
            end = base + statement[3][2]
        case ir.FOR:
            end = base + statement[4][2]
        case ir.WITH:
            last = statement[3][-1]
            end = base + (last[1] or last[0])[2]
        case _:
            pass
    return Place(module.path, module.span(start, end))
