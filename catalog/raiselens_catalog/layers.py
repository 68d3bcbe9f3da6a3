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

import enum
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from raiselens_catalog.curated import Curated, Sample, read_family
from raiselens_catalog.index import TemplateIndex
from raiselens_catalog.match import (
    Candidate,
    FrameLike,
    Hit,
    HoleLike,
    Target,
    compare,
    compare_fuzzily,
    ranked,
    words_of,
)
from raiselens_catalog.record import CatalogError, Envelope, Guard, Item, Record, dumps, items_from_text
from raiselens_catalog.template import Template

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

DATA_VARIABLE: Final = "RAISELENS_DATA"
"""Environment variable that names the data folder, in place of the platform's own."""

WORKSPACE_FOLDER: Final = ".raiselens/records"
"""Where a workspace keeps records of its own, beneath its root."""

DATASET_VERSION: Final = "2026-11-30T00:00:00.000Z"
"""`datasetVersion` of the bundled records."""


class Layer(enum.IntEnum):
    """Where a record comes from; the greater wins."""

    BUNDLED = 0
    BUILT = 1
    USER = 2
    TEAM = 3
    WORKSPACE = 4


@dataclass(frozen=True, slots=True)
class Entry:
    """A record as the catalog holds it. `origin` is the file it came from."""

    record: Record
    layer: Layer
    template: Template | None
    envelope: Envelope | None = None
    guard: Guard | None = None
    classes: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    matches: tuple[Sample, ...] = ()
    near_misses: tuple[Sample, ...] = ()
    origin: str = ""

    def to_json(self) -> str:
        """The record as it was imported: the same JSON, with its envelope where it had one."""
        return dumps(Item(self.record, self.envelope).to_json())

    def target(self) -> Target | None:
        """What matching needs; None for a record without a usable template."""
        if self.template is None:
            return None
        record = self.record
        names = ((record.error_class,) if record.error_class else ()) + self.classes
        return Target(
            id=record.id,
            slug=record.slug,
            template=self.template,
            class_names=names,
            file=record.file_path or "",
            line=record.line_number or 0,
            function=self.guard.function if self.guard else "",
            layer=self.layer,
        )


