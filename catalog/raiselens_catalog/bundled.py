"""The bundled layer, read fast: TOML is parsed once, and a record is made when it is first asked for.

Parsing the families and building their table takes some hundred milliseconds. Both are kept in one cache file for as
long as no family changes; a cache that is missing, broken or out of date is made again, and one that cannot be written
is done without.
"""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from raiselens_catalog.curated import Table, read_tables
from raiselens_catalog.entry import Entry, Layer, entry_of_curated
from raiselens_catalog.memory import MemorySource
from raiselens_catalog.record import Envelope
from raiselens_catalog.table import MatchTable

if TYPE_CHECKING:
    from collections.abc import Sequence

DATASET_VERSION: Final = "2026-11-30T00:00:00.000Z"
"""`datasetVersion` of the bundled records."""

_CACHE_VERSION: Final = 3


class TableEntries(Mapping[str, Entry]):
    """Entries by id, each made from its table on first use."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        """`tables` by the ids of their records."""
        self._tables = tables
        self._made: dict[str, Entry] = {}

    def __getitem__(self, record_id: str) -> Entry:
        entry = self._made.get(record_id)
        if entry is None:
            entry = self._made[record_id] = _entry(self._tables[record_id])
        return entry

    def __contains__(self, record_id: object) -> bool:
        return record_id in self._tables

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)


def bundled_source(paths: Sequence[Path], cache: Path) -> MemorySource:
    """The families at `paths` as the bundled layer; CatalogError where one is broken."""
    stamp = [[str(path), *_stamp(path)] for path in paths]
    return _cached(cache, stamp) or _read(paths, cache, stamp)


def _read(paths: Sequence[Path], cache: Path, stamp: list[list[Any]]) -> MemorySource:
    tables = [table for path in paths for table in read_tables(path)]
    entries = [_entry(table) for table in tables]
    source = MemorySource(Layer.BUNDLED, {entry.record.id: entry for entry in entries})
    rows = [
        [entry.record.id, entry.record.slug, table.keys, table.file, table.line]
        for entry, table in zip(entries, tables, strict=True)
    ]
    _keep(cache, {"version": _CACHE_VERSION, "stamp": stamp, "rows": rows, "table": source.table.dump()})
    return source


def _entry(table: Table) -> Entry:
    envelope = Envelope(extras={"datasetVersion": DATASET_VERSION})
    return entry_of_curated(table.curated(), Layer.BUNDLED, table.file, envelope)


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_size)


def _cached(cache: Path, stamp: list[list[Any]]) -> MemorySource | None:
    try:
        kept = json.loads(cache.read_bytes())
        if kept["version"] != _CACHE_VERSION or kept["stamp"] != stamp:
            return None
        tables = {record_id: Table(keys, file, line) for record_id, _, keys, file, line in kept["rows"]}
        slugs = {slug: record_id for record_id, slug, *_ in kept["rows"]}
        table = MatchTable.load(base64.b64decode(kept["table"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return MemorySource(Layer.BUNDLED, TableEntries(tables), slugs=slugs, table=table)


def _keep(cache: Path, contents: dict[str, Any]) -> None:
    """Write the cache at once or not at all."""
    import tempfile

    temporary: Path | None = None
    try:
        text = json.dumps(contents | {"table": base64.b64encode(contents["table"]).decode()})
        cache.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=cache.parent, delete=False) as handle:
            temporary = Path(handle.name)
            handle.write(text)
        temporary.replace(cache)
    except (OSError, TypeError, ValueError):
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()
