"""What `catalog build` is pointed at: an installed distribution, an import name, a wheel, an sdist or a folder.

Everything is read as files; nothing is imported.
"""

from __future__ import annotations

import os
import re
import tarfile
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from raiselens_catalog.mine_cpp import SUFFIXES as CPP_SUFFIXES
from raiselens_catalog.record import CatalogError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

PYTHON_SUFFIXES: Final = frozenset({".py"})
LANGUAGES: Final = {"python": PYTHON_SUFFIXES, "cpp": CPP_SUFFIXES}
_SKIPPED: Final = frozenset({"__pycache__", "node_modules", "site-packages", ".git", ".venv", ".tox", ".nox", ".cache"})


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A source of a package: its path in it (`/` between parts) and a stamp that changes when it does."""

    path: str
    stamp: str


@dataclass(frozen=True, slots=True)
class Package:
    """What is to be mined.

    `repo` is `owner/name` where the metadata tells, else the name. `root` is a folder or an archive; `prefix` stands
    before each path in the archive.
    """

    name: str
    version: str
    repo: str
    root: Path
    files: tuple[SourceFile, ...]
    prefix: str = ""


def resolve(target: str, *, search_path: Sequence[Path], languages: Iterable[str]) -> Package:
    """Find a target; CatalogError where there is none of that name or it holds no source."""
    suffixes = frozenset().union(*(LANGUAGES[language] for language in languages))
    path = Path(target)
    try:
        is_folder, is_file = path.is_dir(), path.is_file()
        if is_folder:
            os.listdir(path)  # noqa: PTH208 - a folder that may not be looked into seems empty to a walk
    except OSError as error:
        raise CatalogError(
            f"cannot be read: {error.strerror}", file=target, remedy="check the path and its permissions"
        ) from None
    if is_folder:
        package = _folder(path, suffixes)
    elif is_file:
        package = _archive(path, suffixes)
    elif os.sep in target or path.suffix in {".whl", ".gz", ".zip"}:
        raise CatalogError("no such file or folder", file=target, remedy="name a distribution, an archive or a folder")
    else:
        package = _installed(target, search_path, suffixes)
    # What is named in bytes that are no UTF-8 is no module that anybody imports.
    named = tuple(source for source in package.files if _is_utf8(source.path))
    package = replace(package, files=named)
    if not package.files:
        raise CatalogError(f"`{target}` holds no source to read", remedy="name a distribution, an archive or a folder")
    return package


def read_origin(origin: str) -> bytes:
    """The source that a mined record names as its origin: a file, or one inside of an archive. Raises OSError."""
    path = Path(origin)
    archive = next((parent for parent in path.parents if os.path.isfile(parent)), None)  # noqa: PTH113
    if archive is None:
        return path.read_bytes()
    inside = path.relative_to(archive).as_posix()
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as zipped:
                return _read_zip(zipped, inside)
        with tarfile.open(archive) as tar:
            # An sdist's paths begin with its own folder.
            name = next((name for name in tar.getnames() if name == inside or name.partition("/")[2] == inside), inside)
            return _read_tar(tar, name)
    except (zipfile.BadZipFile, tarfile.TarError) as error:
        raise OSError(str(error)) from None


def _is_utf8(path: str) -> bool:
    return path.isascii() or path.encode("utf-8", "replace").decode() == path


def reader(package: Package) -> Callable[[str], bytes]:
    """A function that reads a source of `package`; it raises OSError. For one thread."""
    root = package.root
    if root.is_dir():
        return lambda path: (root / path).read_bytes()
    if zipfile.is_zipfile(root):
        archive = zipfile.ZipFile(root)
        return lambda path: _read_zip(archive, package.prefix + path)
    tar = tarfile.open(root)  # noqa: SIM115
    return lambda path: _read_tar(tar, package.prefix + path)


def _folder(path: Path, suffixes: frozenset[str]) -> Package:
    root = path.resolve()
    metadata = next((info for info in sorted(root.glob("*.dist-info")) if (info / "METADATA").is_file()), None)
    if metadata is None and (root / "__init__.py").is_file():
        name = root.name
        return Package(
            *_facts(_info_of(root.parent, name), name), root.parent, tuple(_walk(root.parent, root, suffixes))
        )
    files = tuple(_walk(root, root, suffixes))
    if metadata is None and (text := _text(root / "PKG-INFO")):  # an unpacked sdist
        return Package(*_facts_of_text(text, root.name), root, files)
    if metadata is None and (name := _project_name(root)):
        return Package(_normal(name), "", _normal(name), root, files)
    return Package(*_facts(metadata, root.name), root, files)


def _project_name(root: Path) -> str:
    """The name that a source tree gives itself: a checkout may lie in a folder of any name, and ids may not tell."""
    found = (pattern.search(_text(root / file)) for file, pattern in _OWN_NAME.items())
    return next((match[1] for match in found if match), "")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _installed(name: str, search_path: Sequence[Path], suffixes: frozenset[str]) -> Package:
    for folder in search_path:
        for info in sorted(folder.glob("*.dist-info")):
            if _named(info, name) and (info / "METADATA").is_file():
                files = tuple(_recorded(folder, info, suffixes))
                if files:
                    return Package(*_facts(info, name), folder, files)
    for folder in search_path:
        package = folder.joinpath(*name.split("."))
        if package.is_dir():
            found = _folder(package, suffixes)
            return Package(found.name, found.version, found.repo, folder, tuple(_walk(folder, package, suffixes)))
        module = package.with_suffix(".py")
        if module.is_file():
            return Package(name, "", name, folder, (_stamped(folder, module),))
    raise CatalogError(
        f"`{name}` is neither installed where raiselens looks nor a path",
        remedy="install it there, name the interpreter with --python, or give a wheel or folder",
    )


def _named(info: Path, name: str) -> bool:
    return _normal(info.name.removesuffix(".dist-info").rpartition("-")[0]) == _normal(name)


def _info_of(folder: Path, package: str) -> Path | None:
    """The metadata of the distribution that brought an import package."""
    infos = sorted(folder.glob("*.dist-info"))
    named = next((info for info in infos if _named(info, package)), None)
    return named or next((info for info in infos if f"\n{package}/__init__.py," in _record_text(info)), None)


def _record_text(info: Path) -> str:
    try:
        return "\n" + (info / "RECORD").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _archive(path: Path, suffixes: frozenset[str]) -> Package:
    try:
        if zipfile.is_zipfile(path):
            return _zip(path, suffixes)
        if tarfile.is_tarfile(path):
            return _tar(path, suffixes)
    except (OSError, zipfile.BadZipFile, tarfile.TarError) as error:
        raise CatalogError(f"cannot be read: {error}", file=str(path), remedy="fetch the archive again") from None
    raise CatalogError("is no archive", file=str(path), remedy="name a wheel, an sdist or a folder")


def _zip(path: Path, suffixes: frozenset[str]) -> Package:
    with zipfile.ZipFile(path) as archive:
        infos = [info for info in archive.infolist() if not info.is_dir()]
        metadata = next((info for info in infos if info.filename.endswith(".dist-info/METADATA")), None)
        text = archive.read(metadata).decode("utf-8", "replace") if metadata else ""
    files = tuple(
        SourceFile(info.filename, f"{info.CRC:08x}:{info.file_size}")
        for info in sorted(infos, key=lambda info: info.filename)
        if PurePosixPath(info.filename).suffix in suffixes
    )
    return Package(*_facts_of_text(text, path.stem.split("-")[0]), path.resolve(), files)


def _tar(path: Path, suffixes: frozenset[str]) -> Package:
    with tarfile.open(path) as archive:
        members = [member for member in archive.getmembers() if member.isfile()]
        tops = {member.name.split("/")[0] for member in members}
        prefix = f"{tops.pop()}/" if len(tops) == 1 else ""
        info = next((member for member in members if member.name == f"{prefix}PKG-INFO"), None)
        handle = archive.extractfile(info) if info else None
        text = handle.read().decode("utf-8", "replace") if handle else ""
    files = tuple(
        SourceFile(member.name.removeprefix(prefix), f"{member.mtime}:{member.size}")
        for member in sorted(members, key=lambda member: member.name)
        if PurePosixPath(member.name).suffix in suffixes
    )
    return Package(*_facts_of_text(text, path.name.split("-")[0]), path.resolve(), files, prefix)


def _walk(root: Path, below: Path, suffixes: frozenset[str]) -> Iterator[SourceFile]:
    for folder, subfolders, names in os.walk(below):
        subfolders[:] = sorted(name for name in subfolders if name not in _SKIPPED)
        for name in sorted(names):
            if os.path.splitext(name)[1] in suffixes:  # noqa: PTH122
                yield _stamped(root, Path(folder, name))


def _recorded(folder: Path, info: Path, suffixes: frozenset[str]) -> Iterator[SourceFile]:
    """The sources that a distribution's RECORD lists inside the folder it is installed in."""
    for line in sorted(_record_text(info).split("\n")):
        name = line.rsplit(",", 2)[0].strip('"')
        if PurePosixPath(name).suffix in suffixes and not name.startswith(("..", "/")):
            path = folder / name
            if path.is_file():
                yield _stamped(folder, path)


