"""Which interpreter's libraries are inspected, found from files alone.

The order is INTERFACE's: the one that is named, else `$VIRTUAL_ENV`, else a `.venv` upward from the path that is
checked, else the interpreter that runs Raiselens. Nothing found in a workspace is ever executed: `.pth` files and
editable-install finders are read as text. Only an interpreter that the user named is asked, with `-I -S`, and only
where its files do not tell.
"""

from __future__ import annotations

import ast
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from raiselens_server.source.environment import Environment
from raiselens_server.source.presence import is_file, is_folder, is_there

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

ASK_SECONDS = 15
LARGEST_FINDER = 1 << 20
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*t?w?(?:\.exe)?", re.IGNORECASE)
_LIBRARY = re.compile(r"python3\.(\d+)t?")
_PROBE = "import json, sys; print(json.dumps([sys.executable, sys.prefix, list(sys.version_info[:2])]))"


class InterpreterError(Exception):
    """The named interpreter cannot be used; the text is one line that says why and what to do."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """An interpreter as its files describe it.

    `executable` is what `verify` would start, `None` where no such file is there. `paths` are the site-packages and
    the folders that their `.pth` files and editable installs add, in `sys.path` order.
    """

    executable: str | None
    version: tuple[int, int]
    paths: tuple[str, ...]


def find_interpreter(
    start: Path, *, named: str | None = None, may_ask: bool = False, environ: Mapping[str, str] | None = None
) -> Interpreter:
    """The interpreter whose libraries count for code at `start`.

    `named` is what `--python` or a setting says: an executable, a name on `$PATH`, or the folder of an environment.
    With `may_ask` it may be started where its files do not tell. Raises `InterpreterError` where it is unusable.
    """
    environ = os.environ if environ is None else environ
    if named is not None:
        return _named(named, may_ask=may_ask, environ=environ)
    active = environ.get("VIRTUAL_ENV")
    candidates = ([Path(active)] if active else []) + [folder / ".venv" for folder in _upward(start)]
    for prefix in candidates:
        if is_file(prefix / "pyvenv.cfg") and (found := _from_prefix(prefix, None, environ)) is not None:
            return found
    return running_interpreter(environ)


def running_interpreter(environ: Mapping[str, str] | None = None) -> Interpreter:
    """The interpreter that runs this code."""
    version = (sys.version_info.major, sys.version_info.minor)
    prefix = Path(sys.prefix)
    found = _from_prefix(prefix, version, os.environ if environ is None else environ)
    return Interpreter(sys.executable or None, version, found.paths if found is not None else ())


def build_environment(
    interpreter: Interpreter, roots: Iterable[Path], extra_paths: Iterable[Path] = (), stubs: Iterable[Path] = ()
) -> Environment:
    """The search path of INTERFACE's “Where calls are resolved”: each root and its `src/`, extra paths, libraries.

    The folders of the file itself come before these; `Project` adds them for each file anew.
    """
    folders: dict[str, None] = {}
    for root in roots:
        for folder in (root, root / "src"):
            if is_folder(folder):
                folders[str(folder.absolute())] = None
    folders.update((str(path.absolute()), None) for path in extra_paths)
    folders.update((path, None) for path in interpreter.paths)
    return Environment(tuple(folders), tuple(map(str, stubs)), interpreter.version)


def _named(named: str, *, may_ask: bool, environ: Mapping[str, str]) -> Interpreter:
    path = Path(named).expanduser()
    if not is_there(path):
        on_path = shutil.which(named, path=environ.get("PATH"))
        if on_path is None:
            raise InterpreterError(f"{named}: no such interpreter or environment")
        path = Path(on_path)
    path = path.absolute()
    if is_folder(path):
        found = _from_prefix(path, None, environ)
        if found is None:
            raise InterpreterError(f"{named}: this folder holds no site-packages; name its python executable")
        return found
    # The link's own place counts first: an environment's `bin/python` points out of the environment.
    for executable in (path, path.resolve()):
        if not _PYTHON.fullmatch(executable.name):
            continue
        found = _from_prefix(_prefix_of(executable), _version_in_name(executable.name), environ)
        if found is not None:
            return Interpreter(str(path), found.version, found.paths)
    if not may_ask:
        raise InterpreterError(f"{named}: its files tell no environment, and only what --python names is asked")
    return _ask(path, environ)


def _ask(path: Path, environ: Mapping[str, str]) -> Interpreter:
    """Start the named interpreter, isolated and without `site`, to learn where it lives."""
    try:
        answer = subprocess.run(
            [path, "-I", "-S", "-c", _PROBE],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=ASK_SECONDS,
            check=True,
            text=True,
        )
        executable, prefix, (major, minor) = json.loads(answer.stdout)
        found = _from_prefix(Path(prefix), (int(major), int(minor)), environ)
    except (OSError, subprocess.SubprocessError, ValueError, TypeError) as error:
        raise InterpreterError(f"{path}: not a Python interpreter ({_reason(error)})") from error
    return Interpreter(executable or str(path), (major, minor), found.paths if found is not None else ())


def _reason(error: Exception) -> str:
    match error:
        case subprocess.TimeoutExpired():
            return f"no answer in {ASK_SECONDS} s"
        case subprocess.CalledProcessError(returncode=code):
            return f"asked for its prefix, it ended with code {code}"
        case OSError(strerror=str() as reason):
            return reason
        case _:
            return "asked for its prefix, it answered something else"


def _prefix_of(executable: Path) -> Path:
    """The environment's folder: above `bin/` or `Scripts/`, else the executable's own folder (Windows, embedded)."""
    parent = executable.parent
    return parent.parent if parent.name.lower() in {"bin", "scripts"} else parent


def _version_in_name(name: str) -> tuple[int, int] | None:
    matched = _LIBRARY.match(name)
    return (3, int(matched[1])) if matched else None


def _from_prefix(prefix: Path, version: tuple[int, int] | None, environ: Mapping[str, str]) -> Interpreter | None:
    """Read an installation or virtual environment; `None` where `prefix` holds no libraries."""
    config = _read_config(prefix / "pyvenv.cfg")
    version = version or _configured_version(config)
    libraries = list(_library_folders(prefix, version))
    if version is None:
        version = _newest_version(libraries)
    if not libraries or version is None:
        return None
    if config is None:
        libraries = [*_user_folders(version, environ), *libraries]
    elif config.get("include-system-site-packages", "").lower() == "true" and "home" in config:
        home = Path(config["home"])
        base = _prefix_of(home / "python")
        libraries += [*_user_folders(version, environ), *_library_folders(base, version)]
    paths: dict[str, None] = {}
    for folder in libraries:
        paths[str(folder)] = None
        paths.update((path, None) for path in _linked_folders(folder))
    return Interpreter(_executable_in(prefix), version, tuple(paths))


def _executable_in(prefix: Path) -> str | None:
    names = ("bin/python3", "bin/python", "Scripts/python.exe", "python.exe")
    return next((str(prefix / name) for name in names if is_file(prefix / name)), None)


def _read_config(path: Path) -> dict[str, str] | None:
    """`pyvenv.cfg` as a mapping; `None` where there is none."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    pairs = (line.partition("=") for line in text.splitlines())
    return {key.strip().lower(): value.strip() for key, equals, value in pairs if equals}


