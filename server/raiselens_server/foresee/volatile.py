"""Classes whose instances change when Python calls their special methods: by `len(x)`, `x == y`, `for … in x`, `x.a`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from raiselens_server.foresee.objects import Class
from raiselens_server.source import ir
from raiselens_server.source.bindings import bound_by, calls_in
from raiselens_server.source.module import flatten

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from raiselens_server.source.ir import Expr
    from raiselens_server.source.units import FunctionUnit

_FOLLOWED: Final = frozenset(
    {
        "__init__",
        "__new__",
        "__post_init__",
        "__init_subclass__",
        "__class_getitem__",
        "__set_name__",
        "__call__",
        "__enter__",
        "__exit__",
        "__aenter__",
        "__aexit__",
        "__del__",
        "__getstate__",
        "__setstate__",
        "__reduce__",
        "__reduce_ex__",
        "__copy__",
        "__deepcopy__",
        "__dir__",
    }
)
"""Special methods that are run, or heeded, where they are called."""
_REWRITING: Final = frozenset({"__setattr__", "__getattribute__"})
"""Special methods that decide what every attribute of the instance is."""
_CHANGING: Final = frozenset(
    {"add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "setdefault", "update"}
)


def is_volatile(cls: Class, order: Iterable[Class | str]) -> bool:
    """Whether instances of a class of this MRO change behind the reader's back."""
    if cls.volatile is None:
        cls.volatile = any(_is_special(unit) for base in order if isinstance(base, Class) for unit in _methods(base))
    return cls.volatile


def answers_reads(cls: Class, order: Iterable[Class | str]) -> bool:
    """Whether a class of this MRO decides itself what reading an attribute of an instance gives."""
    if cls.answers is None:
        methods = (unit for base in order if isinstance(base, Class) for unit in _methods(base))
        cls.answers = any(unit.name == "__getattribute__" and not _passes_on(unit) for unit in methods)
    return cls.answers


def _methods(cls: Class) -> Iterator[FunctionUnit]:
    for statement in flatten(cls.unit.block):
        if statement[0] == ir.FUNCTION:
            yield statement[3]


def _is_special(unit: FunctionUnit) -> bool:
    name = unit.name
    if not (name.startswith("__") and name.endswith("__")) or name in _FOLLOWED:
        return False
    if name in _REWRITING:
        return not _passes_on(unit)
    return _changes(unit)


def _passes_on(unit: FunctionUnit) -> bool:
    """Whether a body hands what it was given to the method that it overrides, whatever else it does."""
    given = [parameter.name for parameter in unit.parameters[1:]]
    for statement in unit.body.block:
        if any(name in bound_by(inner) for inner in flatten((statement,)) for name in given):
            return False
        if statement[0] in {ir.EXPRESSION, ir.RETURN} and statement[3] is not None and statement[3][0] == ir.CALL:
            function, positional = statement[3][3], statement[3][4]
            handed = [argument[3] for argument in positional[-len(given) :] if argument[0] == ir.NAME]
            if function[0] == ir.ATTRIBUTE and function[4] == unit.name and handed == given:
                return True
        if any(inner[0] == ir.RETURN for inner in flatten((statement,))):
            return False
    return False


def _changes(unit: FunctionUnit) -> bool:
    """Whether a body stores to something that outlives it, or calls a method that may."""
    for statement in flatten(unit.body.block):
        match statement[0]:
            case ir.ASSIGN:
                if any(target[0] in {ir.ATTRIBUTE, ir.SUBSCRIPT} for target in statement[3]):
                    return True
            case ir.AUGMENTED | ir.ANNOTATED:
                if statement[3][0] in {ir.ATTRIBUTE, ir.SUBSCRIPT}:
                    return True
            case ir.DELETE:
                return True
            case _:
                pass
    return any(_changing(part) for part in calls_in(unit.body.block))


def _changing(call: Expr) -> bool:
    function = call[3]
    if function[0] != ir.ATTRIBUTE:
        return False
    of_itself = function[3][0] == ir.NAME and function[3][3] == "self"
    return of_itself or function[4] in _CHANGING or function[4] == "__setattr__"
