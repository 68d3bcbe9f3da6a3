"""From a dotted name to the installed object it names."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Found:
    """The object, the module it was found in, the rest of its name, and a note where the import was not a plain one."""

    value: Any
    module: str
    qualname: str
    note: str | None = None


@dataclass(frozen=True, slots=True)
class NotFound:
    """Why nothing stands under the name, in one line."""

    reason: str


def resolve(dotted: str) -> Found | NotFound:
    """Import the longest importable front of `dotted`, and take the rest as attributes.

    Where a package's own `__init__` fails (an optional dependency is missing), the module is loaded without it: a
    guard needs nothing of it, and the note says so.
    """
    if "<locals>" in dotted:
        return NotFound(f"{dotted} is made inside a function, and has no name to call it by")
    parts = dotted.split(".")
    found, failure = _imported(parts)
    if found is not None:
        return found
    bare, _ = _imported(parts, without_init=True)
    if bare is not None:
        note = f"{parts[0]} does not import here ({failure}); {bare.module} was loaded without its packages' __init__"
        return Found(bare.value, bare.module, bare.qualname, note)
    return NotFound(failure or f"no module named {parts[0]!r}")


def _imported(parts: list[str], *, without_init: bool = False) -> tuple[Found | None, str]:
    failure = ""
    for length in range(len(parts) - 1, 0, -1):
        name = ".".join(parts[:length])
        if without_init and not _lay_out_packages(parts[:length]):
            continue
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not name.startswith(error.name):
                failure = failure or _one_line(error)
            continue
        except Exception as error:  # noqa: BLE001 -- a library may raise anything while it is imported
            failure = failure or _one_line(error)
            continue
        value: Any = module
        try:
            for attribute in parts[length:]:
                value = getattr(value, attribute)
        except AttributeError as error:
            failure = failure or _one_line(error)
            continue
        return Found(value, name, ".".join(parts[length:])), ""
    return None, failure


def _lay_out_packages(parts: list[str]) -> bool:
    """Put empty packages in `sys.modules` for all but the last of `parts`; false where their folders are not found."""
    if len(parts) < 2:
        return False
    for name in [name for name in sys.modules if name.partition(".")[0] == parts[0]]:
        del sys.modules[name]
    try:
        spec = importlib.util.find_spec(parts[0])
    except (ImportError, ValueError):
        return False
    if spec is None or not spec.submodule_search_locations:
        return False
    folder = Path(next(iter(spec.submodule_search_locations)))
    for length in range(1, len(parts)):
        if not folder.is_dir():
            return False
        package = types.ModuleType(".".join(parts[:length]))
        package.__path__ = [str(folder)]
        sys.modules[package.__name__] = package
        folder /= parts[length]
    return True


def _one_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
