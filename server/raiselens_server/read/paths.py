r"""From a frame's file, as another machine printed it, to a file here.

`/srv/env/lib/python3.12/site-packages/sglang/srt/x.py`, `C:\AI\ComfyUI\execution.py`, `/workspace/vit/train.py` in a
container: what stays the same is the end of the path. Explicit maps (`FROM=TO`) come first, then the file itself,
then the part behind `site-packages`, then the longest end of the path that exists under a root. Pure: what exists is
asked of a predicate.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_DRIVE = re.compile(r"[A-Za-z]:[\\/]|\\\\")
_PACKAGES = ("/site-packages/", "/dist-packages/")

_STANDARD = re.compile(
    r"(?:^|/)(?:lib(?:64)?/)?(?:python|pypy)3?\.\d{1,2}t?/|[Pp]ython\d{2,3}/[Ll]ib/|^/usr/bin/|/bin/[\w.-]{1,80}$"
)

# A file name alone says little: `utils.py` is in every package. With a folder before it, it may be looked for.
_FEWEST_PARTS = 2
_MOST_PARTS = 40


@dataclass(frozen=True, slots=True)
class PathMap:
    """Files under `source`, as logs name them, lie under `target` here."""

    source: str
    target: str


def parse_map(text: str) -> PathMap | None:
    """`FROM=TO`; None where the text is not of that form."""
    source, equals, target = text.partition("=")
    if not equals or not source.strip() or not target.strip():
        return None
    return PathMap(_normal(source.strip()).rstrip("/") or "/", target.strip().rstrip("/\\") or "/")


@dataclass(frozen=True, slots=True)
class Places:
    """Where files may be: maps, the roots of the workspace, the folders on the search path, the user's home."""

    maps: tuple[PathMap, ...] = ()
    roots: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    home: str = ""


def is_file_name(file: str) -> bool:
    """Whether the name is a file's at all: `<string>`, `<frozen runpy>` and notebook cells are none."""
    return bool(file) and file[0] != "<" and not file.startswith(("Cell In", "Input In", "In ["))


def locate(file: str, places: Places, exists: Callable[[str], bool]) -> str | None:
    """The local file of a frame, None where there is none. At most 100 or so paths are asked for."""
    if not is_file_name(file):
        return None
    path = _normal(file)
    if path.startswith("~/") and places.home:
        path = _under(places.home, path[2:])
    for rule in places.maps:
        if path == rule.source or path.startswith(rule.source.rstrip("/") + "/"):
            mapped = _under(rule.target, path[len(rule.source.rstrip("/")) + 1 :])
            if exists(mapped):
                return mapped
    for candidate in _candidates(path, places):
        if exists(candidate):
            return candidate
    return None


def by_name(file: str, root: str) -> str | None:
    """The file of the same name directly under `root`: too little to go by unless its content agrees."""
    name = _normal(file).rpartition("/")[2]
    return _under(_normal(root), name) if is_file_name(file) and name else None


def is_library(file: str) -> bool:
    """Whether a path that is not on this machine is a library's, or Python's own, by its shape."""
    path = _normal(file)
    if not is_file_name(file):
        return path.startswith("<frozen")
    return any(part in path for part in _PACKAGES) or bool(_STANDARD.search(path))


def in_workspace(local: str, roots: Sequence[str]) -> bool:
    """Whether a local file is the workspace's own: under a root, and not in an environment that lies there."""
    path = _normal(local)
    return not any(part in path for part in _PACKAGES) and any(
        path.startswith(_normal(root).rstrip("/") + "/") for root in roots
    )


def _candidates(path: str, places: Places) -> list[str]:
    found: list[str] = []
    if path.startswith("/") or _DRIVE.match(path):
        found.append(path)
    else:
        found.extend(_under(root, path.removeprefix("./")) for root in places.roots)
    for root in places.roots:
        # The checkout has the same name there and here, as `ComfyUI` in `C:/AI/ComfyUI/execution.py`.
        name = _normal(root).rstrip("/").rpartition("/")[2]
        at = path.rfind(f"/{name}/") if name else -1
        if at >= 0:
            found.append(_under(root, path[at + len(name) + 2 :]))
    for marker in _PACKAGES:
        at = path.rfind(marker)
        if at >= 0:
            inner = path[at + len(marker) :]
            found.extend(_under(folder, inner) for folder in (*places.packages, *places.roots))
            return found
    parts = [part for part in path.split("/") if part not in {"", ".", ".."}][-_MOST_PARTS:]
    for start in range(len(parts) - _FEWEST_PARTS + 1):
        end = "/".join(parts[start:])
        found.extend(_under(root, end) for root in places.roots)
        found.extend(_under(folder, end) for folder in places.packages)
    if len(parts) == 1 or (parts and path.startswith("/") and len(parts) <= _FEWEST_PARTS):
        found.extend(_under(root, parts[-1]) for root in places.roots)
    return found


def _under(folder: str, path: str) -> str:
    return f"{folder.rstrip('/')}/{path}" if path else folder


def _normal(path: str) -> str:
    """Forward slashes: Windows prints the other ones, and no other system has them in the names of modules."""
    return path.replace("\\", "/") if _DRIVE.match(path) or "/" not in path else path
