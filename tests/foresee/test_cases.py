"""Foreseeing, as annotated source: tests/cases/foresee, in the form that README.md describes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.foresee.annotations import compare
from tests.foresee.case_file import all_cases
from tests.foresee.shared import shared_project

if TYPE_CHECKING:
    from tests.foresee.case_file import Case

ROOT = Path(__file__).resolve().parents[2]
CASES = all_cases(ROOT / "tests" / "cases" / "foresee")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.slug)
def test_case(case: Case, tmp_path: Path) -> None:
    case.write(tmp_path)
    version = case.option("python")
    project = shared_project() if version is None else shared_project((3, int(version.partition(".")[2])))
    wrong: list[str] = []
    for block in case.blocks:
        if block.name != "main.py" and "checked" not in block.words:
            continue
        path = tmp_path / block.name
        for line, what in compare(block.text, project.check(str(path)).errors):
            place = f"{case.path.relative_to(ROOT)}:{block.line + line - 1}"
            wrong.append(f"{place}\n      {block.text.splitlines()[line - 1].strip()}\n    {what}")
    if wrong:
        pytest.fail("\n" + "\n".join(wrong), pytrace=False)
