"""Argument binding as CPython does it, with its messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from raiselens_server.foresee.suggestions import suggestion
from raiselens_server.source import units
from raiselens_server.values.lattice import Seq, Value

if TYPE_CHECKING:
    from raiselens_server.source.units import FunctionUnit, Parameter

Keywords = list[tuple[str, Value]]
_POSITIONAL: Final = frozenset({units.POSITIONAL_ONLY, units.POSITIONAL_OR_KEYWORD})


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a call passes. `open_positional`/`open_keywords`: a `*` or `**` of unknown contents is among it."""

    positional: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...]
    open_positional: bool = False
    open_keywords: bool = False

    @property
    def values(self) -> tuple[Value, ...]:
        """All that is passed, the keywords' values last."""
        return (*self.positional, *(value for _, value in self.keywords))


@dataclass(frozen=True, slots=True)
class Bindings:
    """Parameter → value; parameters that take their default, or that a star may fill, are absent.

    `unsure` are those that a star of unknown contents may fill. `rest` is what `**name` gathers.
    """

    values: dict[str, Value]
    unsure: frozenset[str]
    rest: tuple[str, tuple[tuple[str, Value], ...] | None] | None


@dataclass(frozen=True, slots=True)
class BindingFailure:
    """The TypeError that the call raises. `rule` is the rule id of this kind, `param` the name it is about."""

    message: str
    rule: str
    param: str | None


def with_receiver(receiver: Value, arguments: Arguments) -> Arguments:
    """The arguments of a method, its receiver first."""
    return Arguments(
        (receiver, *arguments.positional), arguments.keywords, arguments.open_positional, arguments.open_keywords
    )


def quoted(names: list[str]) -> str:
    """Names as CPython lists them: `'a'`, `'a' and 'b'`, `'a', 'b', and 'c'`."""
    shown = [f"'{name}'" for name in names]
    if len(shown) == 1:
        return shown[0]
    if len(shown) == 2:
        return " and ".join(shown)
    return ", ".join(shown[:-1]) + f", and {shown[-1]}"


def bind(unit: FunctionUnit, arguments: Arguments, version: tuple[int, int] = (3, 11)) -> Bindings | BindingFailure:
    """Bind arguments to the parameters of `unit`; checks come in CPython's order, in the words of its `version`."""
    positional: list[Parameter] = []
    keyword_only: list[Parameter] = []
    star: Parameter | None = None
    double: Parameter | None = None
    for parameter in unit.parameters:
        if parameter.kind in _POSITIONAL:
            positional.append(parameter)
        elif parameter.kind == units.KEYWORD_ONLY:
            keyword_only.append(parameter)
        elif parameter.kind == units.VAR_POSITIONAL:
            star = parameter
        else:
            double = parameter
    values: dict[str, Value] = {}
    for parameter, value in zip(positional, arguments.positional, strict=False):
        values[parameter.name] = value
    named = {p.name: p for p in (*positional, *keyword_only) if p.kind != units.POSITIONAL_ONLY}
    rest: list[tuple[str, Value]] = []
    failure = _keywords(unit, arguments, named, values, rest, takes_any=double is not None, version=version)
    if failure is not None:
        return failure
    extra = arguments.positional[len(positional) :]
    if extra and star is None:
        # How many a star of unknown contents adds to them is part of the message.
        if arguments.open_positional:
            return Bindings(values, frozenset(p.name for p in (*positional, *keyword_only)), None)
        return _too_many(unit, positional, keyword_only, arguments, values)
    missing = [p.name for p in positional if p.name not in values and p.default is None]
    unsure: set[str] = set()
    if arguments.open_positional or arguments.open_keywords:
        unsure = {p.name for p in (*positional, *keyword_only) if p.name not in values}
    elif missing:
        return _missing(unit, missing, "positional")
    lacking = [p.name for p in keyword_only if p.name not in values and p.default is None]
    if lacking and not arguments.open_keywords:
        return _missing(unit, lacking, "keyword-only")
    if star is not None and not arguments.open_positional:
        values[star.name] = Seq(extra)
    gathered: tuple[tuple[str, Value], ...] | None = None if arguments.open_keywords else tuple(rest)
    return Bindings(values, frozenset(unsure), None if double is None else (double.name, gathered))


def _keywords(
    unit: FunctionUnit,
    arguments: Arguments,
    named: dict[str, Parameter],
    values: dict[str, Value],
    rest: list[tuple[str, Value]],
    *,
    takes_any: bool,
    version: tuple[int, int],
) -> BindingFailure | None:
    for name, value in arguments.keywords:
        if name in named:
            if name in values:
                return BindingFailure(
                    f"{unit.qualname}() got multiple values for argument '{name}'", "call-repeated-argument", name
                )
            values[name] = value
        elif takes_any:
            rest.append((name, value))
        else:
            only = [p.name for p in unit.parameters if p.kind == units.POSITIONAL_ONLY]
            passed = [key for key, _ in arguments.keywords if key in only]
            if passed:
                listed = ", ".join(passed)
                return BindingFailure(
                    f"{unit.qualname}() got some positional-only arguments passed as keyword arguments: '{listed}'",
                    "call-unexpected-argument",
                    name,
                )
            meant = suggestion(name, [*named]) if version >= (3, 13) else None
            asked = f". Did you mean '{meant}'?" if meant is not None else ""
            return BindingFailure(
                f"{unit.qualname}() got an unexpected keyword argument '{name}'{asked}",
                "call-unexpected-argument",
                name,
            )
    return None


def _too_many(
    unit: FunctionUnit,
    positional: list[Parameter],
    keyword_only: list[Parameter],
    arguments: Arguments,
    values: dict[str, Value],
) -> BindingFailure:
    count, given = len(positional), len(arguments.positional)
    defaults = sum(p.default is not None for p in positional)
    takes = f"from {count - defaults} to {count}" if defaults else str(count)
    plural = "" if (count == 1 and not defaults) else "s"
    kw_given = sum(p.name in values for p in keyword_only)
    if kw_given:
        were = (
            f"{given} positional argument{'s' if given != 1 else ''} "
            f"(and {kw_given} keyword-only argument{'s' if kw_given != 1 else ''}) were"
        )
    else:
        were = f"{given} {'was' if given == 1 else 'were'}"
    message = f"{unit.qualname}() takes {takes} positional argument{plural} but {were} given"
    return BindingFailure(message, "call-too-many-arguments", None)


def _missing(unit: FunctionUnit, names: list[str], kind: str) -> BindingFailure:
    plural = "" if len(names) == 1 else "s"
    message = f"{unit.qualname}() missing {len(names)} required {kind} argument{plural}: {quoted(names)}"
    return BindingFailure(message, "call-missing-argument", names[0])
