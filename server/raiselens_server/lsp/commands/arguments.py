"""Reading the argument object of a command: what is missing or of the wrong kind is one clear line."""

from __future__ import annotations

from typing import Any, TypeVar

from pygls.exceptions import JsonRpcInvalidParams

Value = TypeVar("Value")


def required(argument: dict[str, Any], key: str, kind: type[Value], command: str) -> Value:
    """A key that must be there."""
    value = optional(argument, key, kind, command)
    if value is None:
        raise JsonRpcInvalidParams(f"{command}: {key!r} is missing")
    return value


def optional(argument: dict[str, Any], key: str, kind: type[Value], command: str) -> Value | None:
    """A key that may be there."""
    value = argument.get(key)
    if value is None:
        return None
    if not isinstance(value, kind):
        raise JsonRpcInvalidParams(f"{command}: {key!r} must be of type {kind.__name__}")
    return value
