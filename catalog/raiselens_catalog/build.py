"""`catalog build`: packages → the built layer.

Only files that changed since the last build are read again. All is written in one transaction, so that an interrupted
build leaves the catalog as it was.
"""

from __future__ import annotations

import gc
import json
import signal
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from raiselens_catalog.describe import module_of
from raiselens_catalog.expression import python_parser
from raiselens_catalog.layers import BUILT_FILE, STUBS_FOLDER, user_data_dir, well_formed
from raiselens_catalog.mine import Mined, may_raise, mine_tree
from raiselens_catalog.mine_cpp import mine_cpp
from raiselens_catalog.package import PYTHON_SUFFIXES, Package, reader, resolve
from raiselens_catalog.spot import identified
from raiselens_catalog.store import open_store
from raiselens_catalog.stub import Stub, package_stub, stub_of_module
from raiselens_catalog.stub_folder import write_stubs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from raiselens_catalog.store import Store

UNREADABLE: Final = "file cannot be read"
MINER: Final = "2"
"""Changes whenever the same source would be mined into something else: catalogs of before are mined anew."""

_CHUNK: Final = 64
"""Files that a process mines before it reports."""


@dataclass(slots=True)
class Report:
    """What a build found, over all its targets, changed or not.

    `stubs` counts functions that have a guard stub; `stub_guards` the guards that stubs hold, and those in functions
    that take arguments which they do not.
    """

    files: int = 0
    read: int = 0
    raises: int = 0
    asserts: int = 0
    checks: int = 0
    records: int = 0
    stubs: int = 0
    stub_guards: int = 0
    stub_guards_left_out: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def to_json(self) -> dict[str, object]:
        """The object that `catalog build --format json` prints."""
        return {
            "schema": 1,
            "files": self.files,
            "read": self.read,
            "raises": self.raises,
            "asserts": self.asserts,
            "checks": self.checks,
            "records": self.records,
            "stubs": self.stubs,
            "stub_guards": self.stub_guards,
            "stub_guards_left_out": self.stub_guards_left_out,
            "left_out": dict(sorted(self.left_out.items())),
            "seconds": round(self.seconds, 3),
        }


def build(
    targets: Sequence[str],
    *,
    output: Path | None = None,
    languages: Sequence[str] = ("python", "cpp"),
    jobs: int = 1,
    search_path: Sequence[Path] = (),
    progress: Callable[[int, int, str], None] | None = None,
) -> Report:
    """Mine `targets` into the store `output`, by default the built layer.

    `search_path` lists the folders in which names are looked up (an interpreter's site-packages); `languages` are
    `python` and `cpp`. The built layer's guard stubs are written beside it. `progress` is called with the files done, the files to do and the last one's path.
    CatalogError where a target is not found or the store cannot be written; nothing has changed then.
    """
    begin = time.perf_counter()
    packages = [resolve(target, search_path=search_path, languages=languages) for target in targets]
    collecting = gc.isenabled()
    gc.disable()  # syntax trees are many small objects in no cycles: collecting them takes a third of the time
    store = open_store(output if output is not None else user_data_dir() / BUILT_FILE, create=True)
    report = Report()
    try:
        with store.writing():
            todo = [(package, *_changed(store, package, languages)) for package in packages]
            total = sum(len(paths) for _, _, paths, _ in todo)
            done = 0
            stubs: dict[str, str] = {}
            for package, target, paths, gone in todo:
                stubs.update((path, "") for path in gone)
                for path, mined, stub in _mine(package, paths, jobs):
                    done += 1
                    _put(store, package, target, path, mined, stub)
                    stubs[path] = stub.text
                    if progress is not None:
                        progress(done, total, path)
                report.read += len(paths)
                _count(store, target, report)
            if output is None:
                write_stubs(user_data_dir() / STUBS_FOLDER, stubs)
    finally:
        store.close()
        if collecting:
            gc.enable()
    report.seconds = time.perf_counter() - begin
    return report


