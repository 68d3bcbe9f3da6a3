"""The repairs of a case, as its file writes them."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from raiselens_server.fix import apply_edits
from raiselens_server.repair import repairs_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.foresee.case_file import Case

    from raiselens_server.error import RaisedError, Repair
    from raiselens_server.foresee import Project


def first_error(project: Project, path: Path) -> RaisedError:
    """The first finding of a file."""
    errors = project.check(str(path)).errors
    assert errors, f"nothing is found in {path}"
    return errors[0]


def repaired(project: Project, repair: Repair) -> dict[str, str]:
    """The texts of the files that a repair changes, with its edits made."""
    texts: dict[str, str] = {}
    for file in {edit.place.file for edit in repair.edits}:
        text = project.text_of(file)
        assert text is not None
        texts[file] = apply_edits(text, [edit for edit in repair.edits if edit.place.file == file])
    return texts


def offers(project: Project, folder: Path) -> Iterator[str]:
    """Each repair of the first finding of `main.py`: its words, and the lines that it changes."""
    repairs = repairs_for(project, first_error(project, folder / "main.py"))
    if not repairs:
        yield "none"
    for repair in repairs:
        words = ["safe" if repair.safe else "unsafe", *(["preferred"] if repair.preferred else []), repair.kind.value]
        changes: list[str] = []
        for file, after in sorted(repaired(project, repair).items()):
            before = (project.text_of(file) or "").split("\n")
            lines = list(difflib.unified_diff(before, after.split("\n"), lineterm="", n=0))[2:]
            changes += [line for line in lines if not line.startswith("@@")]
        body = "\n".join(changes)
        yield f"{', '.join(words)}: {repair.title}\n\n```diff\n{body}\n```"


def written(case: Case) -> list[str]:
    """What the case file says of the offers, in the same form."""
    diffs = iter(block for block in case.blocks if block.language == "diff")
    found: list[str] = []
    for _, line in case.prose:
        if line == "none":
            found.append(line)
        elif line.startswith(("safe, ", "unsafe, ")):
            found.append(f"{line}\n\n```diff\n{next(diffs).text}```")
    assert next(diffs, None) is None, f"{case.path}:{case.line}: a diff without its words"
    return found
