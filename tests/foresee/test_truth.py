"""The text cases against the interpreter itself: what a case claims at top level is what a run raises, and no more."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.foresee.annotations import read_claims
from tests.foresee.case_file import all_cases
from tests.foresee.running import run_folders

if TYPE_CHECKING:
    from tests.foresee.annotations import Claim
    from tests.foresee.case_file import Case

ROOT = Path(__file__).resolve().parents[2]
CASES = [case for case in all_cases(ROOT / "tests" / "cases" / "foresee") if "unrun" not in case.words]


@pytest.fixture(scope="module")
def raised(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What every case raised, by slug."""
    folders: dict[str, Path] = {}
    for case in CASES:
        folders[case.slug] = tmp_path_factory.mktemp("case")
        case.write(folders[case.slug])
    answers = run_folders(folders.values())
    return {slug: answers[str(folder)] for slug, folder in folders.items()}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.slug)
def test_a_run_raises_what_is_claimed(case: Case, raised: dict[str, Any]) -> None:
    if sys.version_info[:2] != (3, 11):
        pytest.skip("the messages in the cases are those of Python 3.11")
    assert isinstance(raised[case.slug], list), raised[case.slug]
    main = next(block for block in case.blocks if block.name == "main.py")
    claims = [claim for claim in read_claims(main.text).findings if true(claim, main.text)]
    wrong: list[str] = []
    met: list[Claim] = []
    for lines, cls, message in raised[case.slug]:
        here = [claim for claim in claims if set(lines) & statement_lines(main.text, claim.line)]
        fits = [claim for claim in here if claim.facts["class"] == cls and says(claim.facts["message"], message)]
        if not fits:
            place = f"{case.path.relative_to(ROOT)}:{main.line + lines[0] - 1}"
            wrong.append(f"{place} raises {cls}: {message}\n    claimed: {[claim.facts for claim in here]}")
        met += fits
    top = {line for node in ast.parse(main.text).body if runs(node) for line in range(node.lineno, end(node) + 1)}
    wrong += [
        f"{case.path.relative_to(ROOT)}:{main.line + claim.line - 1} raises nothing like {claim.facts}"
        for claim in claims
        if claim.line in top and claim not in met and not claim.facts["when"]
    ]
    if wrong:
        pytest.fail("\n" + "\n".join(wrong), pytrace=False)


def true(claim: Claim, text: str) -> bool:
    """Whether a claim says what happens: what is marked as found by mistake does not."""
    return "# bug: false" not in text.split("\n")[claim.line - 1] or not claim.expected


def runs(node: ast.stmt) -> bool:
    """Whether a statement runs what stands in it."""
    return not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))


def end(node: ast.stmt) -> int:
    assert node.end_lineno is not None
    return node.end_lineno


def statement_lines(text: str, line: int) -> set[int]:
    """The lines of the innermost statement that begins on `line`."""
    starting = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt) and node.lineno == line]
    return {number for node in starting for number in range(line, end(node) + 1)}


def says(claimed: str, message: str) -> bool:
    """Whether a claimed message, with holes in braces, is this one."""
    parts = re.split(r"(\{\{|\}\}|\{[^{}]*\})", claimed)
    pattern = "".join(
        re.escape(part[0]) if part in {"{{", "}}"} else ".*" if part.startswith("{") else re.escape(part)
        for part in parts
    )
    return re.fullmatch(pattern, message, re.DOTALL) is not None
