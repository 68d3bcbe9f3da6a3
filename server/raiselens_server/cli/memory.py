"""What earlier checks found, kept in the user's cache folder: of files that did not change, and use none that did.

A result stands while the program, the command's environment and named paths, the names of the files around, the file
itself and every file that it looks into are as they were. All of it is one file, written in one step; one that is
damaged, or that another user could have written, counts as absent.
"""

from __future__ import annotations

import contextlib
import hashlib
import marshal
import os
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import raiselens_catalog
import raiselens_server
from raiselens_catalog.layers import user_cache_dir
from raiselens_server.packing import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from raiselens_server.cli.plan import Group, Job
    from raiselens_server.error import RaisedError, Repair
    from raiselens_server.foresee import Statistics

FORMAT: Final = 1
KEPT_FILES: Final = 8
"""How many commands are remembered, the latest ones."""

Stamp = tuple[int, int, int, int]
Uses = dict[str, set[str]]
"""File → the files that look into it."""


def full_path(job: Job) -> str:
    """The path of a job as foreseeing names files."""
    return os.path.abspath(job.file)  # noqa: PTH100 - `Path.absolute` keeps `..`, `resolve` follows links


@dataclass(frozen=True, slots=True)
class Found:
    """What foreseeing found in one file, before comments and settings hide any of it.

    `alone` is False where the texts of other files than those it looks into had a say; `marked` says that the text may
    hold ignore comments.
    """

    errors: tuple[RaisedError, ...]
    repairs: tuple[tuple[Repair, ...], ...]
    counts: tuple[int, int, int, int, dict[str, int]]
    alone: bool
    marked: bool


def counts_of(statistics: Statistics) -> tuple[int, int, int, int, dict[str, int]]:
    """Statistics as plain numbers."""
    counted = statistics
    undecided = dict(counted.undecided)
    return counted.calls, counted.resolved, counted.guards_reached, counted.guards_decided, undecided


@dataclass(slots=True)
class Memory:
    """The results of one command line's last run that still stand, and those to be kept of this one."""

    path: Path
    began: int
    found: dict[str, Found] = field(default_factory=dict)
    uses: Uses = field(default_factory=dict)
    stamps: dict[str, Stamp | None] = field(default_factory=dict)
    folders: dict[str, str] = field(default_factory=dict)

    @classmethod
    def open(cls, groups: Sequence[Group], jobs: Sequence[Job]) -> Memory | None:
        """What is remembered of the same command; None where nothing can be kept."""
        folder = user_cache_dir() / "check"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_ours(folder):
                return None
        except OSError:
            return None
        memory = cls(folder / f"{_key(groups)}.bin", time.time_ns())
        known = _load(memory.path)
        if known is not None:
            memory._take(known, {full_path(job) for job in jobs})
        return memory

    def _take(self, known: dict[str, Any], files: set[str]) -> None:
        folders, stamps, found = known["folders"], known["stamps"], known["found"]
        if found.keys() != files or any(_names(folder) != names for folder, names in folders.items()):
            return
        changed = {path for path, stamp in stamps.items() if stamp is None or _stamp(path) != stamp}
        uses: Uses = {path: set(users) for path, users in known["uses"].items()}
        stale = _reached(changed, uses)
        for path, packed in found.items():
            errors, repairs, counts, alone, marked = packed
            if path not in stale and (alone or not changed):
                self.found[path] = Found(unpack(errors), unpack(repairs), counts, alone, marked)
        self.uses, self.stamps, self.folders = uses, {p: s for p, s in stamps.items() if p not in changed}, folders

    def keep(self, jobs: Iterable[Job], found: Mapping[str, Found], uses: Uses) -> None:
        """Write what stands and what was `found` now; quietly not, where the disk does not let us."""
        for path, users in uses.items():
            self.uses.setdefault(path, set()).update(users)
        kept = {**self.found, **found}
        files = {full_path(job) for job in jobs}
        if kept.keys() != files:
            return
        for path in files | self.uses.keys():
            if path not in self.stamps:
                stamp = _stamp(path)
                # What changed since we began may have been read before it did.
                self.stamps[path] = None if stamp is None or max(stamp[:2]) >= self.began else stamp
        folders = {str(Path(path).parent) for path in self.stamps}
        for folder in folders - self.folders.keys():
            self.folders[folder] = _names(folder)
        content = {
            "folders": self.folders,
            "stamps": self.stamps,
            "uses": {path: tuple(sorted(users)) for path, users in self.uses.items()},
            "found": {p: (pack(f.errors), pack(f.repairs), f.counts, f.alone, f.marked) for p, f in kept.items()},
        }
        with contextlib.suppress(OSError):
            _write(self.path, marshal.dumps(content))


def _reached(changed: set[str], uses: Uses) -> set[str]:
    """The changed files and all that look into them, through others too."""
    reached, queue = set(changed), list(changed)
    while queue:
        for user in uses.get(queue.pop(), ()):
            if user not in reached:
                reached.add(user)
                queue.append(user)
    return reached


def _key(groups: Sequence[Group]) -> str:
    """The program and all that a command sets for foreseeing; what only chooses what is shown is left out."""
    digest = hashlib.blake2b(digest_size=16)
    for package in (raiselens_server, raiselens_catalog):
        for file in sorted(Path(str(package.__file__)).parent.rglob("*.py")):
            digest.update(repr((str(file), _stamp(str(file)))).encode())
    for group in groups:
        places = (*group.environment.search_path, *group.environment.stubs)
        digest.update(repr((group.environment, group.named, str(Path.cwd()), sys.version_info[:2])).encode())
        digest.update(repr([(place, _names(place)) for place in places]).encode())
    return digest.hexdigest()


def _stamp(path: str) -> Stamp | None:
    """What tells that a file was changed, also where its time was set back; None where there is none."""
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def _names(folder: str) -> str:
    """The files and folders that imports may find in a folder, in short."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(
                e.name for e in entries if e.name != "__pycache__" and (e.name.endswith(".py") or e.is_dir())
            )
    except OSError:
        names = []
    return hashlib.blake2b("\0".join(names).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


def _is_ours(path: Path) -> bool:
    """Whether nobody else can have written there: what is read back is trusted."""
    status = path.stat()
    return os.name == "nt" or (status.st_uid == os.getuid() and not status.st_mode & 0o022)


def _load(path: Path) -> dict[str, Any] | None:
    try:
        if not _is_ours(path):
            return None
        data = path.read_bytes()
    except OSError:
        return None
    head, content = data[:32], data[32:]
    if head != _head(content):
        return None
    loaded = marshal.loads(content)  # noqa: S302 - only this user can have written it, and its sum is right
    return loaded if isinstance(loaded, dict) else None


def _head(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=32, key=f"{FORMAT} {sys.version}".encode()[:64]).digest()


def _write(path: Path, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(_head(content) + content)
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise
    kept = sorted(path.parent.glob("*.bin"), key=lambda each: each.stat().st_mtime_ns, reverse=True)
    for old in kept[KEPT_FILES:]:
        old.unlink()