def _changed(store: Store, package: Package, languages: Sequence[str]) -> tuple[int, list[str], list[str]]:
    """The target's row, the paths that must be read, and those that are gone; what is gone or changed is removed."""
    connection = store.connection
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    connection.execute(
        "INSERT INTO target(name, version, repo, root, mined_at) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT(name) DO UPDATE SET version = excluded.version, repo = excluded.repo, root = excluded.root,"
        " mined_at = excluded.mined_at",
        (*map(well_formed, (package.name, package.version, package.repo, str(package.root))), now),
    )
    name = well_formed(package.name)
    (target,) = connection.execute("SELECT id FROM target WHERE name = ?", (name,)).fetchone()
    known = {
        path: (row, stamp)
        for row, path, stamp in connection.execute("SELECT id, path, stamp FROM file WHERE target = ?", (target,))
    }
    both = len(languages) > 1
    wanted = {source.path: f"{MINER}:{source.stamp}" for source in package.files}
    gone: list[str] = []
    for path, (row, stamp) in known.items():
        concerned = both or (PurePosixPath(path).suffix in PYTHON_SUFFIXES) == ("python" in languages)
        if concerned and wanted.get(path) != stamp:
            store.forget_file(row)
            gone += [path] if path not in wanted else []
    unchanged = {path for path, (_, stamp) in known.items() if wanted.get(path) == stamp}
    paths = [path for path in wanted if path not in unchanged]
    connection.executemany(
        "INSERT INTO file(target, path, stamp, counts) VALUES (?, ?, ?, '{}')",
        [(target, path, wanted[path]) for path in paths],
    )
    return target, paths, gone


def _mine(package: Package, paths: list[str], jobs: int) -> Iterator[tuple[str, Mined | None, Stub]]:
    if jobs <= 1 or len(paths) <= _CHUNK:
        yield from _mine_chunk(package, paths)
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    chunks = [paths[at : at + _CHUNK] for at in range(0, len(paths), _CHUNK)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_end_when_interrupted) as pool:
        with _interrupts_held():
            results = pool.map(_mined_chunk, [package] * len(chunks), chunks)
        for result in results:
            yield from result


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back while processes start; they inherit that.

    A process that is interrupted while it starts prints a traceback that nothing in it could catch yet.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_when_interrupted() -> None:
    """Let Ctrl-C end this process without a word, also the one that was held back while it started."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _mined_chunk(package: Package, paths: list[str]) -> list[tuple[str, Mined | None, Stub]]:
    return list(_mine_chunk(package, paths))


def _mine_chunk(package: Package, paths: list[str]) -> Iterator[tuple[str, Mined | None, Stub]]:
    """Mine files one after another; None for one that cannot be read."""
    read = reader(package)
    parser = python_parser()
    for path in paths:
        try:
            source = read(path)
        except OSError:
            yield path, None, Stub()
            continue
        if not path.endswith(".py"):
            yield path, mine_cpp(source), Stub()
            continue
        is_package = path.endswith("/__init__.py")
        if not is_package and not may_raise(source):
            yield path, Mined(), Stub()
            continue
        root = parser.parse(source).root_node
        mined = mine_tree(root, source) if may_raise(source) else Mined()
        module = module_of(path)
        stub = stub_of_module(root, source, module)
        if is_package:
            stub = replace(stub, text="\n".join(filter(None, (package_stub(root, module), stub.text))))
        yield path, mined, stub


def _put(store: Store, package: Package, target: int, path: str, mined: Mined | None, stub: Stub) -> None:
    counts: dict[str, object] = {"left_out": {UNREADABLE: 1}}
    if mined is not None:
        counts = {
            "raises": mined.raises,
            "asserts": mined.asserts,
            "checks": mined.checks,
            "stubs": [stub.functions, stub.kept, stub.left_out],
            "left_out": {cause.value: count for cause, count in mined.left_out.items()},
        }
    if mined is not None and not mined.sites and not mined.left_out and not stub.functions:
        return
    (row,) = store.connection.execute("SELECT id FROM file WHERE target = ? AND path = ?", (target, path)).fetchone()
    store.connection.execute("UPDATE file SET counts = ? WHERE id = ?", (json.dumps(counts), row))
    if mined is not None:
        store.put_sites(row, path, identified(package.repo, path, mined.sites))


def _count(store: Store, target: int, report: Report) -> None:
    for (text,) in store.connection.execute("SELECT counts FROM file WHERE target = ?", (target,)):
        report.files += 1
        counts = json.loads(text)
        report.raises += counts.get("raises", 0)
        report.asserts += counts.get("asserts", 0)
        report.checks += counts.get("checks", 0)
        functions, kept, left_out = counts.get("stubs", (0, 0, 0))
        report.stubs += functions
        report.stub_guards += kept
        report.stub_guards_left_out += left_out
        report.left_out.update(counts.get("left_out", {}))
    query = "SELECT count(*) FROM record JOIN file ON file.id = record.file WHERE file.target = ?"
    report.records += store.connection.execute(query, (target,)).fetchone()[0]
