"""A layer that is held in memory: curated families and small files of records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from raiselens_catalog.match import Hit, How, class_agrees, fuzzy_score
from raiselens_catalog.table import MatchTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from raiselens_catalog.entry import Entry, Layer
    from raiselens_catalog.match import Query, Target

_MOST_CLASSES = 1_000


class MemorySource:
    """Entries of one layer; of two with one id the later is kept."""

    def __init__(
        self,
        layer: Layer,
        entries: Iterable[Entry] | Mapping[str, Entry],
        *,
        slugs: Mapping[str, str] | None = None,
        table: MatchTable | None = None,
    ) -> None:
        """Take `entries` in, or serve a mapping by id as it is. `slugs` (to ids) and `table` spare making them."""
        self.layer = layer
        self._entries = entries if isinstance(entries, Mapping) else {entry.record.id: entry for entry in entries}
        self._slugs = slugs
        self._table = table
        self._classes: dict[str, list[tuple[int, Target]]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def entries(self) -> Iterator[Entry]:
        """All entries."""
        return iter(self._entries.values())

    def get(self, key: str) -> Entry | None:
        """The entry of an id or a slug."""
        if self._slugs is None:
            self._slugs = {entry.record.slug: entry.record.id for entry in self._entries.values()}
        return self._entries.get(key) or self._entries.get(self._slugs.get(key, ""))

    def holds(self, record_id: str) -> bool:
        """Whether it has a record of this id."""
        return record_id in self._entries

    @property
    def table(self) -> MatchTable:
        """What matching compares; made on first use. Its rows are those of `hits`."""
        if self._table is None:
            targets = (entry.target() for entry in self._entries.values())
            self._table = MatchTable.build([target for target in targets if target is not None])
        return self._table

    def hits(self, query: Query) -> Iterator[Hit]:
        """The records whose template is the whole message."""
        return self.table.hits(query, self.layer)

    def fuzzy_hits(self, query: Query, words: Sequence[str]) -> Iterator[Hit]:
        """The records that are close."""
        for row, target in self._of_class(query.class_tail):
            score = fuzzy_score(target, query, words)
            if score is not None:
                yield Hit(How.FUZZY, score, (row,))

    def _of_class(self, class_tail: str) -> list[tuple[int, Target]]:
        """The rows whose records may be of the class, all where none is named; most of the others' are never made."""
        known = self._classes.get(class_tail)
        if known is None:
            rows = ((row, self.target(row)) for row in range(len(self.table.ids)))
            known = [each for each in rows if not class_tail or class_agrees(each[1].class_names, class_tail)]
            if len(self._classes) < _MOST_CLASSES:
                self._classes[class_tail] = known
        return known

    def id_of(self, row: int) -> str:
        """The id of a hit's row."""
        return self.table.ids[row]

    def target(self, row: int) -> Target:
        """What matching knows of a hit's row."""
        target = self._entries[self.table.ids[row]].target()
        if target is None:
            raise LookupError(f"row {row} of the table has no template")
        return target

    def search(self, words: Sequence[str], limit: int) -> list[tuple[int, Entry]]:
        """The entries that hold all words, with a score."""
        del limit
        return [(score, entry) for entry in self._entries.values() if (score := search_score(entry, words))]

    def near(self, entry: Entry) -> Iterator[Entry]:
        """The entries raised in the same function, then those raised in the same file."""
        path = entry.record.file_path
        others = [
            other
            for other in self._entries.values()
            if path and other.record.file_path == path and other.record.id != entry.record.id
        ]
        same = [
            other for other in others if other.guard and entry.guard and other.guard.qualname == entry.guard.qualname
        ]
        yield from same
        yield from (other for other in others if other not in same)


def search_score(entry: Entry, words: Sequence[str]) -> int:
    """Three for a word of the message, two for one of the names, one for one of the prose; 0 if one is missing."""
    record = entry.record
    fields = (
        (3, record.error_message),
        (2, f"{record.id} {record.slug} {record.error_class or ''} {' '.join(record.tags)} {record.repo}"),
        (1, f"{record.documentation or ''} {record.trigger_scenarios or ''} {record.common_situations or ''}"),
    )
    found = [(weight, text.lower()) for weight, text in fields]
    scores = [max((weight for weight, text in found if word in text), default=0) for word in words]
    return sum(scores) if all(scores) else 0
