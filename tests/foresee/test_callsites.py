"""The call-site programs, checked as a user would: nothing said of a quiet one, the raise foreseen of the others."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.foresee.callsites import foreseen, last, programs, says
from tests.foresee.running import run_folders
from tests.foresee.shared import shared_project
from tests.repair.offers import repaired

from raiselens_server.repair import repairs_for

if TYPE_CHECKING:
    from tests.foresee.callsites import Program

    from raiselens_server.foresee import Project

PROGRAMS = programs()
QUIET = [program for program in PROGRAMS if program.quiet]
CERTAIN = [program for program in PROGRAMS if not program.quiet]

NOT_FOUND = {
    "133_normal_negative_scale": "the values of a tensor decide",
    "172_layer_rearrange_rank": "a key that a dict does not hold",
    "315_linear_on_meta": "devices of a module's parameters",
    "319_mha_mask_shape": "a guard deep in torch's attention",
}
"""Certain raises that are not foreseen; the test fails once one is, so that its line goes."""

OTHER_CALLEE = {
    "247_own_wrapper_in_sibling": "the wrapper's file was not named, so the call of the wrapper is the place",
    "285_own_subclass_inherits_guard": "the call of the guard's own helper is the deepest frame of the program",
}
"""Found, and blamed on another call of the chain than the corpus names."""


STILL_RAISES: dict[str, str] = {}
"""Programs that raise, foreseen and for real, after the first repair; the test fails once one does not."""


def by_name(program: Program) -> str:
    return program.folder.name


@pytest.fixture(scope="module")
def project(sglang_root: Path) -> Project:
    return shared_project((3, 11), str(sglang_root))


@pytest.mark.sglang
@pytest.mark.parametrize("program", QUIET, ids=by_name)
def test_a_quiet_program_is_not_flagged(program: Program, project: Project) -> None:
    errors = project.check(str(program.main)).errors
    assert [(error.class_name, error.message, foreseen(error).place.span.line) for error in errors] == []


@pytest.mark.sglang
@pytest.mark.parametrize("program", CERTAIN, ids=by_name)
def test_a_certain_raise_is_foreseen(program: Program, project: Project) -> None:
    name = by_name(program)
    errors = project.check(str(program.main)).errors
    hit = program.found(errors)
    if name in NOT_FOUND:
        assert hit is None, f"{name} is found at last: take it from NOT_FOUND"
        return
    assert hit is not None, f"{program.expected['error']} is not among {errors}"
    truth = program.expected["error"]
    assert (last(foreseen(hit).callee) == last(truth["callee"])) != (name in OTHER_CALLEE)
    assert says(hit, truth["message"]), hit.message
    assert errors == (hit,)


@pytest.mark.sglang
@pytest.mark.parametrize("program", CERTAIN, ids=by_name)
def test_the_first_repair_leaves_nothing_to_find(program: Program, project: Project) -> None:
    error = program.found(project.check(str(program.main)).errors)
    for index, repair in enumerate(() if error is None else repairs_for(project, error)):
        after = project.check_edited(str(program.main), repaired(project, repair)).errors
        # Another repair may uncover the next guard of the same call, never the same one again.
        assert bool(after) == (by_name(program) in STILL_RAISES) or index, repair
        assert error not in after, repair


@pytest.mark.slow
@pytest.mark.sglang
def test_programs_run_clean_once_repaired(project: Project, sglang_root: Path, tmp_path: Path) -> None:
    offered: list[Path] = []
    fixable = 0
    for program in CERTAIN:
        error = program.found(project.check(str(program.main)).errors)
        repairs = () if error is None else repairs_for(project, error)
        fixable += error is not None and program.expected["fix"]["kind"] != "none"
        if repairs:
            copy = tmp_path / by_name(program)
            shutil.copytree(program.folder, copy)
            for file, text in repaired(project, repairs[0]).items():
                (copy / Path(file).relative_to(program.folder)).write_text(text, encoding="utf-8")
            offered.append(copy)
    raised = run_folders(offered, sglang=sglang_root)
    unclean = {Path(folder).name: what for folder, what in raised.items() if what}
    assert set(unclean) == set(STILL_RAISES), unclean
    assert len(offered) >= 0.6 * fixable, f"{len(offered)} of {fixable}"
