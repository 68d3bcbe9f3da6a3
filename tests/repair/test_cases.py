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

from raiselens_server.error import Diagnosis
from raiselens_server.fix import fix_texts
from raiselens_server.repair import repairs_for

if TYPE_CHECKING:
    from tests.foresee.case_file import Case

    from raiselens_server.error import RaisedError
    from raiselens_server.foresee import Project

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
    first = first_error(project, main)
    repairs = repairs_for(project, first)
    assert len({repair.title for repair in repairs}) == len(repairs)
    assert [repair.preferred for repair in repairs] == [i == 0 and repair.safe for i, repair in enumerate(repairs)]
    for repair in repairs:
        after = project.check_edited(str(main), repaired(project, repair)).errors
        assert count(first.message, after) < count(first.message, before), repair
        assert len(after) <= len(before), repair
    assert project.check(str(main)).errors == before


def count(message: str, errors: tuple[RaisedError, ...]) -> int:
    return sum(error.message == message for error in errors)


@pytest.mark.slow
def test_with_a_safe_repair_the_program_runs(tmp_path: Path) -> None:
    project = shared_project()
    folders: list[Path] = []
    for number, case in enumerate(CASES):
        if "unrun" in case.words:
            continue
        before = tmp_path / f"{number}-before"
        case.write(before)
        safe = [repair for repair in repairs_for(project, first_error(project, before / "main.py")) if repair.safe]
        for index, repair in enumerate(safe):
            after = tmp_path / f"{number}-{index}-after"
            shutil.copytree(before, after)
            for file, text in repaired(project, repair).items():
                (after / Path(file).relative_to(before)).write_text(text, encoding="utf-8")
            mend(project, after)
            folders.append(after)
        folders += [before] if safe else []
    raised = run_folders(folders)
    for folder in folders:
        assert isinstance(raised[str(folder)], list), raised[str(folder)]
        assert bool(raised[str(folder)]) == folder.name.endswith("before"), (folder, raised[str(folder)])


def mend(project: Project, folder: Path) -> None:
    """Apply what is safe to the next guards, as `--fix` does."""
    main = str(folder / "main.py")

    def check(file: str) -> tuple[Diagnosis, ...]:
        return tuple(
            Diagnosis(error, None, repairs_for(project, error)) for error in project.check(file, texts[file]).errors
        )

    texts = {main: Path(main).read_text(encoding="utf-8")}
    fix_texts(texts, check, texts.__setitem__)
    Path(main).write_text(texts[main], encoding="utf-8")