def _stamped(root: Path, path: Path) -> SourceFile:
    try:
        status = path.stat()
        stamp = f"{status.st_mtime_ns}:{status.st_size}"
    except OSError:
        stamp = "?"
    return SourceFile(path.relative_to(root).as_posix(), stamp)


def _facts(info: Path | None, name: str) -> tuple[str, str, str]:
    if info is None:
        return _normal(name), "", name
    try:
        text = (info / "METADATA").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    return _facts_of_text(text, name)


def _facts_of_text(text: str, fallback: str) -> tuple[str, str, str]:
    """Name, version and repository from the head of a METADATA or PKG-INFO file."""
    head = text.replace("\r\n", "\n").partition("\n\n")[0]
    fields = [line.partition(":") for line in head.split("\n")]
    name = next((value.strip() for key, _, value in fields if key == "Name"), fallback)
    version = next((value.strip() for key, _, value in fields if key == "Version"), "")
    links = [value for key, _, value in fields if key in {"Project-URL", "Home-page"}]
    found = next((match for link in links if (match := _GITHUB.search(link))), None)
    return _normal(name), version, found[1].removesuffix(".git") if found else _normal(name)


_OWN_NAME: Final = {
    "pyproject.toml": re.compile(
        r"""^\[project\][ \t]*(?:#.*)?$(?:\n(?!\[).*)*?\n[ \t]*name[ \t]*=[ \t]*["']([\w.-]+)["']""", re.MULTILINE
    ),
    "setup.cfg": re.compile(r"^\[metadata\]$(?:\n(?!\[).*)*?\nname[ \t]*=[ \t]*([\w.-]+)", re.MULTILINE),
}
_GITHUB: Final = re.compile(r"https?://(?:www\.)?github\.com/([\w.-]+/[\w.-]+)")


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _read_zip(archive: zipfile.ZipFile, path: str) -> bytes:
    try:
        return archive.read(path)
    except (KeyError, zipfile.BadZipFile) as error:
        raise OSError(str(error)) from None


def _read_tar(archive: tarfile.TarFile, path: str) -> bytes:
    try:
        handle = archive.extractfile(path)
    except (KeyError, tarfile.TarError) as error:
        raise OSError(str(error)) from None
    if handle is None:
        raise OSError(f"{path} is no file")
    return handle.read()
