"""Exception classes: the builtin hierarchy, and which handler catches what."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from raiselens_server.foresee.objects import Class

BUILTIN: Final[dict[str, tuple[str, ...]]] = {
    name: tuple(base.__name__ for base in cls.__mro__ if issubclass(base, BaseException))
    for name, cls in vars(builtins).items()
    if isinstance(cls, type) and issubclass(cls, BaseException)
}
"""Builtin exception → its bases among exceptions, itself first. Newer classes than this Python's are absent."""

NAMED: Final[dict[str, tuple[str, ...]]] = {
    "torch.OutOfMemoryError": ("torch.OutOfMemoryError", "RuntimeError", "Exception", "BaseException"),
    "torch.cuda.OutOfMemoryError": ("torch.OutOfMemoryError", "RuntimeError", "Exception", "BaseException"),
    "torch.AcceleratorError": ("torch.AcceleratorError", "RuntimeError", "Exception", "BaseException"),
    "torch.linalg.LinAlgError": ("torch.linalg.LinAlgError", "RuntimeError", "Exception", "BaseException"),
}

NEVER_REPORTED: Final = frozenset(
    {
        "SystemExit",
        "KeyboardInterrupt",
        "StopIteration",
        "StopAsyncIteration",
        "GeneratorExit",
        "SkipTest",
        "Skipped",
        "Failed",
        "Exit",
        "XFailed",
        "CancelledError",
    }
)
"""Ways to leave on purpose: process, loop, generator and test outcomes. Compared by the last dotted part."""

ALIASES: Final = {"IOError": "OSError", "EnvironmentError": "OSError"}


def bases(cls: Class | str, order: Iterable[Class | str]) -> tuple[Class | str, ...]:
    """A class and all its bases, builtin ones expanded; `order` is the MRO of a followed class."""
    if isinstance(cls, str):
        name = ALIASES.get(cls, cls)
        return BUILTIN.get(name) or NAMED.get(name) or (name,)
    found: list[Class | str] = []
    for base in order:
        found.extend(bases(base, ()) if isinstance(base, str) else (base,))
    return tuple(dict.fromkeys(found))


def is_exception(chain: Iterable[Class | str]) -> bool:
    """Whether a chain of bases ends in BaseException."""
    return "BaseException" in chain


def reported(chain: tuple[Class | str, ...]) -> bool:
    """Whether a raise of this class is a fault, and not a way to leave on purpose."""
    for cls in chain:
        name = cls if isinstance(cls, str) else cls.unit.name
        if name.rsplit(".", 1)[-1] in NEVER_REPORTED:
            return False
    return True