def _configured_version(config: Mapping[str, str] | None) -> tuple[int, int] | None:
    written = (config or {}).get("version") or (config or {}).get("version_info") or ""
    matched = re.match(r"(\d+)\.(\d+)", written)
    return (int(matched[1]), int(matched[2])) if matched else None


def _library_folders(prefix: Path, version: tuple[int, int] | None) -> Iterator[Path]:
    """The site-packages below `prefix` that exist, also as Debian and Windows name them."""
    pattern = "python3.*" if version is None else f"python{version[0]}.{version[1]}*"
    seen: set[Path] = set()
    for library in ("local/lib", "lib", "lib64"):
        # Where the version is not known the newest comes first.
        named = (folder for folder in _entries(prefix / library) if fnmatch.fnmatchcase(folder.name, pattern))
        for folder in sorted(named, key=_version_key, reverse=True):
            for name in ("site-packages", "dist-packages"):
                found = folder / name
                if _LIBRARY.fullmatch(folder.name) and is_folder(found) and found.resolve() not in seen:
                    seen.add(found.resolve())
                    yield found
    for folder in (prefix / "lib" / "python3" / "dist-packages", prefix / "Lib" / "site-packages"):
        if is_folder(folder) and folder.resolve() not in seen:
            seen.add(folder.resolve())
            yield folder


