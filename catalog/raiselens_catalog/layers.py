"""The catalog as its users see it: layers, of which the later win, behind one `Catalog`.

    bundled   curated records that come with Raiselens
    built     mined from installed libraries by `catalog build`
    user      imported by `catalog import`
    team      files named by `--catalog` and the `catalogs` setting
    workspace files under `.raiselens/records` of the workspace

A record of a later layer hides those of earlier layers with its id, in show, export and matching; what only curated
records carry (guard, other classes, related ids) is kept from the hidden one where the new one has none.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from raiselens_catalog.bundled import bundled_source
from raiselens_catalog.curated import read_family
from raiselens_catalog.entry import Entry, Layer, entry_of_curated, entry_of_item
from raiselens_catalog.match import Candidate, FrameLike, Hit, HoleLike, How, Query, Target, best_first, words_of
from raiselens_catalog.memory import MemorySource
from raiselens_catalog.record import CatalogError, Item, items_from_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

DATA_VARIABLE: Final = "RAISELENS_DATA"
"""Environment variable that names the data folder, in place of the platform's own."""

WORKSPACE_FOLDER: Final = ".raiselens/records"
"""Where a workspace keeps records of its own, beneath its root."""


class Source(Protocol):
    """A layer, in memory or on disk."""

    layer: Layer

    def __len__(self) -> int: ...

    def entries(self) -> Iterator[Entry]:
        """All entries."""

    def get(self, key: str) -> Entry | None:
        """The entry of an id or a slug."""

    def holds(self, record_id: str) -> bool:
        """Whether it has a record of this id."""

    def hits(self, query: Query) -> Iterable[Hit]:
        """The records whose template is the whole message."""

    def fuzzy_hits(self, query: Query, words: Sequence[str]) -> Iterable[Hit]:
        """The records that are close."""

    def id_of(self, row: int) -> str:
        """The id of a hit's row."""

    def target(self, row: int) -> Target:
        """What matching knows of a hit's row."""

    def search(self, words: Sequence[str], limit: int) -> list[tuple[int, Entry]]:
        """The entries that hold all words, with a score."""

    def near(self, entry: Entry) -> Iterable[Entry]:
        """The entries raised near `entry`, the nearest first."""


