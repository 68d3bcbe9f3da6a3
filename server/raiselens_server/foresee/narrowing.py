"""What a branch knows: narrowing names by the tests that lead to it, and matching patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raiselens_server.foresee.core import Core
from raiselens_server.source import ir
from raiselens_server.source.bindings import bind_pattern
from raiselens_server.values.lattice import Const, Union, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from raiselens_server.foresee.frames import Frame
    from raiselens_server.source.ir import Expr
    from raiselens_server.values.lattice import Value


class Narrowing(Core):
    """Narrowing by tests and patterns."""

    def refine(self, test: Expr, taken: bool, frame: Frame) -> None:
        """Narrow the names that `test` speaks of, on the branch where it is `taken`."""
        kind = test[0]
        if kind == ir.UNARY and test[3] == "not":
            self.refine(test[4], not taken, frame)
        elif kind == ir.BOOLEAN:
            if (test[3] == "and") is taken:
                for operand in test[4]:
                    self.refine(operand, taken, frame)
        elif kind == ir.NAME:
            self._keep(test[3], lambda value: self.truth(value) is not (not taken), frame)
        elif kind == ir.COMPARE and len(test[4]) == 1 and test[3][0] == ir.NAME:
            op, operand = test[4][0]
            if op in {"is", "is not", "==", "!="} and operand[0] == ir.CONST:
                wanted = (op in {"is", "=="}) is taken
                self._keep_constant(test[3][3], Const(operand[3]), op, frame, wanted=wanted)
        elif kind == ir.CALL and test[3][0] == ir.NAME and test[3][3] == "isinstance" and len(test[4]) == 2:
            subject, cls = test[4]
            if subject[0] == ir.NAME:
                value = self.evaluate(cls, frame)
                self._keep(subject[3], lambda v: self.is_instance(v, value) is not (not taken), frame)

    def locals_of(self, test: Expr, frame: Frame) -> tuple[tuple[str, Value], ...] | None:
        """What the names in a test hold, where it reads nothing but locals, so that asking again gives the same."""
        held: list[tuple[str, Value]] = []
        stack: list[object] = [test]
        while stack:
            node = stack.pop()
            if not isinstance(node, tuple) or not node:
                continue
            if node[0] == ir.NAME and len(node) == 4:
                value = frame.variables.get(node[3])
                if value is None or node[3] in frame.rebound:
                    return None
                held.append((node[3], value))
            elif node[0] in {ir.COMPARE, ir.UNARY, ir.BOOLEAN}:
                stack.extend(node[3:])
            elif node[0] != ir.CONST:
                if isinstance(node[0], int):
                    return None
                stack.extend(node)
        return tuple(held) if held else None

    def already(self, test: Expr, frame: Frame) -> bool | None:
        """What was assumed of a test on the way here, where none of its names was bound again."""
        if not frame.answered:
            return None
        text = self.source(frame, test)
        for each in reversed(frame.answered):
            if each.text == text and all(frame.variables.get(name) is value for name, value in each.values):
                return each.taken
        return None

    def _keep(self, name: str, admits: Callable[[Value], bool], frame: Frame) -> None:
        value = frame.variables.get(name)
        if isinstance(value, Union):
            options = [option for option in value.options if admits(option)]
            if options:
                frame.variables[name] = options[0] if len(options) == 1 else Union(tuple(options))

    def _keep_constant(self, name: str, constant: Const, op: str, frame: Frame, *, wanted: bool) -> None:
        question = self.identical if op.startswith("is") else self.equal
        value = frame.variables.get(name)
        if wanted and op.startswith("is") and isinstance(value, (Unknown, Union)):
            frame.variables[name] = constant
            return
        self._keep(name, lambda option: question(option, constant) is not (not wanted), frame)

    def matches(self, pattern: Expr, subject: Value, frame: Frame) -> bool | None:
        """Whether `case pattern` must match; binds its names."""
        match pattern[0]:
            case ir.P_CAPTURE:
                if pattern[3] is not None:
                    frame.variables[pattern[3]] = subject
                return True
            case ir.P_VALUE:
                return self.equal(subject, self.evaluate(pattern[3], frame))
            case ir.P_SINGLETON:
                return self.identical(subject, Const(pattern[3]))
            case ir.P_AS:
                answer = self.matches(pattern[3], subject, frame)
                frame.variables[pattern[4]] = subject
                return answer
            case ir.P_OR:
                answers = [self.matches(inner, subject, frame) for inner in pattern[3]]
                if True in answers:
                    return True
                return False if all(answer is False for answer in answers) else None
            case ir.P_CLASS if not pattern[4] and not pattern[5]:
                return self.is_instance(subject, self.evaluate(pattern[3], frame))
            case _:
                bound: set[str] = set()
                bind_pattern(pattern, bound)
                frame.variables.update(dict.fromkeys(bound, Unknown("pattern")))
                return None
