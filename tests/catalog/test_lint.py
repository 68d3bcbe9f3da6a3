"""Lint: each case is a family, and what is told about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from raiselens_catalog import records_root
from raiselens_catalog.lint import lint_files

FINE = """
[[record]]
repo = "acme"
errorMessage = "acme: row {i} must be even"
errorClass = "ValueError"
documentation = "d"
triggerScenarios = "t"
commonSituations = "c"
solutions = ["s"]
exampleFix = "x = 1"
handlingStrategy = "validation"
validationCode = "assert x"
typeGuard = "def f() -> bool: ..."
tryCatchPattern = "pass"
preventionTips = ["p"]
tags = ["t"]
backgroundTag = "b"
matches = [
  { class = "ValueError", message = "acme: row 3 must be even" },
  { class = "ValueError", message = "acme: row 5 must be even" },
]
nearMisses = [{ class = "ValueError", message = "acme: row 3 must be odd" }]
"""


def lint(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "f.toml"
    path.write_text(text)
    prefix = f"{path}: acme-row-i-must-be-even: "
    return [line.removeprefix(prefix) for line in lint_files([path])]


def test_the_bundled_records_are_fine():
    assert lint_files(sorted(records_root().glob("*.toml"))) == []


def test_a_complete_record_is_fine(tmp_path: Path):
    assert lint(tmp_path, FINE) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('documentation = "d"\n', "", "`documentation` is missing"),
        ('solutions = ["s"]', "solutions = []", "`solutions` is missing"),
        ('"assert x"', '"assert"', "`validationCode` is not Python"),
        ("row 3 must be odd", "row 3 must be even", "`nearMisses` matches: 'acme: row 3 must be even'"),
        ("row 5 must be even", "row 5 must be", "`matches` does not match first: 'acme: row 5 must be'"),
        ('tags = ["t"]', 'tags = ["t"]\nrelated = ["nope"]', "related error `nope` is not there"),
        ('backgroundTag = "b"', 'backgroundTag = "b"\nmessagePattern = "(a+)+"', "messagePattern `(a+)+` is refused"),
    ],
)
def test_problems(tmp_path: Path, old: str, new: str, problem: str):
    assert any(problem in line for line in lint(tmp_path, FINE.replace(old, new)))


def test_the_same_record_twice(tmp_path: Path):
    problems = lint(tmp_path, FINE + FINE.replace("[[record]]", "[[record]]", 1))
    assert any("is also that of another record" in problem for problem in problems)


def test_a_broken_file_is_one_problem(tmp_path: Path):
    (problem,) = lint(tmp_path, "[[record]\n")
    assert "f.toml:1: not TOML" in problem


def test_a_bundled_record_may_be_related(tmp_path: Path):
    assert lint(tmp_path, FINE.replace('tags = ["t"]', 'tags = ["t"]\nrelated = ["77c238349aca21f2"]')) == []


def test_json_is_asked_for_knowledge_but_not_for_samples():
    full = Path(__file__).with_name("full_record.json")
    assert lint_files([full]) == []