def _entries(folder: Path) -> list[Path]:
    """What lies in `folder`; nothing where it cannot be looked into."""
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _version_key(folder: Path) -> int:
    matched = _LIBRARY.fullmatch(folder.name)
    return int(matched[1]) if matched else -1


def _newest_version(libraries: Iterable[Path]) -> tuple[int, int] | None:
    minors = [_version_key(folder.parent) for folder in libraries]
    newest = max(minors, default=-1)
    return (3, newest) if newest >= 0 else None


def _user_folders(version: tuple[int, int], environ: Mapping[str, str]) -> Iterator[Path]:
    """The per-user site-packages, which an installation has and a virtual environment has not."""
    base = environ.get("PYTHONUSERBASE") or (f"{environ['HOME']}/.local" if environ.get("HOME") else None)
    folder = Path(base) / "lib" / f"python{version[0]}.{version[1]}" / "site-packages" if base else None
    if folder is not None and is_folder(folder):
        yield folder


def _linked_folders(site: Path) -> Iterator[str]:
    """The folders that the `.pth` files and editable-install finders of `site` add, in the order `site` adds them."""
    names = sorted(path.name for path in _entries(site))
    for name in names:
        if name.endswith(".pth") and not name.startswith("."):
            yield from _path_lines(site, site / name)
    for name in names:
        if name.startswith("__editable__") and name.endswith("_finder.py"):
            yield from _editable_folders(site / name)


def _path_lines(site: Path, path: Path) -> Iterator[str]:
    """The path lines of a `.pth` file; its `import` lines are code, and are passed over."""
    try:
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return
    for raw in text.splitlines():
        line = raw.rstrip()
        if not line or line.startswith(("#", "import ", "import\t")):
            continue
        folder = site / line
        if is_folder(folder):
            yield str(folder.resolve())


def _editable_folders(finder: Path) -> Iterator[str]:
    """The folders that hold the packages of a setuptools finder's `MAPPING`, where they go by their own names."""
    try:
        if finder.stat().st_size > LARGEST_FINDER:
            return
        tree = ast.parse(finder.read_text(encoding="utf-8", errors="replace"))
    except (OSError, SyntaxError, ValueError):
        return
    for statement in tree.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id="MAPPING"), value=ast.expr() as value):
                pass
            case ast.Assign(targets=[ast.Name(id="MAPPING")], value=value):
                pass
            case _:
                continue
        try:
            mapping = ast.literal_eval(value)
        except ValueError:
            return
        for package, place in mapping.items() if isinstance(mapping, dict) else ():
            if isinstance(package, str) and isinstance(place, str):
                holder = _holder(package, Path(place))
                if holder is not None:
                    yield holder


def _holder(package: str, place: Path) -> str | None:
    """The `sys.path` folder under which `place` is imported as `package`; `None` where it has another name on disk."""
    parts = package.split(".")
    if is_folder(place) and list(place.parts[-len(parts) :]) == parts:
        return str(place.parents[len(parts) - 1])
    module = place.with_suffix(".py") if not place.suffix else place
    if is_file(module) and module.stem == parts[-1] and list(module.parts[-len(parts) : -1]) == parts[:-1]:
        return str(module.parents[len(parts) - 1])
    return None


def _upward(start: Path) -> Iterator[Path]:
    start = start.absolute()
    if is_folder(start):
        yield start
    yield from start.parents
