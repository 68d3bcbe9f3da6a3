"""A layer on disk: one SQLite file that several processes may read while one writes.

A row is a record that was imported (its JSON, kept whole) or a site that was mined (its few facts, from which the
record is made when it is read). The template index is stored as one blob, so opening costs milliseconds whatever the
number of rows; texts are searched with FTS5. Writers replace rows and index in one transaction: a reader sees the old
catalog or the new one, and an interrupted build leaves the old one.
"""

from __future__ import annotations

import json
import sqlite3
from array import array
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from raiselens_catalog.describe import Origin, entry_of_site
from raiselens_catalog.entry import Entry, Layer, entry_of_item
from raiselens_catalog.match import Hit, How, Target, fuzzy_score
from raiselens_catalog.mine import Kind, Site
from raiselens_catalog.record import CatalogError, dumps, item_from_json, with_source
from raiselens_catalog.table import MatchTable
from raiselens_catalog.template import Hole, Template
from raiselens_catalog.template import slug as slug_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from raiselens_catalog.match import Query
    from raiselens_catalog.record import Item

APPLICATION: Final = 0x524C4E53
VERSION: Final = 1
BUSY_SECONDS: Final = 10.0
CACHED_TARGETS: Final = 16_384
"""Targets kept in memory; a store of more forgets them all and begins again, which costs a query each."""

CLOSE_ROWS: Final = 60
"""Rows that a fuzzy comparison looks at."""

_SCHEMA: Final = """
CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE target(
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, version TEXT NOT NULL, repo TEXT NOT NULL,
    root TEXT NOT NULL, mined_at TEXT NOT NULL);
CREATE TABLE file(
    id INTEGER PRIMARY KEY, target INTEGER NOT NULL REFERENCES target(id), path TEXT NOT NULL, stamp TEXT NOT NULL,
    counts TEXT NOT NULL, UNIQUE(target, path));
CREATE TABLE record(
    row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, slug TEXT NOT NULL, file INTEGER REFERENCES file(id),
    qualname TEXT NOT NULL, body TEXT NOT NULL);
CREATE INDEX record_slug ON record(slug);
CREATE INDEX record_file ON record(file);
CREATE TABLE blob(name TEXT PRIMARY KEY, data BLOB NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(title, names, prose);
"""
UPGRADES: Final[Mapping[int, str]] = {}
"""By the version they start from: what brings a store's tables to the next one, as SQL. One for each released version."""

_ROW: Final = (
    "SELECT record.id, record.slug, record.body, record.qualname, file.path, target.repo, target.version, target.root,"
    " target.mined_at FROM record LEFT JOIN file ON file.id = record.file LEFT JOIN target ON target.id = file.target"
)