class Catalog:
    """All layers, opened. Reading is safe from several threads; `import_file` is for one at a time."""

    def __init__(self, entries: Iterable[Entry], *, data_dir: Path | None = None, problems: Iterable[str] = ()) -> None:
        """Layer `entries`; `data_dir` is where `import_file` writes."""
        self._data_dir = data_dir
        self._problems = list(problems)
        self._entries: dict[str, Entry] = {}
        self._slugs: dict[str, str] = {}
        for entry in sorted(entries, key=lambda entry: entry.layer):
            self._add(entry)
        self._index: TemplateIndex | None = None
        self._targets: list[Target] = []

    @classmethod
    def open(
        cls,
        *,
        catalogs: Sequence[Path] = (),
        workspace: Path | None = None,
        data_dir: Path | None = None,
        bundled: bool = True,
    ) -> Catalog:
        """Open the layers. `catalogs` are the team's files, which must be readable (CatalogError).

        What is broken in the user's or the workspace's files is left out and told by `problems`.
        """
        entries: list[Entry] = []
        problems: list[str] = []
        if bundled:
            for path in sorted(records_root().glob("*.toml")):
                entries += _read(path, Layer.BUNDLED, problems)
        home = data_dir if data_dir is not None else user_data_dir()
        user_file = home / USER_FILE
        if user_file.is_file():
            entries += _read_or_tell(user_file, Layer.USER, problems)
        for path in catalogs:
            entries += _read(path, Layer.TEAM, problems)
        if workspace is not None:
            for path in _catalog_files(workspace / WORKSPACE_FOLDER):
                entries += _read_or_tell(path, Layer.WORKSPACE, problems)
        return cls(entries, data_dir=home, problems=problems)

    @property
    def problems(self) -> tuple[str, ...]:
        """One line for each file or pattern that was left out."""
        return tuple(self._problems)

    def __len__(self) -> int:
        return len(self._entries)

    def entries(self) -> Iterator[Entry]:
        """All entries that are not hidden by a later layer."""
        return iter(self._entries.values())

    def get(self, key: str) -> Entry | None:
        """The entry of an id or a slug; None where unknown."""
        entry = self._entries.get(key)
        return entry if entry is not None else self._entries.get(self._slugs.get(key, ""))

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
        """The entries of an entry's related errors: those it names, else those raised in the same function or file."""
        if entry.related:
            found = [self.get(key) for key in entry.related]
            return tuple(other for other in found if other is not None)
        path = entry.record.file_path
        if not path:
            return ()
        return tuple(
            other
            for other in self._entries.values()
            if other.record.file_path == path
            and other.record.repo == entry.record.repo
            and other.record.id != entry.record.id
        )[:RELATED_LIMIT]

    def match(
        self,
        class_name: str,
        message: str,
        *,
        frames: Sequence[FrameLike] = (),
        holes: Sequence[HoleLike] = (),
        limit: int = 8,
    ) -> tuple[Candidate, ...]:
        """The records that may be an error's own, best first; empty where nothing matches.

        `class_name` is the class as printed, empty where unknown. `frames` are outermost first. `holes` are the unknown
        parts of a foreseen message.
        """
        index = self._indexed()
        compared = (compare(self._targets[row], class_name, message, frames, holes) for row in index.matching(message))
        hits: list[Hit] = [hit for hit in compared if hit is not None]
        if not hits:
            words = words_of(message)
            closer = (compare_fuzzily(target, class_name, words) for target in self._targets)
            hits = [hit for hit in closer if hit is not None]
        return tuple(self._candidate(hit, rank) for hit, rank in ranked(hits)[:limit])

    def match_guard(self, qualname: str, condition: str) -> Entry | None:
        """The entry of the guard with this dotted name (module and function) and condition; None where unknown."""
        for entry in self._entries.values():
            guard = entry.guard
            if guard and guard.condition == condition and f"{guard.module}.{guard.qualname}" == qualname:
                return entry
        return None

    def search(self, text: str, limit: int = 20) -> tuple[Entry, ...]:
        """The entries that hold all words of `text` (as word beginnings), those with more of them in front first."""
        words = words_of(text)
        if not words:
            return ()
        scored = [(score, entry) for entry in self._entries.values() if (score := _search_score(entry, words))]
        scored.sort(key=lambda pair: (-pair[0], pair[1].record.slug))
        return tuple(entry for _, entry in scored[:limit])

    def find(self, text: str, limit: int = 20) -> tuple[Entry, ...]:
        """What `text` names: the record of an id or slug, else those its message matches, else those found by words."""
        entry = self.get(text)
        if entry is not None:
            return (entry,)
        class_name, _, message = text.partition(": ")
        candidates = self.match("", text) or (self.match(class_name, message) if message else ())
        return tuple(candidate.entry for candidate in candidates) or self.search(text, limit)

    def import_file(self, path: Path) -> tuple[Entry, ...]:
        """Read records from `path` into the user layer; CatalogError and nothing written where any is broken."""
        items = _items(path)
        home = self._data_dir if self._data_dir is not None else user_data_dir()
        kept = {item.record.id: item for item in _items(home / USER_FILE)} if (home / USER_FILE).is_file() else {}
        kept |= {item.record.id: item for item in items}
        _write_whole(home / USER_FILE, "".join(dumps(item.to_json()) + "\n" for item in kept.values()))
        entries = [_entry(Curated(item.record), Layer.USER, str(path), self._problems, item.envelope) for item in items]
        for entry in entries:
            if entry.record.id not in self._entries or self._entries[entry.record.id].layer <= Layer.USER:
                self._add(entry)
        self._index = None
        return tuple(self._entries[entry.record.id] for entry in entries)

    def _add(self, entry: Entry) -> None:
        hidden = self._entries.get(entry.record.id)
        if hidden is not None:
            entry = replace(
                entry,
                guard=entry.guard or hidden.guard,
                classes=entry.classes or hidden.classes,
                related=entry.related or hidden.related,
            )
            self._slugs.pop(hidden.record.slug, None)
        self._entries[entry.record.id] = entry
        self._slugs[entry.record.slug] = entry.record.id

    def _indexed(self) -> TemplateIndex:
        index = self._index
        if index is None:
            targets = [target for entry in self._entries.values() if (target := entry.target()) is not None]
            index = TemplateIndex.build([target.template for target in targets])
            self._targets, self._index = targets, index
        return index

    def _candidate(self, hit: Hit, rank: int) -> Candidate:
        entry = self._entries[hit.target.id]
        return Candidate(hit.target.id, hit.target.slug, hit.how, hit.captures, rank, lambda: entry)