class Catalog:
    """All layers, opened. For one thread at a time."""

    def __init__(
        self, sources: Iterable[Source], *, data_dir: Path | None = None, problems: Iterable[str] = ()
    ) -> None:
        """Layer `sources`; of one layer the later wins. `data_dir` is where `import_file` writes."""
        self._sources = sorted(sources, key=lambda source: source.layer)
        self._data_dir = data_dir
        self._problems = list(problems)

    @classmethod
    def open(
        cls,
        *,
        catalogs: Sequence[Path] = (),
        configured: Sequence[Path] = (),
        workspace: Path | None = None,
        data_dir: Path | None = None,
        bundled: bool = True,
    ) -> Catalog:
        """Open the layers. `catalogs` are files that a command names, which must be readable (CatalogError).

        What is broken in the built, the user's, the workspace's files or those that are `configured` for a team is left
        out and told by `problems`; each line begins with the file's path.
        """
        sources: list[Source] = []
        problems: list[str] = []
        if bundled:
            sources.append(bundled_layer())
        home = data_dir if data_dir is not None else user_data_dir()
        for layer, name in ((Layer.BUILT, BUILT_FILE), (Layer.USER, USER_FILE)):
            path = home / name
            if os.path.isfile(path):  # noqa: PTH113 - `Path.is_file` raises where a folder may not be entered
                try:
                    sources.append(_stored(layer, path))
                except CatalogError as error:
                    problems.append(str(error))
        for path in configured:
            try:
                sources.append(_team(path, problems))
            except CatalogError as error:
                problems.append(str(error))
        sources += [_team(path, problems) for path in catalogs]
        if workspace is not None:
            sources.append(_memory(Layer.WORKSPACE, workspace_files(workspace), problems, forgiving=True))
        return cls(sources, data_dir=home, problems=problems)

    @property
    def problems(self) -> tuple[str, ...]:
        """One line for each file or pattern that was left out."""
        return tuple(self._problems)

    def __len__(self) -> int:
        if len(self._sources) == 1:
            return len(self._sources[0])
        return sum(1 for _ in self.entries())

    def entries(self) -> Iterator[Entry]:
        """All entries that are not hidden by a later layer, the earlier layers' first."""
        for at, source in enumerate(self._sources):
            later = self._sources[at + 1 :]
            for entry in source.entries():
                if not any(other.holds(entry.record.id) for other in later):
                    yield self._whole(entry, at)

    def get(self, key: str) -> Entry | None:
        """The entry of an id or a slug; None where unknown."""
        key = well_formed(key)
        for source in reversed(self._sources):
            entry = source.get(key)
            if entry is not None:
                return self._newest(entry.record.id)
        return None

    def require(self, key: str) -> Entry:
        """The entry of an id or a slug; CatalogError where unknown."""
        entry = self.get(key)
        if entry is None:
            raise CatalogError(
                f"no record has the id or slug `{key}`", remedy="find it with `raiselens catalog search TEXT`"
            )
        return entry

    def export(self, key: str) -> str:
        """The JSON of the record of an id or a slug, equal key by key to what was imported."""
        return self.require(key).to_json()

    def related(self, entry: Entry) -> tuple[Entry, ...]:
        """The entries of an entry's related errors: those it names, else those raised near it."""
        if entry.related:
            named = (self.get(key) for key in entry.related)
            return tuple(other for other in named if other is not None)
        found: dict[str, Entry] = {}
        for source in reversed(self._sources):
            for other in source.near(entry):
                found.setdefault(other.record.id, other)
                if len(found) >= RELATED_LIMIT:
                    return tuple(found.values())
        return tuple(found.values())

    def match(
        self,
        class_name: str,
        message: str,
        *,
        frames: Sequence[FrameLike] = (),
        holes: Sequence[HoleLike] = (),
        also: Sequence[Source] = (),
        limit: int = 8,
    ) -> tuple[Candidate, ...]:
        """The records that may be an error's own, best first; empty where nothing matches.

        `class_name` is the class as printed, empty where unknown. `frames` are outermost first. `holes` are the unknown
        parts of a foreseen message. `also` are layers for this question alone, such as the raising file mined on the
        spot.
        """
        message = well_formed(message)
        query = Query(class_name, message, frames, holes)
        sources = (*also, *self._sources)
        hits = [(hit, source) for source in sources for hit in source.hits(query)]
        if not hits and len(message) <= _LONGEST_COMPARED:
            words = words_of(message)
            hits = [(hit, source) for source in sources for hit in source.fuzzy_hits(query, words)]
        return tuple(itertools.islice(self._candidates(hits, query), limit))

    def match_guard(self, qualname: str, condition: str) -> Entry | None:
        """The entry of the guard with this dotted name (module and function) and condition; None where unknown."""
        for source in reversed(self._sources):
            if isinstance(source, MemorySource):
                for entry in source.entries():
                    guard = entry.guard
                    if guard and guard.condition == condition and f"{guard.module}.{guard.qualname}" == qualname:
                        return self._newest(entry.record.id)
        return None

    def search(self, text: str, limit: int = 20) -> tuple[Entry, ...]:
        """The entries that hold all words of `text`, those with more of them in front first."""
        words = words_of(well_formed(text))
        if not words:
            return ()
        best: dict[str, tuple[int, Entry]] = {}
        for source in self._sources:
            for score, entry in source.search(words, limit):
                best[entry.record.id] = (score, entry)
        scored = sorted(best.values(), key=lambda pair: (-pair[0], pair[1].mined, pair[1].record.slug))
        return tuple(entry for _, entry in scored[:limit])

    def find(self, text: str, limit: int = 20) -> tuple[Entry, ...]:
        """What `text` names: the record of an id or slug, else those its message matches, else those found by words."""
        entry = self.get(text)
        if entry is not None:
            return (entry,)
        class_name, _, message = text.partition(": ")
        candidates = self.match(class_name, message) if message and class_name.replace(".", "").isidentifier() else ()
        if not candidates or candidates[0].how is How.FUZZY:
            whole = self.match("", text)
            candidates = whole if (whole and whole[0].how is not How.FUZZY) or not candidates else candidates
        return tuple(candidate.entry for candidate in candidates) or self.search(text, limit)

    def import_file(self, path: Path) -> tuple[Entry, ...]:
        """Read records from `path` into the user layer; CatalogError and nothing written where any is broken."""
        items = _items(path)
        home = self._data_dir if self._data_dir is not None else user_data_dir()
        from raiselens_catalog.store import StoreSource, open_store

        user = next((source for source in self._sources if source.layer is Layer.USER), None)
        if not isinstance(user, StoreSource):
            user = StoreSource(Layer.USER, open_store(home / USER_FILE, create=True))
            self._sources = sorted([*self._sources, user], key=lambda source: source.layer)
        with user.store.writing():
            user.store.put_items(items)
        entries = [entry_of_item(item, Layer.USER, str(path)) for item in items]
        self._problems += [entry.problem for entry in entries if entry.problem]
        return tuple(self._newest(entry.record.id) or entry for entry in entries)

    def _candidates(self, hits: list[tuple[Hit, Source]], query: Query) -> Iterator[Candidate]:
        """The records of hits, best first, without those that a later layer hides."""
        hits.sort(key=lambda pair: best_first(pair[0]))
        count = rank = 0
        last: tuple[int, ...] | None = None
        for hit, source in hits:
            key = best_first(hit)
            if key != last:
                last, rank = key, count
            later = [other for other in self._sources if other.layer > source.layer]
            for row in hit.rows:
                record_id = source.id_of(row)
                if not any(other.holds(record_id) for other in later):
                    count += 1
                    yield self._candidate(source, row, hit.how, rank, query)

    def _newest(self, record_id: str) -> Entry | None:
        for at in range(len(self._sources) - 1, -1, -1):
            entry = self._sources[at].get(record_id)
            if entry is not None and entry.record.id == record_id:
                return self._whole(entry, at)
        return None

    def _whole(self, entry: Entry, at: int) -> Entry:
        """An entry of the source at `at` over the entries of its id in the sources before it."""
        for source in reversed(self._sources[:at]):
            hidden = source.get(entry.record.id)
            if hidden is not None and hidden.record.id == entry.record.id:
                entry = entry.over(hidden)
        return entry

    def _candidate(self, source: Source, row: int, how: How, rank: int, query: Query) -> Candidate:
        record_id = source.id_of(row)

        def load() -> Entry:
            entry = self._newest(record_id) or source.get(record_id)
            if entry is None:
                raise CatalogError(f"record {record_id} was removed meanwhile", remedy="ask again")
            return entry

        return Candidate(lambda: source.target(row), record_id, how, rank, query, load)