class Store:
    """An open store; one connection, for one thread at a time."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        """Use `open_store`."""
        self.path = path
        self.connection = connection

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that is kept whole or not at all; the index is made anew at its end."""
        try:
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self._index()
            except BaseException:
                if self.connection.in_transaction:  # of a full disk SQLite itself has taken all back
                    self.connection.execute("ROLLBACK")
                raise
            self.connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise _broken(self.path, error) from None

    def put_items(self, items: Iterable[Item]) -> None:
        """Add imported records, in place of those with their ids; inside `writing`."""
        for item in items:
            record = item.record
            self._delete("SELECT row FROM record WHERE id = ?", record.id)
            cursor = self.connection.execute(
                "INSERT INTO record(id, slug, file, qualname, body) VALUES (?, ?, NULL, '', ?)",
                (record.id, record.slug, dumps(item.to_json())),
            )
            prose = " ".join(filter(None, (record.documentation, record.trigger_scenarios, record.common_situations)))
            names = " ".join((record.id, record.slug, record.error_class or "", record.repo, *record.tags))
            self._words(cursor.lastrowid, record.error_message, names, prose)

    def put_sites(self, file: int, path: str, sites: Iterable[tuple[str, Site]]) -> None:
        """Add the mined sites of a file, each with its id; inside `writing`."""
        (row,) = self.connection.execute("SELECT coalesce(max(row), 0) FROM record").fetchone()
        records: list[tuple[Any, ...]] = []
        words: list[tuple[Any, ...]] = []
        for record_id, site in sites:
            row += 1
            body = [site.kind.value, site.line, site.class_name, _dump_parts(site.template), site.condition]
            records.append((row, record_id, slug_of(site.template), file, site.qualname, _compact(body)))
            names = f"{site.class_name} {path} {site.qualname}"
            words.append((row, *map(_well_formed, (site.template.message, names, site.condition))))
        self.connection.executemany(
            "INSERT OR REPLACE INTO record(row, id, slug, file, qualname, body) VALUES (?, ?, ?, ?, ?, ?)", records
        )
        self.connection.executemany("INSERT INTO words(rowid, title, names, prose) VALUES (?, ?, ?, ?)", words)

    def forget_file(self, file: int) -> None:
        """Remove a file and its records; inside `writing`."""
        self._delete("SELECT row FROM record WHERE file = ?", file)
        self.connection.execute("DELETE FROM file WHERE id = ?", (file,))

    def entry_rows(self, where: str, parameters: Sequence[Any]) -> Iterator[Sequence[Any]]:
        """The rows of records, joined with file and target."""
        try:
            yield from self.connection.execute(f"{_ROW} {where}", parameters)
        except sqlite3.Error as error:
            raise _broken(self.path, error) from None

    def _delete(self, query: str, key: str | int) -> None:
        rows = self.connection.execute(query, (key,)).fetchall()
        self.connection.executemany("DELETE FROM words WHERE rowid = ?", rows)
        self.connection.executemany("DELETE FROM record WHERE row = ?", rows)

    def _words(self, row: int | None, title: str, names: str, prose: str) -> None:
        texts = map(_well_formed, (title, names, prose))
        self.connection.execute("INSERT INTO words(rowid, title, names, prose) VALUES (?, ?, ?, ?)", (row, *texts))

    def _index(self) -> None:
        rows, targets = array("I"), []
        for row, *values in self.connection.execute(_ROW.replace("SELECT ", "SELECT record.row, ", 1)):
            target = _target_of_row(values, Layer.BUILT)
            if target is not None and target.template.weight:
                rows.append(row)
                targets.append(target)
        table = MatchTable.build(targets).dump()
        self.connection.executemany(
            "INSERT OR REPLACE INTO blob VALUES (?, ?)", [("table", table), ("rows", rows.tobytes())]
        )


def open_store(path: Path, *, create: bool = False) -> Store:
    """Open a store; CatalogError where the file is no store, is broken, or comes from a newer version."""
    if not create and not path.is_file():
        raise CatalogError("no such catalog", file=str(path), remedy="make it with `raiselens catalog build`")
    try:
        if create:
            path.parent.mkdir(parents=True, exist_ok=True)
        mode = "rwc" if create else "rw"
        uri = f"{path.resolve().as_uri()}?mode={mode}"
        try:
            connection = _connect(uri)
        except sqlite3.OperationalError:
            connection = _connect(f"{path.resolve().as_uri()}?mode=ro")
    except (OSError, sqlite3.Error) as error:
        raise _broken(path, error) from None
    try:
        _migrate(connection, path)
    except sqlite3.Error as error:
        connection.close()
        raise _broken(path, error) from None
    except CatalogError:
        connection.close()
        raise
    return Store(path, connection)


def is_store(path: Path) -> bool:
    """Whether a file begins as SQLite files do."""
    try:
        with path.open("rb") as handle:
            return handle.read(16) == b"SQLite format 3\0"
    except (OSError, ValueError):
        return False


