"""Curated records: TOML families, one file each, written by people.

A file holds `[family]`, defaults for all of its records, and `[[record]]` tables. Keys are the schema's own; beside
them stand what the schema has no place for: `guard` (`module`, `qualname`, `condition`, `param`), `classes` (other
classes the error is seen with), `related` (ids or slugs), and the record's own tests: `matches` and `nearMisses`, lists of
`{class, message}`, and `setup`, which says that `exampleFix` can be run: behind `import torch` and this code its
first half raises the error and its second half does not. Derived unless given: `id`, `slug`, `messagePattern`, `githubUrl`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from raiselens_catalog.record import SOURCE_CONTEXT, CatalogError, Guard, Record, record_from_json, schema_keys
from raiselens_catalog.template import Template, record_id, slug

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Sample:
    """An error as it was printed: its class (empty: unknown) and its message."""

    class_name: str
    message: str


@dataclass(frozen=True, slots=True)
class Curated:
    """A curated record with what stands beside it in its file."""

    record: Record
    guard: Guard | None = None
    classes: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    matches: tuple[Sample, ...] = ()
    near_misses: tuple[Sample, ...] = ()
    setup: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """One `[[record]]` with its family's defaults, and where it stands: a curated record before it is checked."""

    keys: Mapping[str, Any]
    file: str
    line: int | None

    def curated(self) -> Curated:
        """The record; CatalogError naming file and line where the table is broken."""
        return _curated(self.keys, self.file, self.line)


def read_family(path: Path) -> tuple[Curated, ...]:
    """Read one TOML family; CatalogError naming file and line where it is broken."""
    return tuple(table.curated() for table in read_tables(path))


def read_tables(path: Path) -> tuple[Table, ...]:
    """Read the tables of one TOML family, without looking into them."""
    return tuple(_tables(_text_of(path), str(path)))


def family_from_text(text: str, *, file: str = "") -> tuple[Curated, ...]:
    """Read the text of a TOML family."""
    return tuple(table.curated() for table in _tables(text, file))


def _tables(text: str, file: str) -> list[Table]:
    document = _toml(text, file)
    unknown = set(document) - {"family", "record"}
    if unknown:
        raise CatalogError(
            f"unknown table `{min(unknown)}`", file=file, remedy="a family holds [family] and [[record]] only"
        )
    defaults = document.get("family", {})
    tables = document.get("record", [])
    if not isinstance(defaults, dict) or not isinstance(tables, list) or not tables:
        raise CatalogError("no [[record]] in it", file=file, remedy="add at least one [[record]]")
    heads = [number for number, line in enumerate(text.split("\n"), start=1) if _RECORD_HEAD.match(line)]
    lines: list[int | None] = [*heads] if len(heads) == len(tables) else [None] * len(tables)
    return [Table({**defaults, **table}, file, line) for table, line in zip(tables, lines, strict=True)]


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise CatalogError(
            f"cannot be read: {reason}", file=str(path), remedy="check the path, its permissions and its encoding"
        ) from None


_RECORD_HEAD: Final = re.compile(r"\s*\[\[\s*record\s*\]\]")
_BESIDE: Final = frozenset({"guard", "module", "qualname", "classes", "related", "matches", "nearMisses", "setup"})
_TOML_LINE: Final = re.compile(r"\(at line (\d+), column \d+\)|\(at end of document\)")


def _toml(text: str, file: str) -> dict[str, Any]:
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found = _TOML_LINE.search(str(error))
        line = int(found[1]) if found and found[1] else text.count("\n") + 1
        reason = _TOML_LINE.sub("", str(error)).strip()
        raise CatalogError(f"not TOML: {reason}", file=file, line=line, remedy="correct the line") from None


def _curated(table: Mapping[str, Any], file: str, line: int | None) -> Curated:
    known = set(schema_keys()) | _BESIDE
    for key in table:
        if key not in known:
            raise CatalogError(
                f"unknown key `{key}`", file=file, line=line, remedy="use the schema's keys; see CONTRIBUTING.md"
            )
    message = table.get("errorMessage")
    if not isinstance(message, str) or not message:
        raise CatalogError("the record has no `errorMessage`", file=file, line=line, remedy="add `errorMessage`")
    record = record_from_json(_completed(table, message), file=file, line=line)
    return Curated(
        record=record,
        guard=_guard(table, file, line),
        classes=_texts(table, "classes", file, line),
        related=_texts(table, "related", file, line),
        matches=_samples(table, "matches", file, line),
        near_misses=_samples(table, "nearMisses", file, line),
        setup=_text(table, "setup", file, line),
    )


def _completed(table: Mapping[str, Any], message: str) -> dict[str, Any]:
    """The schema's keys in its order, the derived ones filled in."""
    template = Template.from_message(message)
    repo, path = table.get("repo"), table.get("filePath")
    at, sha = table.get("lineNumber"), table.get("analyzedSha")
    derived: dict[str, Any] = {
        "id": record_id(str(repo), str(path or ""), str(table.get("errorClass") or ""), message),
        "slug": slug(template),
        "messagePattern": template.pattern,
        "severity": "error",
        "schemaVersion": 2,
    }
    if repo and path and sha and isinstance(at, int):
        span = f"L{max(1, at - SOURCE_CONTEXT)}-L{at + SOURCE_CONTEXT}"
        derived["githubUrl"] = f"https://github.com/{repo}/blob/{sha}/{path}#{span}"
    return {key: _plain(table.get(key, derived.get(key))) for key in schema_keys()}


def _plain(value: Any) -> Any:
    """Texts lose the line breaks that TOML's long strings put around them."""
    return value.strip("\n") if isinstance(value, str) else value


def _guard(table: Mapping[str, Any], file: str, line: int | None) -> Guard | None:
    given = table.get("guard")
    if given is None:
        return None
    parts = {"module": table.get("module"), "qualname": table.get("qualname")}
    if isinstance(given, dict):
        parts |= given
    texts = {key: value for key, value in parts.items() if isinstance(value, str)}
    if len(texts) != len(parts) or not {"module", "qualname", "condition"} <= set(texts) <= _GUARD_KEYS:
        raise CatalogError(
            "`guard` is not complete",
            file=file,
            line=line,
            remedy="give `module`, `qualname`, `condition` (and `param`), all strings",
        )
    return Guard(texts["module"], texts["qualname"], texts["condition"], texts.get("param"))


_GUARD_KEYS: Final = frozenset({"module", "qualname", "condition", "param"})


def _text(table: Mapping[str, Any], key: str, file: str, line: int | None) -> str | None:
    value = table.get(key)
    if value is not None and not isinstance(value, str):
        raise CatalogError(f"`{key}` must be a string", file=file, line=line, remedy=f"correct `{key}`")
    return value


def _texts(table: Mapping[str, Any], key: str, file: str, line: int | None) -> tuple[str, ...]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        raise CatalogError(f"`{key}` must be a list of strings", file=file, line=line, remedy=f"correct `{key}`")
    return tuple(value)


def _samples(table: Mapping[str, Any], key: str, file: str, line: int | None) -> tuple[Sample, ...]:
    value = table.get(key, [])
    if not isinstance(value, list):
        value = [None]
    samples: list[Sample] = []
    for given in value:
        fine = isinstance(given, dict) and set(given) <= {"class", "message"} and isinstance(given.get("message"), str)
        if not fine or not isinstance(given.get("class", ""), str):
            raise CatalogError(
                f"`{key}` must be a list of {{class, message}} tables", file=file, line=line, remedy=f"correct `{key}`"
            )
        samples.append(Sample(given.get("class", ""), given["message"]))
    return tuple(samples)
