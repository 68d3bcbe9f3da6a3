"""Repairs, as text: what is offered for a finding, and what each changes. README.md describes the form."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.foresee.case_file import all_cases
from tests.foresee.running import run_folders
from tests.foresee.shared import shared_project
from tests.repair.offers import first_error, offers, repaired, written

from raiselens_server.repair import repairs_for

if TYPE_CHECKING:
    from tests.foresee.case_file import Case

ROOT = Path(__file__).resolve().parents[2]
CASES = all_cases(ROOT / "tests" / "cases" / "repair")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.slug)
def test_offers(case: Case, tmp_path: Path) -> None:
    case.write(tmp_path)
    assert "\n\n".join(offers(shared_project(), tmp_path)) == "\n\n".join(written(case))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.slug)
def test_with_a_repair_the_finding_is_gone(case: Case, tmp_path: Path) -> None:
    case.write(tmp_path)
    project, main = shared_project(), tmp_path / "main.py"
    before = project.check(str(main)).errors
    repairs = repairs_for(project, first_error(project, main))
    assert [repair.preferred for repair in repairs] == [i == 0 and repair.safe for i, repair in enumerate(repairs)]
    for repair in repairs:
        after = project.check_edited(str(main), repaired(project, repair)).errors
        assert len(after) < len(before), repair
    assert project.check(str(main)).errors == before


@pytest.mark.slow
def test_with_the_preferred_repair_the_program_runs(tmp_path: Path) -> None:
    project = shared_project()
    folders: list[Path] = []
    for number, case in enumerate(CASES):
        before, after = tmp_path / f"{number}-before", tmp_path / f"{number}-after"
        case.write(before)
        repairs = repairs_for(project, first_error(project, before / "main.py"))
        if repairs and repairs[0].preferred and "unrun" not in case.words:
            shutil.copytree(before, after)
            for file, text in repaired(project, repairs[0]).items():
                (after / Path(file).relative_to(before)).write_text(text, encoding="utf-8")
            folders += [before, after]
    raised = run_folders(folders)
    for folder in folders:
        assert isinstance(raised[str(folder)], list), raised[str(folder)]
        assert bool(raised[str(folder)]) == folder.name.endswith("before"), (folder, raised[str(folder)])
