"""Findings as one SARIF 2.1.0 log: the format of code-scanning services."""

from __future__ import annotations

import hashlib
import os
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from raiselens_server import __version__
from raiselens_server.error import Foreseen
from raiselens_server.present.headline import headline

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from raiselens_catalog import Record
    from raiselens_server.error import Diagnosis, Place, Repair

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif_log(
    diagnoses: Sequence[Diagnosis], shown: Callable[[str], str], record_of: Callable[[Diagnosis], Record | None]
) -> dict[str, Any]:
    """The whole log. `record_of` gives the catalog's record of a finding, for the rule's help text."""
    rules: dict[str, dict[str, Any]] = {}
    for diagnosis in diagnoses:
        rules.setdefault(diagnosis.rule, _rule(diagnosis, record_of(diagnosis)))
    order = {rule: number for number, rule in enumerate(rules)}
    run = {
        "tool": {"driver": {"name": "raiselens", "version": __version__, "rules": list(rules.values())}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(diagnosis, order[diagnosis.rule], shown) for diagnosis in diagnoses],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(diagnosis: Diagnosis, record: Record | None) -> dict[str, Any]:
    rule: dict[str, Any] = {"id": diagnosis.rule, "shortDescription": {"text": headline(diagnosis.error)}}
    if record is not None:
        rule["shortDescription"] = {"text": record.error_message}
        if record.documentation:
            rule["fullDescription"] = {"text": record.documentation}
        if record.github_url:
            rule["helpUri"] = record.github_url
    return rule


def _result(diagnosis: Diagnosis, rule_index: int, shown: Callable[[str], str]) -> dict[str, Any]:
    error, origin = diagnosis.error, diagnosis.error.origin
    if not isinstance(origin, Foreseen):
        raise TypeError("only findings have a place in source")
    file = shown(origin.place.file)
    identity = "\0".join((diagnosis.rule, file, origin.callee, headline(error)))
    return {
        "ruleId": diagnosis.rule,
        "ruleIndex": rule_index,
        "level": origin.severity.value,
        "message": {"text": headline(error)},
        "locations": [{"physicalLocation": _location(origin.place, shown)}],
        "relatedLocations": [
            {"id": number, "physicalLocation": _location(related.place, shown), "message": {"text": related.message}}
            for number, related in enumerate(origin.related)
        ],
        "stacks": [
            {
                "message": {"text": "the frames that the run would print"},
                "frames": [
                    {
                        "location": {
                            "physicalLocation": {
                                "artifactLocation": {"uri": _uri(shown(frame.file))},
                                "region": {"startLine": max(frame.line, 1)},
                            },
                            "logicalLocations": [{"fullyQualifiedName": frame.function}],
                        }
                    }
                    for frame in reversed(error.frames)
                ],
            }
        ],
        "fixes": [_fix(repair, shown) for repair in diagnosis.repairs],
        # The line may move with edits above it; what is called and what it says does not.
        "partialFingerprints": {
            "raiselens/v1": hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        },
        "properties": {"condition": origin.condition, "callee": origin.callee},
    }


def _fix(repair: Repair, shown: Callable[[str], str]) -> dict[str, Any]:
    files: dict[str, list[dict[str, Any]]] = {}
    for edit in repair.edits:
        replacement = {"deletedRegion": _region(edit.place), "insertedContent": {"text": edit.text}}
        files.setdefault(shown(edit.place.file), []).append(replacement)
    return {
        "description": {"text": repair.title},
        "artifactChanges": [
            {"artifactLocation": {"uri": _uri(file)}, "replacements": replacements}
            for file, replacements in files.items()
        ],
    }


def _location(place: Place, shown: Callable[[str], str]) -> dict[str, Any]:
    return {"artifactLocation": {"uri": _uri(shown(place.file))}, "region": _region(place)}


def _region(place: Place) -> dict[str, int]:
    span = place.span
    return {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }


def _uri(file: str) -> str:
    """A relative path as a relative reference, an absolute one as a `file:` URI."""
    path = PurePath(file)
    return path.as_uri() if path.is_absolute() else quote(os.fsencode(path.as_posix()))
