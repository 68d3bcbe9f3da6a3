"""`catalog lint`: what is wrong with records that people write.

Broken files are problems like any other here, so that one run tells all.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from raiselens_catalog.entry import Entry, Layer
from raiselens_catalog.layers import Catalog, bundled_layer, read_records
from raiselens_catalog.match import How
from raiselens_catalog.memory import MemorySource
from raiselens_catalog.record import CatalogError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

COMPLETE: Final = {
    "documentation": "documentation",
    "triggerScenarios": "trigger_scenarios",
    "commonSituations": "common_situations",
    "solutions": "solutions",
    "exampleFix": "example_fix",
    "handlingStrategy": "handling_strategy",
    "validationCode": "validation_code",
    "typeGuard": "type_guard",
    "tryCatchPattern": "try_catch_pattern",
    "preventionTips": "prevention_tips",
    "tags": "tags",
    "backgroundTag": "background_tag",
    "errorClass": "error_class",
}
"""Keys that carry knowledge, and their fields: a record that people wrote has them all."""

LEAST_WEIGHT: Final = 6
_CODE: Final = ("exampleFix", "validationCode", "typeGuard", "tryCatchPattern")


def lint_files(paths: Sequence[Path]) -> list[str]:
    """The problems of files of records, one line each, `file: record: problem`; empty where all is well.

    They are compared with each other and with the bundled records, over which they stand. JSON has no place for sample
    messages, so none are asked for there.
    """
    problems: list[str] = []
    entries: list[Entry] = []
    for path in paths:
        try:
            entries += read_records(path, Layer.TEAM)
        except CatalogError as error:
            problems.append(str(error))
    catalog = Catalog([bundled_layer(), MemorySource(Layer.TEAM, entries)])
    seen: dict[str, Entry] = {}
    for entry in entries:
        problems += [f"{entry.origin}: {entry.record.slug}: {problem}" for problem in _problems(entry, catalog, seen)]
    return problems


def _problems(entry: Entry, catalog: Catalog, seen: dict[str, Entry]) -> Iterator[str]:
    record = entry.record
    for key in (record.id, record.slug):
        if key in seen:
            yield f"`{key}` is also that of another record in {seen[key].origin}"
        seen[key] = entry
    for key, field in COMPLETE.items():
        if not getattr(record, field):
            yield f"`{key}` is missing"
    for key in _CODE:
        code = getattr(record, COMPLETE[key])
        if code and not _parses(code):
            yield f"`{key}` is not Python"
    if entry.problem:
        yield entry.problem
    elif entry.template is not None and entry.template.weight < LEAST_WEIGHT:
        yield f"the message has fewer than {LEAST_WEIGHT} letters outside of holes and would match too much"
    yield from _unresolved(entry, catalog)
    yield from _mismatches(entry, catalog)


def _unresolved(entry: Entry, catalog: Catalog) -> Iterable[str]:
    known = {key for other in catalog.related(entry) for key in (other.record.id, other.record.slug)}
    return (f"related error `{key}` is not there" for key in entry.related if key not in known)


def _mismatches(entry: Entry, catalog: Catalog) -> Iterator[str]:
    if entry.origin.endswith(".toml"):
        if len(entry.matches) < 2:
            yield "fewer than two `matches`"
        if not entry.near_misses:
            yield "no `nearMisses`"
    for sample in entry.matches:
        found = catalog.match(sample.class_name, sample.message)
        if not found or found[0].id != entry.record.id or found[0].how is How.FUZZY:
            first = f", but {found[0].slug}" if found else ""
            yield f"`matches` does not match first{first}: {sample.message!r}"
    for sample in entry.near_misses:
        found = catalog.match(sample.class_name, sample.message)
        if any(candidate.id == entry.record.id and candidate.how is not How.FUZZY for candidate in found):
            yield f"`nearMisses` matches: {sample.message!r}"


def _parses(code: str) -> bool:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
