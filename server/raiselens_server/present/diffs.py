"""Repairs as unified diffs."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from raiselens_server.fix import EditError, apply_edits
from raiselens_server.present.styled import Style, line, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from raiselens_server.error import Edit, Repair
    from raiselens_server.present.styled import Line

_STYLES = {"+": Style.ADDED, "-": Style.REMOVED, "@": Style.NOTE}


def diff_rows(file: str, before: str, after: str) -> Iterator[Line]:
    """What changed in one file, without line ends."""
    name = visible(file)
    rows = difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), name, name)
    for number, row in enumerate(rows):
        style = Style.STRONG if number < 2 else _STYLES.get(row[0], Style.PLAIN)
        yield line((style, row.rstrip("\r\n")))
        if not row.endswith("\n"):
            yield line("\\ No newline at end of file")


def repair_rows(repair: Repair, read: Callable[[str], str | None], shown: Callable[[str], str]) -> Iterator[Line]:
    """The diff of a repair, file by file; a file that cannot be read, or has changed since, is left out."""
    edits: dict[str, list[Edit]] = {}
    for edit in repair.edits:
        edits.setdefault(edit.place.file, []).append(edit)
    for file, own in edits.items():
        before = read(file)
        if before is None:
            continue
        try:
            after = apply_edits(before, own)
        except EditError:
            continue
        yield from diff_rows(shown(file), before, after)
