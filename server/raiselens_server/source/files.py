"""Python files on disk: which of a folder count, and their text as Python itself would decode it."""

from __future__ import annotations

import codecs
import contextlib
import errno
import io
import os
import tempfile
import tokenize
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pathspec import GitIgnoreSpec

from raiselens_server.config import SettingError, check_pattern
from raiselens_server.source.presence import is_file, is_folder, is_there

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SUFFIXES = (".py", ".pyw")

NEVER_WALKED = frozenset(
    {
        *(".cache", ".direnv", ".eggs", ".git", ".hg", ".hypothesis", ".mypy_cache", ".nox", ".pytest_cache"),
        *(".ruff_cache", ".svn", ".tox", ".venv", ".vscode", "__pycache__", "__pypackages__", "build", "dist"),
        *("node_modules", "site-packages", "venv"),
    }
)
"""Folders left out of a walk unless they are named themselves: environments, caches, build results."""


class SourceError(Exception):
    """A file that holds no text Python could read; the text is the reason in a few words."""


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a file, without its byte order mark, and what is needed to write it back as it was."""

    text: str
    encoding: str = "utf-8"
    mark: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether the bytes on disk are the text in UTF-8 and nothing else."""
        return not self.mark and self.encoding in {"utf-8", "ascii"}

    def encoded(self, text: str) -> bytes:
        """`text` as the bytes of this file. Raises UnicodeEncodeError where its encoding cannot write it."""
        return (codecs.BOM_UTF8 if self.mark else b"") + text.encode(self.encoding)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder that a walk met and could not look into."""

    file: str
    reason: str


def decode_source(data: bytes) -> Source:
    """Decode as Python does: a byte order mark, a coding comment, else UTF-8. Line ends stay as they are."""
    mark = data.startswith(codecs.BOM_UTF8)
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise SourceError(f"no text in its encoding ({error})") from error
    if "\0" in text:
        raise SourceError("binary, not Python")
    return Source(text, "utf-8" if mark else encoding, mark)


def read_source(path: str | Path) -> Source:
    """Read one file. Raises OSError or SourceError."""
    if is_there(path) and not is_file(path) and not is_folder(path):
        # A pipe would be waited for without end, and it could be read only once.
        raise SourceError("no regular file; `-` reads standard input")
    return decode_source(Path(path).read_bytes())


def check_writable(path: str | Path) -> None:
    """Raise OSError where `write_atomically` would: for a file that may not be written, or in such a folder."""
    target = Path(path).resolve()
    for place in (target, target.parent):
        if not os.access(place, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(place))


def write_atomically(path: str | Path, data: bytes) -> None:
    """Replace the content in one step, mode kept: a reader sees the old file or the new one. Raises OSError."""
    # A file that may not be written could be replaced all the same, where its folder may.
    check_writable(path)
    # A link stays a link: what it points at is replaced.
    target = Path(path).resolve()
    mode = target.stat().st_mode
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        Path(temporary).chmod(mode & 0o7777)
        Path(temporary).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise


def walk(folder: Path, exclude: Iterable[str] = (), *, root: Path | None = None) -> Iterator[Path | Skipped]:
    """The Python files below `folder` in a stable order: `.gitignore` files respected, links to folders not followed.

    `exclude` patterns are read like lines of a `.gitignore` at `root` (default: `folder`). What `folder` itself is
    called never excludes it.
    """
    chain = [*_specs_above(folder), (root or folder, GitIgnoreSpec.from_lines(exclude))]
    # A folder that was named although an ignore file leaves it out is not judged by the files above it.
    absolute = folder.absolute()
    chain = [(base, spec) for base, spec in chain if not _ignores(base, spec, absolute, is_folder=True)]
    yield from _walk(folder, chain)


def _walk(folder: Path, chain: list[tuple[Path, GitIgnoreSpec]]) -> Iterator[Path | Skipped]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield Skipped(str(folder), error.strerror or str(error))
        return
    if any(entry.name == ".gitignore" for entry in entries):
        chain = [*chain, *_spec_of(folder / ".gitignore")]
    folders: list[Path] = []
    for entry in entries:
        path = folder / entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        if not is_folder and not entry.name.endswith(SUFFIXES):
            continue
        if is_folder and entry.name in NEVER_WALKED:
            continue
        if any(_ignores(base, spec, path.absolute(), is_folder=is_folder) for base, spec in chain):
            continue
        if is_folder:
            folders.append(path)
        elif is_file(path):
            yield path
        elif entry.is_symlink():
            yield Skipped(str(path), "link to nothing")
    for path in folders:
        yield from _walk(path, chain)


def _specs_above(folder: Path) -> list[tuple[Path, GitIgnoreSpec]]:
    """The ignore files between the repository's root and `folder`; none where it lies in no repository."""
    absolute = folder.absolute()
    above: list[Path] = []
    for parent in absolute.parents:
        above.append(parent)
        if is_there(parent / ".git"):
            break
    else:
        return []
    return [spec for parent in reversed(above) for spec in _spec_of(parent / ".gitignore")]


def _spec_of(path: Path) -> list[tuple[Path, GitIgnoreSpec]]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    lines = []
    for line in text.splitlines():
        # One malformed line leaves the others in force, as in git.
        with contextlib.suppress(SettingError):
            check_pattern(line)
            lines.append(line)
    return [(path.parent, GitIgnoreSpec.from_lines(lines))] if lines else []


def _ignores(base: Path, spec: GitIgnoreSpec, path: Path, *, is_folder: bool) -> bool:
    base = base.absolute()
    if not spec.patterns or path == base or not path.is_relative_to(base):
        return False
    return spec.match_file(path.relative_to(base).as_posix() + ("/" if is_folder else ""))