USER_FILE: Final = "user.sqlite"
BUILT_FILE: Final = "built.sqlite"
STUBS_FOLDER: Final = "stubs"
CACHE_FILE: Final = "bundled.json"
RELATED_LIMIT: Final = 8
# A message this long resembles no template: half of its words would have to stand in it.
_LONGEST_COMPARED: Final = 20_000


def well_formed(text: str) -> str:
    """`text` without halves of characters, as bytes that are no UTF-8 leave in arguments; no length changes."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def records_root() -> Path:
    """The folder of the bundled curated records."""
    return _bundled("records")


def stubs_root() -> Path:
    """The folder of the bundled guard stubs, laid out as import paths: the last resort of a search path."""
    return _bundled("stubs")


def stub_roots() -> tuple[Path, ...]:
    """The folders of guard stubs, those that win first: what was built from libraries (there may be none), then the bundled."""
    return (user_data_dir() / STUBS_FOLDER, stubs_root())


def bundled_layer() -> MemorySource:
    """The layer of the bundled records."""
    return bundled_source(sorted(records_root().glob("*.toml")), user_cache_dir() / CACHE_FILE)


def workspace_files(workspace: Path) -> tuple[Path, ...]:
    """The files of records that a workspace keeps; none where it may not be looked into."""
    try:
        paths = list((workspace / WORKSPACE_FOLDER).iterdir())
    except (OSError, ValueError):
        return ()
    return tuple(sorted(path for path in paths if path.suffix in {".toml", ".json", ".jsonl"}))


def read_records(path: Path, layer: Layer) -> list[Entry]:
    """The entries of one file of records, a TOML family or JSON; CatalogError where it is broken."""
    if path.suffix == ".toml":
        return [entry_of_curated(curated, layer, str(path)) for curated in read_family(path)]
    return [entry_of_item(item, layer, str(path)) for item in _items(path)]


def user_data_dir() -> Path:
    """Where the built and the user layer live: `$RAISELENS_DATA`, else the platform's data folder."""
    named = os.environ.get(DATA_VARIABLE)
    if named:
        return Path(named)
    import platformdirs

    return Path(platformdirs.user_data_dir("raiselens"))


def user_cache_dir() -> Path:
    """Where what can be made again lives: beneath `$RAISELENS_DATA`, else the platform's cache folder."""
    named = os.environ.get(DATA_VARIABLE)
    if named:
        return Path(named) / "cache"
    import platformdirs

    return Path(platformdirs.user_cache_dir("raiselens"))


def _bundled(name: str) -> Path:
    """Inside the package in a wheel, beside it in a checkout."""
    package = Path(__file__).resolve().parent
    inside = package / name
    return inside if inside.is_dir() else package.parent / name


def _items(path: Path) -> tuple[Item, ...]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        # Also a NUL in the path is a ValueError.
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise CatalogError(
            f"cannot be read: {reason}", file=str(path), remedy="check the path, its permissions and its encoding"
        ) from None
    return items_from_text(text, file=str(path))


def _memory(layer: Layer, paths: Iterable[Path], problems: list[str], *, forgiving: bool = False) -> MemorySource:
    """A layer from files of records; `forgiving` leaves out files that are broken."""
    entries: list[Entry] = []
    for path in paths:
        try:
            entries += read_records(path, layer)
        except CatalogError as error:
            if not forgiving:
                raise
            problems.append(str(error))
    problems += [entry.problem for entry in entries if entry.problem]
    return MemorySource(layer, entries)


def _team(path: Path, problems: list[str]) -> Source:
    from raiselens_catalog.store import is_store

    return _stored(Layer.TEAM, path) if is_store(path) else _memory(Layer.TEAM, [path], problems)


def _stored(layer: Layer, path: Path) -> Source:
    from raiselens_catalog.store import StoreSource, open_store

    return StoreSource(layer, open_store(path))