USER_FILE: Final = "records.jsonl"
RELATED_LIMIT: Final = 8


def records_root() -> Path:
    """The folder of the bundled curated records."""
    return _bundled("records")


def stubs_root() -> Path:
    """The folder of the bundled guard stubs, laid out as import paths: the last resort of a search path."""
    return _bundled("stubs")


def user_data_dir() -> Path:
    """Where the built and the user layer live: `$RAISELENS_DATA`, else the platform's data folder."""
    named = os.environ.get(DATA_VARIABLE)
    if named:
        return Path(named)
    import platformdirs

    return Path(platformdirs.user_data_dir("raiselens"))


def _bundled(name: str) -> Path:
    """Inside the package in a wheel, beside it in a checkout."""
    package = Path(__file__).resolve().parent
    inside = package / name
    return inside if inside.is_dir() else package.parent / name


def _catalog_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*") if path.suffix in {".toml", ".json", ".jsonl"})


def _items(path: Path) -> tuple[Item, ...]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise CatalogError(
            f"cannot be read: {reason}", file=str(path), remedy="check the path, its permissions and its encoding"
        ) from None
    return items_from_text(text, file=str(path))


def _read(path: Path, layer: Layer, problems: list[str]) -> list[Entry]:
    if path.suffix == ".toml":
        return [_entry(curated, layer, str(path), problems) for curated in read_family(path)]
    return [_entry(Curated(item.record), layer, str(path), problems, item.envelope) for item in _items(path)]


def _read_or_tell(path: Path, layer: Layer, problems: list[str]) -> list[Entry]:
    try:
        return _read(path, layer, problems)
    except CatalogError as error:
        problems.append(str(error))
        return []


def _entry(curated: Curated, layer: Layer, origin: str, problems: list[str], envelope: Envelope | None = None) -> Entry:
    record = curated.record
    template: Template | None
    try:
        if record.message_pattern is not None:
            template = Template.from_pattern(record.message_pattern, record.error_message)
        else:
            template = Template.from_message(record.error_message)
    except CatalogError as error:
        problems.append(f"{origin}: record {record.id}: {error}")
        template = None
    if layer is Layer.BUNDLED:
        envelope = Envelope(extras={"datasetVersion": DATASET_VERSION})
    return Entry(
        record=record,
        layer=layer,
        template=template,
        envelope=envelope,
        guard=curated.guard,
        classes=curated.classes,
        related=curated.related,
        matches=curated.matches,
        near_misses=curated.near_misses,
        origin=origin,
    )


def _search_score(entry: Entry, words: Sequence[str]) -> int:
    """Three for a word of the title, two for one of slug, class or tags, one for one of the text; 0 if one is missing."""
    record = entry.record
    fields = (
        (3, record.error_message),
        (2, f"{record.id} {record.slug} {record.error_class or ''} {' '.join(record.tags)} {record.repo}"),
        (1, f"{record.documentation or ''} {record.trigger_scenarios or ''} {record.common_situations or ''}"),
    )
    found = [(weight, text.lower()) for weight, text in fields]
    scores = [max((weight for weight, text in found if word in text), default=0) for word in words]
    return sum(scores) if all(scores) else 0


def _write_whole(path: Path, text: str) -> None:
    """Replace a file at once: a reader sees the old text or the new one."""
    import tempfile

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False, newline="\n") as handle:
            handle.write(text)
        Path(handle.name).replace(path)
    except OSError as error:
        raise CatalogError(
            f"cannot be written: {error.strerror}",
            file=str(path),
            remedy=f"free the folder or name another by {DATA_VARIABLE}",
        ) from None
