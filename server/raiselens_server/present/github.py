"""Findings as GitHub Actions annotations, one workflow command a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raiselens_server.error import Foreseen
from raiselens_server.present.headline import headline

if TYPE_CHECKING:
    from collections.abc import Callable

    from raiselens_server.error import Diagnosis


def annotation(diagnosis: Diagnosis, shown: Callable[[str], str]) -> str:
    """The `::error …` or `::warning …` line of one finding."""
    origin = diagnosis.error.origin
    if not isinstance(origin, Foreseen):
        raise TypeError("only findings are annotated")
    span = origin.place.span
    properties = {
        "title": f"raiselens ({diagnosis.rule})",
        "file": shown(origin.place.file),
        "line": str(span.line),
        "endLine": str(span.end_line),
        "col": str(span.column),
        "endColumn": str(span.end_column),
    }
    if span.end_line != span.line:
        # Columns of an annotation over several lines are refused.
        del properties["col"], properties["endColumn"]
    written = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    advice = "".join(f"\nFix: {repair.title}" for repair in diagnosis.repairs[:1])
    return f"::{origin.severity.value} {written}::{_data(headline(diagnosis.error) + advice)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
