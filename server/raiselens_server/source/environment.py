"""Where imports are looked for, found from files alone: no interpreter is started to learn it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Environment:
    """The folders that imports are resolved in, in order, and the version of Python that runs the code.

    `search_path` are `sys.path`-like folders: extra paths first, then site-packages. The folder of the checked file's
    topmost package and the file's own folder come before them, for each file anew. `stubs` are folders of guard
    stubs, used for modules found nowhere else.
    """

    search_path: tuple[str, ...] = ()
    stubs: tuple[str, ...] = ()
    python_version: tuple[int, int] = (3, 11)
