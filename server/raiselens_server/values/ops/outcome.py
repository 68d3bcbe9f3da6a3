"""What an operation comes to: a value, a certain raise, or nothing known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from raiselens_server.values.lattice import Device, HolePart, Value


@dataclass(frozen=True, slots=True)
class Ambient:
    """The defaults that code runs under.

    `default_dtypes`: what `torch.get_default_dtype()` may be. `default_device`: None where it is unknown.
    `overridden`: something decides over what operations do, autocast or a function mode; no rule holds then.
    """

    default_dtypes: frozenset[str]
    default_device: Device | None
    overridden: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """The operation's value. `may_raise`: one of its own guards was not decided by what is known."""

    value: Value
    may_raise: bool = False


@dataclass(frozen=True, slots=True)
class Raise:
    """The operation raises, whatever the unknown parts are.

    `class_name` and `message` as torch prints them. `param`: torch's name of the argument at fault, where there is
    one. `condition`: the rule that was broken, in words of torch's source. `earlier`: a check that torch makes before
    was not decided, so that it may raise in this one's place, with another class and message.
    """

    class_name: str
    message: tuple[str | HolePart, ...]
    param: str | None
    condition: str
    earlier: bool = False


@dataclass(frozen=True, slots=True)
class NoRule:
    """No rule covers the operation or these arguments: its value is unknown, and it may raise."""


NO_RULE: Final = NoRule()

Outcome: TypeAlias = Result | Raise | NoRule
