"""Import names → files, without importing anything.

A name is looked for in the roots of the importing file, then in the environment's search path, then among the guard
stubs. Answers are cached: a `Resolver` sees the disk as it was when it first looked, until `forget`.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from raiselens_server.source.environment import Environment

MAX_GAP: Final = 6
"""Folders without `__init__.py` that may stand between a package and one inside it."""


def package_root(path: str, stops: Collection[str] = ()) -> tuple[str, str]:
    """The folder that holds the topmost package of a file, and the file's dotted name from there.

    A package may hold folders that are none themselves, and packages in these again: the topmost counts. `stops` are
    folders that are searched for imports: a package reaches over none of them.
    """
    folder, base = os.path.split(os.path.abspath(path))
    stem = base[:-3] if base.endswith(".py") else base.removesuffix(".pyi")
    top, parts = folder, [] if stem == "__init__" else [stem]
    known = len(parts)
    while len(parts) - known <= MAX_GAP:
        inside = os.path.isfile(os.path.join(folder, "__init__.py"))
        if folder in stops and not inside:
            break
        folder, name = os.path.split(folder)
        if not name.isidentifier():
            break
        parts.append(name)
        if inside:
            top, known = folder, len(parts)
    return top, ".".join(reversed(parts[:known])) or stem


class Resolver:
    """Finds modules for the files of one project."""

    def __init__(self, environment: Environment, roots: Iterable[str] = ()) -> None:
        self._environment = environment
        self._roots = tuple(roots)
        self._found: dict[tuple[str, str], str | None] = {}
        self._roots_of: dict[str, tuple[str, ...]] = {}
        self._libraries: dict[str, str | None] = {}

    def forget(self) -> None:
        """Look at the disk anew."""
        self._found.clear()
        self._roots_of.clear()

    def search_roots(self, path: str) -> tuple[str, ...]:
        """The folders that a file's absolute imports are looked for in, in order."""
        folder = os.path.dirname(os.path.abspath(path))
        cached = self._roots_of.get(folder)
        if cached is None:
            top = self.package_of(path)[0]
            environment = self._environment
            candidates = (top, folder, *self._roots, *environment.search_path, *environment.stubs)
            cached = tuple(dict.fromkeys(candidates))
            self._roots_of[folder] = cached
        return cached

    def package_of(self, path: str) -> tuple[str, str]:
        """`package_root` among the folders that this project searches."""
        searched = {*self._environment.search_path, *self._environment.stubs}
        return package_root(path, searched - {*self._roots})

    def root_of(self, path: str) -> str | None:
        """The folder that the user named and that holds a file, the innermost one."""
        holding = [root for root in self._roots if os.path.abspath(path).startswith(root + os.sep)]
        return max(holding, key=len, default=None)

    def library_of(self, path: str) -> str | None:
        """The search path entry that a file lies under, None for a file of the user's own."""
        folder = os.path.dirname(path)
        if folder not in self._libraries:
            self._libraries[folder] = next(
                (root for root in self._environment.search_path if folder == root or folder.startswith(root + os.sep)),
                None,
            )
        return self._libraries[folder]

    def find(self, dotted: str, roots: tuple[str, ...]) -> str | None:
        """The file of a module or package, None where it is not found (or is a namespace or extension module)."""
        relative = dotted.replace(".", os.sep)
        standard = dotted.split(".", 1)[0] in sys.stdlib_module_names
        for root in roots:
            if standard and (self._in_root(root, "__init__") is not None or self._is_standard(root)):
                # A module of a package goes by the package's name, whatever folder was named. The standard library is
                # known by its names: of its own sources, which a check of its folder would find, little is understood.
                continue
            path = self._in_root(root, relative)
            if path is not None:
                return path
        return None

    def _in_root(self, root: str, relative: str) -> str | None:
        key = (root, relative)
        if key in self._found:
            return self._found[key]
        answer: str | None = None
        head = relative.rpartition(os.sep)[0]
        # Looking at parents first saves most look-ups: few roots hold the topmost package.
        if not head or self._is_folder(root, head):
            base = os.path.join(root, relative)
            for candidate in (os.path.join(base, "__init__.py"), base + ".py"):
                if os.path.isfile(candidate):
                    answer = candidate
                    break
        self._found[key] = answer
        return answer

    def _is_standard(self, root: str) -> bool:
        """Whether a folder is a Python's own library."""
        return all(self._in_root(root, name) is not None for name in ("os", "abc", "types"))

    def _is_folder(self, root: str, relative: str) -> bool:
        key = (root, relative + os.sep)
        if key not in self._found:
            folder = os.path.join(root, relative)
            self._found[key] = folder if os.path.isdir(folder) else None
        return self._found[key] is not None

    def is_package_folder(self, dotted: str, roots: tuple[str, ...]) -> bool:
        """Whether `dotted` is a folder in some root: a namespace package, where it is no package."""
        relative = dotted.replace(".", os.sep)
        return any(self._is_folder(root, relative) for root in roots)