class StoreSource:
    """A store as a layer. It notices when another process has written and reads the index anew."""

    def __init__(self, layer: Layer, store: Store) -> None:
        """Serve `store` as `layer`."""
        self.layer = layer
        self.store = store
        self._loaded: tuple[int, int] | None = None
        self._table = MatchTable.build([])
        self._rows = array("I")
        self._targets: dict[int, Target] = {}

    def __len__(self) -> int:
        count: int = self.store.connection.execute("SELECT count(*) FROM record").fetchone()[0]
        return count

    def entries(self) -> Iterator[Entry]:
        """All entries, read one by one."""
        return (self._entry(row) for row in self.store.entry_rows("ORDER BY record.row", ()))

    def get(self, key: str) -> Entry | None:
        """The entry of an id or a slug, with its source where the file it was mined from is unchanged."""
        for column in ("id", "slug"):
            for row in self.store.entry_rows(f"WHERE record.{column} = ? ORDER BY record.row LIMIT 1", (key,)):
                return _with_excerpt(self._entry(row))
        return None

    def holds(self, record_id: str) -> bool:
        """Whether it has a record of this id."""
        query = "SELECT 1 FROM record WHERE id = ?"
        return self.store.connection.execute(query, (record_id,)).fetchone() is not None

    def hits(self, query: Query) -> Iterator[Hit]:
        """The records whose template is the whole message."""
        self._refresh()
        return self._table.hits(query, self.layer)

    def fuzzy_hits(self, query: Query, words: Sequence[str]) -> Iterator[Hit]:
        """The records that are close, among those that share the most telling words with the message."""
        self._refresh()
        places = {row: at for at, row in enumerate(self._rows)}
        for row, _ in self._search(" OR ".join(_quoted(word) for word in words[:_FUZZY_WORDS]), CLOSE_ROWS):
            if row in places:
                score = fuzzy_score(self.target(places[row]), query, words)
                if score is not None:
                    yield Hit(How.FUZZY, score, (places[row],))

    def id_of(self, row: int) -> str:
        """The id of a hit's row."""
        return self._table.ids[row]

    def target(self, row: int) -> Target:
        """What matching knows of a hit's row."""
        target = self._targets.get(row)
        if target is None:
            for values in self.store.entry_rows("WHERE record.row = ?", (self._rows[row],)):
                target = _target_of_row(values, self.layer)
            if target is None:
                raise CatalogError("it changed meanwhile", file=str(self.store.path), remedy="ask again")
            if len(self._targets) >= CACHED_TARGETS:
                self._targets.clear()
            self._targets[row] = target
        return target

    def search(self, words: Sequence[str], limit: int) -> list[tuple[int, Entry]]:
        """The entries that hold all words (as beginnings of words), with a score from the database's ranking."""
        found: list[tuple[int, Entry]] = []
        for row, rank in self._search(" ".join(f"{_quoted(word)}*" for word in words), limit):
            score = max(1, min(3 * len(words), int(-rank)))
            found += [(score, self._entry(values)) for values in self.store.entry_rows("WHERE record.row = ?", (row,))]
        return found

    def near(self, entry: Entry) -> Iterator[Entry]:
        """The entries raised in the same function, then those raised in the same file."""
        qualname = entry.guard.qualname if entry.guard else ""
        where = (
            "WHERE record.file = (SELECT file FROM record WHERE id = ?) AND record.id != ?"
            " ORDER BY record.qualname != ?, record.row LIMIT 16"
        )
        key = entry.record.id
        return (self._entry(row) for row in self.store.entry_rows(where, (key, key, qualname)))

    def _search(self, query: str, limit: int) -> list[tuple[int, float]]:
        if not query:
            return []
        try:
            return self.store.connection.execute(
                "SELECT rowid, bm25(words, 3.0, 2.0, 1.0) AS rank FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?",
                (query, limit),
            ).fetchall()
        except sqlite3.Error as error:
            raise _broken(self.store.path, error) from None

    def _refresh(self) -> None:
        try:
            status = self.store.path.stat()
            stamp = (status.st_mtime_ns, status.st_size)
            if stamp == self._loaded:
                return
            blobs = dict(self.store.connection.execute("SELECT name, data FROM blob"))
            self._rows = array("I")
            self._rows.frombytes(blobs.get("rows", b""))
            self._table = MatchTable.load(blobs["table"]) if "table" in blobs else MatchTable.build([])
            self._targets.clear()
            self._loaded = stamp
        except (OSError, ValueError, sqlite3.Error) as error:
            raise _broken(self.store.path, error) from None

    def _entry(self, row: Sequence[Any]) -> Entry:
        return entry_of_row(row, self.layer, str(self.store.path))


