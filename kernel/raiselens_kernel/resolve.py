"""Import what a program imports, also where a package's own `__init__` fails.

An optional dependency that is missing here must not hide a guard: where importing fails in the `__init__` of some package,
that package and those in it are loaded as bare folders, and the note says so.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

_MOST_PACKAGES = 5


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
    """Import the longest importable front of `dotted`, and take the rest as attributes."""
    if "<locals>" in dotted:
        return NotFound(f"{dotted} is made inside a function, and has no name to call it by")
    parts = dotted.split(".")
    result, note = _helped(lambda: _imported(parts))
    if isinstance(result, Exception):
        return NotFound(_one_line(result))
    value, module, qualname = result
    return Found(value, module, qualname, note)


def import_into(namespace: dict[str, Any], statement: str) -> str | NotFound | None:
    """Run an import statement; a note where it was not a plain one, `NotFound` where it fails for all that."""
    result, note = _helped(lambda: exec(statement, namespace))  # noqa: S102 -- it is what was asked for
    return NotFound(_one_line(result)) if isinstance(result, Exception) else note


def _helped(action: Callable[[], Any]) -> tuple[Any, str | None]:
    """The result of an import or the error it ends with, packages whose `__init__` fails laid bare one after another."""
    note: str | None = None
    while True:
        try:
            return action(), note
        except Exception as error:  # noqa: BLE001 -- a library may raise anything while it is imported
            package = _failing_package(error)
            if package is None or len(_BARE.packages) >= _MOST_PACKAGES:
                return error, note
            _BARE.add(package)
            how = "its packages were loaded without their __init__"
            note = note or f"{package} does not import here ({_one_line(error)}); {how}"


def _imported(parts: list[str]) -> tuple[Any, str, str]:
    missing: Exception | None = None
    for length in range(len(parts) - 1, 0, -1):
        name = ".".join(parts[:length])
        try:
            value: Any = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not (name == error.name or name.startswith(f"{error.name}.")):
                raise
            missing = missing or error
            continue
        for attribute in parts[length:]:
            value = getattr(value, attribute)
        return value, name, ".".join(parts[length:])
    raise missing or ModuleNotFoundError(f"no module named {parts[0]!r}")


def _failing_package(error: BaseException) -> str | None:
    """The top-level package in whose `__init__`, or in that of a package in it, an import failed: the outermost."""
    trace = error.__traceback__
    while trace is not None:
        code, name = trace.tb_frame.f_code, str(trace.tb_frame.f_globals.get("__name__", ""))
        top = name.partition(".")[0]
        if code.co_name == "<module>" and code.co_filename.endswith("__init__.py") and top not in _BARE.packages:
            return top
        trace = trace.tb_next
    return None


class _BarePackages(MetaPathFinder):
    """Finds the packages it was told of as folders: nothing of their `__init__` is run."""

    def __init__(self) -> None:
        self.packages: set[str] = set()

    def add(self, package: str) -> None:
        self.packages.add(package)
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)
        for name in [name for name in sys.modules if name.partition(".")[0] == package]:
            del sys.modules[name]
        importlib.invalidate_caches()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in self.packages:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.submodule_search_locations is None:
            return spec
        bare = ModuleSpec(fullname, None, is_package=True)
        bare.submodule_search_locations = list(spec.submodule_search_locations)
        return bare


_BARE = _BarePackages()


def _one_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
