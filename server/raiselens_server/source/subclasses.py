"""Which classes derive from which, by the text of all files of a folder: no file is parsed for it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_FILES: Final = 12_000
_HEAD: Final = re.compile(rb"\bclass[ \t]+(\w+)[ \t]*\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
_ALIAS: Final = re.compile(rb" as ([A-Z]\w*)")
_LAST_WORD: Final = re.compile(rb"\w+$")
_LEFT_OUT: Final = frozenset({"__pycache__", "node_modules", "site-packages", "dist-packages"})


@dataclass(frozen=True, slots=True)
class Heads:
    """What one file says: classes with the last names of their bases, and names given to others on import."""

    classes: tuple[tuple[str, tuple[str, ...]], ...]
    aliases: tuple[tuple[str, str], ...]


class Subclasses:
    """Classes by the names of their bases. `read` gives the content of a file, None where it cannot be read."""

    def __init__(self, read: Callable[[str], bytes | None]) -> None:
        self._read = read
        self._files: dict[tuple[str, bool], tuple[str, ...] | None] = {}
        self._heads: dict[str, Heads] = {}
        self._children: dict[tuple[str, bool], dict[str, list[tuple[str, str]]]] = {}
        self._holding: dict[re.Pattern[bytes], dict[str, bool]] = {}
        self._stale: set[str] = set()

    def forget(self, path: str | None = None) -> None:
        """Read one file anew, or all of them."""
        if path is not None:
            self._stale.add(path)
            return
        for kept in (self._files, self._heads, self._children, self._holding, self._stale):
            kept.clear()

    def derived(self, folder: str, name: str, *, deep: bool) -> list[tuple[str, str]] | None:
        """File and name of every class that may derive from one called `name`; None where there are too many files.

        `deep`: also below the folder's own files.
        """
        files = self.files(folder, deep=deep)
        if files is None:
            return None
        self._refresh()
        key = (folder, deep)
        if key not in self._children:
            self._children[key] = self._by_base(files)
        children = self._children[key]
        found: dict[tuple[str, str], None] = {}
        waiting, seen = [name], {name}
        while waiting:
            for path, cls in children.get(waiting.pop(), ()):
                if path:
                    found[path, cls] = None
                if cls not in seen:
                    seen.add(cls)
                    waiting.append(cls)
        return list(found)

    def files(self, folder: str, *, deep: bool) -> tuple[str, ...] | None:
        """The Python files of a folder, None where there are too many."""
        key = (folder, deep)
        if key not in self._files:
            self._files[key] = _python_files(folder, deep=deep)
        return self._files[key]

    def holding(self, files: tuple[str, ...], pattern: re.Pattern[bytes]) -> list[str]:
        """Those of the files that hold a pattern."""
        self._refresh()
        known = self._holding.setdefault(pattern, {})
        for path in files:
            if path not in known:
                known[path] = pattern.search(self._read(path) or b"") is not None
        return [path for path in files if known[path]]

    def _by_base(self, files: tuple[str, ...]) -> dict[str, list[tuple[str, str]]]:
        """Base → file and name of what derives from it; an empty file: only another name for it."""
        children: dict[str, list[tuple[str, str]]] = {}
        for path in files:
            if path not in self._heads:
                self._heads[path] = _heads(self._read(path) or b"")
            for cls, bases in self._heads[path].classes:
                for base in bases:
                    children.setdefault(base, []).append((path, cls))
            for original, alias in self._heads[path].aliases:
                children.setdefault(original, []).append(("", alias))
        return children

    def _refresh(self) -> None:
        """Look anew at the files that have changed: while a function is being typed, classes mostly stay."""
        for path in self._stale:
            for known in self._holding.values():
                known.pop(path, None)
            old = self._heads.pop(path, None)
            if old is not None:
                self._heads[path] = _heads(self._read(path) or b"")
                if self._heads[path] != old:
                    self._children.clear()
        self._stale.clear()


def _heads(text: bytes) -> Heads:
    classes: list[tuple[str, tuple[str, ...]]] = []
    for match in _HEAD.finditer(text):
        bases = []
        for part in match[2].split(b","):
            if b"=" in part:
                continue
            name = _LAST_WORD.search(part.split(b"[")[0].strip())
            if name is not None:
                bases.append(name[0].decode("utf-8", "replace"))
        classes.append((match[1].decode("utf-8", "replace"), tuple(bases)))
    aliases: list[tuple[str, str]] = []
    for match in _ALIAS.finditer(text):
        before = _LAST_WORD.search(text, max(0, match.start() - 120), match.start())
        if before is not None:
            aliases.append((before[0].decode("utf-8", "replace"), match[1].decode("utf-8", "replace")))
    return Heads(tuple(classes), tuple(aliases))


def _python_files(folder: str, *, deep: bool) -> tuple[str, ...] | None:
    found: list[str] = []
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if deep
            and name[:1] != "."
            and name not in _LEFT_OUT
            and not os.path.isfile(os.path.join(path, name, "pyvenv.cfg"))
        )
        found.extend(os.path.join(path, name) for name in sorted(files) if name.endswith(".py"))
        if len(found) > MAX_FILES:
            return None
    return tuple(found)