def entry_of_row(row: Sequence[Any], layer: Layer, store: str) -> Entry:
    """The entry of a row as `_ROW` selects it."""
    record_id, _, body, qualname, path, repo, version, root, mined_at = row
    value = json.loads(body)
    if isinstance(value, dict):
        return entry_of_item(item_from_json(value), layer, store)
    kind, line, class_name, parts, condition = value
    site = Site(Kind(kind), line, class_name, _load_parts(parts), qualname, condition)
    entry = entry_of_site(site, record_id, Origin(repo, version, path, mined_at), source=f"{root}/{path}")
    return entry if layer is Layer.BUILT else replace(entry, layer=layer)


def _target_of_row(row: Sequence[Any], layer: Layer) -> Target | None:
    """What matching needs of a row, without making the whole record."""
    record_id, slug, body, qualname, path, *_ = row
    value = json.loads(body)
    if isinstance(value, dict):
        return entry_of_item(item_from_json(value), layer, "").target()
    _, line, class_name, parts, _ = value
    return Target(
        id=record_id,
        slug=slug,
        template=_load_parts(parts),
        class_names=(class_name,),
        file=path,
        line=line,
        function=qualname.rpartition(".")[2],
        layer=layer,
        mined=True,
    )


_FUZZY_WORDS: Final = 24


def _with_excerpt(entry: Entry) -> Entry:
    """The entry with the lines around its raise, where the file it was mined from can still be read."""
    if not entry.mined:
        return entry
    # Imported late: matching needs no archives.
    from raiselens_catalog.package import read_origin

    try:
        text = read_origin(entry.origin).decode("utf-8", "replace")
    except (OSError, ValueError):
        return entry
    return replace(entry, record=with_source(entry.record, text))


def _connect(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=64
    )
    connection.execute("PRAGMA foreign_keys = OFF")
    return connection


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the tables to `VERSION`, all steps or none."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables and application != APPLICATION:
        raise CatalogError("it is a database of another program", file=str(path), remedy="name a catalog")
    if version > VERSION:
        raise CatalogError(
            f"it was written by a newer raiselens (catalog version {version})",
            file=str(path),
            remedy="update raiselens, or build the catalog again",
        )
    if not tables:
        connection.executescript(
            f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; COMMIT;"
        )
    elif version < VERSION:
        _upgrade(connection)


def _upgrade(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have taken the steps while this one waited for its turn.
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        for step in range(version, VERSION):
            for statement in UPGRADES[step].split(";"):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _dump_parts(template: Template) -> list[str | list[str]]:
    return [part if isinstance(part, str) else [part.expr] for part in template.parts]


def _load_parts(parts: Iterable[str | list[str]]) -> Template:
    return Template(tuple(part if isinstance(part, str) else Hole(part[0]) for part in parts))


def _well_formed(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


def _broken(path: Path, error: Exception) -> CatalogError:
    if isinstance(error, OSError):
        return CatalogError(f"cannot be opened: {error.strerror}", file=str(path), remedy="check the path")
    text = str(error)
    if "locked" in text:
        return CatalogError("another process is writing to it", file=str(path), remedy="wait for it to finish")
    return CatalogError(f"cannot be used: {text}", file=str(path), remedy=_remedy(path, text))


def _remedy(path: Path, text: str) -> str:
    """What helps against a failure of SQLite; a file that is whole is never to be removed."""
    if "full" in text:
        return "make room on its disk and try again; what it held is unchanged"
    if path.is_dir():
        return "that is a folder; name a file"
    if "not a database" in text:
        return "that is no catalog; move it away or name another file"
    if "malformed" in text or "no such" in text:
        return "it is damaged; remove it and build or import again"
    return "check the path, its permissions and its disk"
