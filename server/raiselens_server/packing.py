"""Findings as plain tuples and back, for what is kept on disk: nothing but the values of `error.py` can come of them."""

from __future__ import annotations

import enum
from dataclasses import fields, is_dataclass
from typing import Any, Final

from raiselens_server import error

_VALUE, _ENUM, _TUPLE = range(3)
_CLASSES: Final[dict[str, Any]] = {
    name: cls
    for name, cls in vars(error).items()
    if isinstance(cls, type) and cls.__module__ == error.__name__ and (is_dataclass(cls) or issubclass(cls, enum.Enum))
}


def pack(value: Any) -> Any:
    """A value of `error.py`, or a tuple of such, as tuples, texts and numbers that `marshal` writes."""
    if isinstance(value, tuple):
        return (_TUPLE, *map(pack, value))
    if isinstance(value, enum.Enum):
        return (_ENUM, type(value).__name__, value.value)
    if is_dataclass(value):
        return (_VALUE, type(value).__name__, *(pack(getattr(value, each.name)) for each in fields(value)))
    return value


def unpack(packed: Any) -> Any:
    """What `pack` was given. Raises KeyError, TypeError or ValueError for anything else."""
    match packed:
        case (0, str() as name, *parts):
            return _CLASSES[name](*map(unpack, parts))
        case (1, str() as name, value):
            return _CLASSES[name](value)
        case (2, *parts):
            return tuple(map(unpack, parts))
        case tuple():
            message = f"no packed value: {packed!r}"
            raise ValueError(message)
        case _:
            return packed
