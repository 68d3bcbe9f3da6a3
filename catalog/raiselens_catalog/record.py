"""The record: one error of the catalog, in the seed schema (`schemaVersion` 2), read and written without loss.

A record that is read and written again is equal key by key: unknown keys, key order, nulls and the API's envelope
(`{"record": …, "datasetVersion": …}`) are kept. `Record.layout` remembers which keys stood in the text and in which
order; a key that was absent stays absent.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"

SCHEMA_VERSION: Final = 2
SOURCE_CONTEXT: Final = 18
"""Lines of source shown on each side of the raise, as the seeds have it."""


class CatalogError(Exception):
    """A catalog that cannot be read or a record that is not there; `str()` is one line for the user.

    `reason` says what is wrong, `remedy` what to do; `file` and `line` (1-based) where it is, as far as known.
    """

    def __init__(self, reason: str, *, file: str = "", line: int | None = None, remedy: str = "") -> None:
        """Keep the parts for callers that render them apart."""
        self.reason = reason
        self.file = file
        self.line = line
        self.remedy = remedy
        where = f"{file}:{line}: " if file and line is not None else f"{file}: " if file else ""
        text = f"{where}{reason}; {remedy}" if remedy else f"{where}{reason}"
        super().__init__(" ".join(text.split()))


@dataclass(frozen=True, slots=True)
class Guard:
    """The code that raises: where it is and on what condition.

    `module` is the dotted import path, `qualname` the function in it (`Class.method`), `condition` the test as written
    in the source. `param` is the argument that the condition is about, where it is about one.
    """

    module: str
    qualname: str
    condition: str
    param: str | None = None

    @property
    def function(self) -> str:
        """The name a frame of a traceback carries."""
        return self.qualname.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Record:
    """One error: what it says, where it is raised, what it means and what to do.

    Fields are the schema's keys in its order. `extras` holds keys that this version does not know, `layout` all keys in
    the order read (empty: the schema's own order, every key written), `nulls` the list-valued keys that were null.
    """

    id: str
    repo: str
    slug: str
    error_code: str | None
    error_message: str
    message_pattern: str | None
    error_type: str | None
    error_class: str | None
    http_status: int | None
    severity: str | None
    file_path: str | None
    line_number: int | None
    source_code: str | None
    source_code_start: int | None
    source_code_end: int | None
    github_url: str | None
    documentation: str | None
    trigger_scenarios: str | None
    common_situations: str | None
    solutions: tuple[str, ...]
    example_fix: str | None
    handling_strategy: str | None
    validation_code: str | None
    type_guard: str | None
    try_catch_pattern: str | None
    prevention_tips: tuple[str, ...]
    tags: tuple[str, ...]
    background_tag: str | None
    analyzed_sha: str | None
    analyzed_at: str | None
    schema_version: int = SCHEMA_VERSION
    extras: Mapping[str, Json] = field(default_factory=dict)
    layout: tuple[str, ...] = ()
    nulls: frozenset[str] = frozenset()

    def to_json(self) -> dict[str, Json]:
        """Return the record as the JSON object it was read from, edits applied."""
        return {key: self._value(key) for key in self.layout or tuple(_ATTRIBUTES)}

    def _value(self, key: str) -> Json:
        attribute = _ATTRIBUTES.get(key)
        if attribute is None:
            return self.extras[key]
        value = getattr(self, attribute)
        if isinstance(value, tuple):
            return None if not value and key in self.nulls else list(value)
        plain: Json = value
        return plain


@dataclass(frozen=True, slots=True)
class Envelope:
    """What stood around a record in the API's answer: the other keys, and the order of all."""

    layout: tuple[str, ...] = ("record", "datasetVersion")
    extras: Mapping[str, Json] = field(default_factory=dict)

    def wrap(self, record: Record) -> dict[str, Json]:
        """Return the API's answer for `record`."""
        return {key: record.to_json() if key == "record" else self.extras[key] for key in self.layout}


@dataclass(frozen=True, slots=True)
class Item:
    """A record as it came from a file: with its envelope, where it had one."""

    record: Record
    envelope: Envelope | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the JSON object it was read from."""
        return self.record.to_json() if self.envelope is None else self.envelope.wrap(self.record)


_TEXT: Final = "a string"
_NUMBER: Final = "a whole number"
_LIST: Final = "a list of strings"

_REQUIRED: Final = frozenset({"id", "repo", "slug", "errorMessage"})

_KEYS: Final[Mapping[str, tuple[str, str]]] = {
    "id": ("id", _TEXT),
    "repo": ("repo", _TEXT),
    "slug": ("slug", _TEXT),
    "errorCode": ("error_code", _TEXT),
    "errorMessage": ("error_message", _TEXT),
    "messagePattern": ("message_pattern", _TEXT),
    "errorType": ("error_type", _TEXT),
    "errorClass": ("error_class", _TEXT),
    "httpStatus": ("http_status", _NUMBER),
    "severity": ("severity", _TEXT),
    "filePath": ("file_path", _TEXT),
    "lineNumber": ("line_number", _NUMBER),
    "sourceCode": ("source_code", _TEXT),
    "sourceCodeStart": ("source_code_start", _NUMBER),
    "sourceCodeEnd": ("source_code_end", _NUMBER),
    "githubUrl": ("github_url", _TEXT),
    "documentation": ("documentation", _TEXT),
    "triggerScenarios": ("trigger_scenarios", _TEXT),
    "commonSituations": ("common_situations", _TEXT),
    "solutions": ("solutions", _LIST),
    "exampleFix": ("example_fix", _TEXT),
    "handlingStrategy": ("handling_strategy", _TEXT),
    "validationCode": ("validation_code", _TEXT),
    "typeGuard": ("type_guard", _TEXT),
    "tryCatchPattern": ("try_catch_pattern", _TEXT),
    "preventionTips": ("prevention_tips", _LIST),
    "tags": ("tags", _LIST),
    "backgroundTag": ("background_tag", _TEXT),
    "analyzedSha": ("analyzed_sha", _TEXT),
    "analyzedAt": ("analyzed_at", _TEXT),
    "schemaVersion": ("schema_version", _NUMBER),
}
"""The schema: key → (field, type), in the order in which it is written."""

_ATTRIBUTES: Final[Mapping[str, str]] = {key: attribute for key, (attribute, _) in _KEYS.items()}


def schema_keys() -> tuple[str, ...]:
    """Return the keys of schema 2 in its order."""
    return tuple(_KEYS)


def record_from_json(value: object, *, file: str = "", line: int | None = None) -> Record:
    """Read one record object; CatalogError where it is not of schema 2."""
    if not isinstance(value, dict):
        raise CatalogError(
            f"a record must be a JSON object, not {_kind(value)}",
            file=file,
            line=line,
            remedy='give one record, a list, JSON lines, or {"record": …}',
        )
    version = value.get("schemaVersion", SCHEMA_VERSION)
    if version != SCHEMA_VERSION or isinstance(version, bool):
        raise CatalogError(
            f"schemaVersion {version!r} is not known",
            file=file,
            line=line,
            remedy=f"this version of raiselens reads schemaVersion {SCHEMA_VERSION}",
        )
    fields: dict[str, object] = {}
    nulls: set[str] = set()
    for key, (attribute, kind) in _KEYS.items():
        given = value.get(key)
        if given is None and key in _REQUIRED:
            raise CatalogError(
                f"the record has no `{key}`", file=file, line=line, remedy=f"add `{key}` ({kind}) to the record"
            )
        if not _fits(given, kind):
            raise CatalogError(
                f"`{key}` must be {kind}, not {_kind(given)}",
                file=file,
                line=line,
                remedy=f"correct `{key}` of record {value.get('id', '?')}",
            )
        if kind is _LIST:
            if key in value and given is None:
                nulls.add(key)
            fields[attribute] = tuple(given) if isinstance(given, list) else ()
        else:
            fields[attribute] = given
    fields["schema_version"] = SCHEMA_VERSION
    for key in ("id", "slug"):
        if not value[key].strip():
            raise CatalogError(f"`{key}` is empty", file=file, line=line, remedy=f"give the record an `{key}`")
    extras = {key: given for key, given in value.items() if key not in _KEYS}
    return Record(**fields, extras=extras, layout=tuple(value), nulls=frozenset(nulls))  # type: ignore[arg-type]


def item_from_json(value: object, *, file: str = "", line: int | None = None) -> Item:
    """Read a record, bare or in the API's envelope."""
    if isinstance(value, dict) and "record" in value and "id" not in value:
        record = record_from_json(value["record"], file=file, line=line)
        extras = {key: given for key, given in value.items() if key != "record"}
        return Item(record, Envelope(layout=tuple(value), extras=extras))
    return Item(record_from_json(value, file=file, line=line))


def items_from_text(text: str, *, file: str = "") -> tuple[Item, ...]:
    """Read one record, a list, JSON lines, or the API's envelope (also inside a list or lines).

    Raises CatalogError with the line at which the text stops being any of these.
    """
    stripped = text.lstrip("\ufeff")
    if not stripped.strip():
        raise CatalogError(
            "the file is empty", file=file, remedy='give one record, a list, JSON lines, or {"record": …}'
        )
    try:
        whole = _loads(stripped)
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            raise _broken(error, file, error.lineno) from None
        return tuple(_lines(stripped, file))
    except (RecursionError, ValueError) as error:
        raise CatalogError(f"not JSON: {error}", file=file, remedy="correct or export the file again") from None
    if isinstance(whole, list):
        return tuple(
            item_from_json(value, file=file, line=line)
            for value, line in zip(whole, _element_lines(stripped, len(whole)), strict=True)
        )
    return (item_from_json(whole, file=file, line=1),)


def dumps(value: Json) -> str:
    """Return compact JSON as the seeds' API serves it; text that UTF-8 cannot hold is escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return json.dumps(value, separators=(",", ":")) if _SURROGATE.search(text) else text


def with_source(record: Record, text: str, *, line: int | None = None, context: int = SOURCE_CONTEXT) -> Record:
    """Return `record` with its source excerpt filled from `text`, the raising file as installed.

    `line` is the 1-based line of the raise in `text` (a traceback's last frame); without it the record's own line is
    taken. The excerpt holds `context` lines on each side. A line outside the text leaves the record as it is.
    """
    at = line if line is not None else record.line_number
    lines = text.split("\n")
    if at is None or not 1 <= at <= len(lines):
        return record
    start, end = max(1, at - context), min(len(lines), at + context)
    excerpt = "\n".join(lines[start - 1 : end])
    return replace(record, source_code=excerpt, source_code_start=start, source_code_end=end, line_number=at)


_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def _loads(text: str) -> object:
    return json.loads(text, parse_constant=_no_constant, parse_float=_finite)


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"the number {digits[:20]} is too large to be kept")
    return value


def _lines(text: str, file: str) -> Iterator[Item]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = _loads(line)
        except json.JSONDecodeError as error:
            raise _broken(error, file, number) from None
        except (RecursionError, ValueError) as error:
            raise CatalogError(f"not JSON: {error}", file=file, line=number, remedy="correct the line") from None
        yield item_from_json(value, file=file, line=number)


def _element_lines(text: str, count: int) -> list[int]:
    """Return the line on which each element of the top-level list begins, for messages."""
    decoder = json.JSONDecoder()
    lines: list[int] = []
    at, line, seen = text.index("[") + 1, 1, 0
    for _ in range(count):
        while text[at] in " \t\r\n,":
            at += 1
        line += text.count("\n", seen, at)
        seen = at
        lines.append(line)
        _, at = decoder.raw_decode(text, at)
    return lines


def _broken(error: json.JSONDecodeError, file: str, line: int) -> CatalogError:
    return CatalogError(
        f"not JSON: {error.msg} at column {error.colno}",
        file=file,
        line=line,
        remedy='give one record, a list, JSON lines, or {"record": …}',
    )


def _fits(value: object, kind: str) -> bool:
    if value is None:
        return True
    if kind is _TEXT:
        return isinstance(value, str)
    if kind is _NUMBER:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, list) and all(isinstance(part, str) for part in value)


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
