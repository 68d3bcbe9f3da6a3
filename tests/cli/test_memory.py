"""What a check takes from an earlier one: nothing that could be otherwise now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from raiselens_catalog.layers import user_cache_dir
from raiselens_server.cli import pool
from raiselens_server.cli.options import Where
from raiselens_server.cli.plan import make_plan
from raiselens_server.packing import pack, unpack

if TYPE_CHECKING:
    from raiselens_server.cli.pool import Outcome

FILES = {
    "pack/__init__.py": "",
    "pack/guards.py": "LIMIT = 8\n\n\ndef check(width):\n    if width % LIMIT:\n        raise ValueError(f'width {width}')\n",
    "pack/between.py": "from pack.guards import check as passed\n",
    "pack/wrong.py": "from pack.between import passed\n\n\ndef main():\n    passed(12)\n",
    "pack/right.py": "from pack.between import passed\n\n\ndef main():\n    passed(16)\n",
    "pack/hidden.py": "from pack.guards import check\n\n\ndef main():\n    check(4)  # raiselens: ignore\n",
    "pack/alone.py": "def main():\n    return 1\n",
}
ALL = {name.removeprefix("pack/") for name in FILES}


class Folder:
    """A package on disk, and the checks of it."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.ran: set[str] = set()
        for name, text in FILES.items():
            self.write(name, text)
        whole = pool.Checker.check

        def noted(checker: pool.Checker, job: pool.Job) -> Outcome:
            self.ran.add(Path(job.file).name)
            return whole(checker, job)

        monkeypatch.setattr(pool.Checker, "check", noted)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def check(self, *, remember: bool = True) -> dict[str, list[str]]:
        """Messages by file; `ran` are the files that were run for it."""
        self.ran.clear()
        plan = make_plan((str(self.root),), Where(None, (), ()), {}, ())
        outcomes = list(pool.check_all(plan.groups, plan.jobs, 1, remember=remember))
        assert [outcome.file for outcome in outcomes] == [job.file for job in plan.jobs]
        return {Path(each.file).name: [d.error.message for d in each.diagnoses] for each in outcomes if each.diagnoses}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    made = Folder(tmp_path / "work", monkeypatch) if (tmp_path / "work").mkdir() is None else None
    assert made is not None
    # Files that are younger than the run are not relied on.
    monkeypatch.setattr("raiselens_server.cli.memory.time.time_ns", lambda: 2**62)
    return made


WRONG = {"wrong.py": ["width 12"]}


def test_what_did_not_change_is_not_run_again(folder: Folder) -> None:
    assert folder.check() == WRONG
    assert folder.ran == ALL
    assert folder.check() == WRONG
    assert folder.ran == set()
    assert folder.check(remember=False) == WRONG
    assert folder.ran == ALL


def test_an_edit_runs_the_file_and_those_that_look_into_it(folder: Folder) -> None:
    folder.check()
    folder.write("pack/right.py", FILES["pack/right.py"].replace("16", "17"))
    assert folder.check() == {**WRONG, "right.py": ["width 17"]}
    assert folder.ran == {"right.py"}
    folder.write("pack/guards.py", FILES["pack/guards.py"].replace("8", "6"))
    assert folder.check() == {"right.py": ["width 17"]}
    assert folder.ran == ALL - {"alone.py", "__init__.py"}
    assert folder.check() == {"right.py": ["width 17"]}
    assert folder.ran == set()


def test_ignore_comments_and_settings_are_heeded_anew(folder: Folder) -> None:
    folder.check()
    folder.write("pyproject.toml", '[tool.raiselens]\nignore = ["*"]\n')
    assert folder.check() == {}


@pytest.mark.parametrize("name", ["pack/new.py", "new.py", "pack/inner/__init__.py"])
def test_a_new_file_may_be_found_by_any_import(folder: Folder, name: str) -> None:
    folder.check()
    folder.write(name, "")
    assert folder.check() == WRONG
    assert folder.ran == ALL | {Path(name).name}


def memory_files() -> list[Path]:
    return list((user_cache_dir() / "check").glob("*.bin"))


@pytest.mark.parametrize("content", [b"", b"x" * 100, None])
def test_a_damaged_memory_is_as_good_as_none(folder: Folder, content: bytes | None) -> None:
    folder.check()
    (memory,) = memory_files()
    memory.write_bytes(memory.read_bytes()[:-1] if content is None else content)
    assert folder.check() == WRONG
    assert folder.ran == ALL


def test_what_others_can_write_is_not_read(folder: Folder) -> None:
    folder.check()
    (memory,) = memory_files()
    memory.chmod(0o666)
    assert folder.check() == WRONG
    assert folder.ran == ALL
    (user_cache_dir() / "check").chmod(0o777)
    assert folder.check() == WRONG
    assert folder.ran == ALL


def test_a_file_that_changes_during_the_run_is_not_relied_on(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("raiselens_server.cli.memory.time.time_ns", lambda: 0)
    folder.check()
    assert folder.check() == WRONG
    assert folder.ran == ALL


def test_findings_come_back_as_they_were(folder: Folder) -> None:
    plan = make_plan((str(folder.root),), Where(None, (), ()), {}, ())
    first, second = (list(pool.check_all(plan.groups, plan.jobs, 1, remember=True)) for _ in range(2))
    assert [each.diagnoses for each in first] == [each.diagnoses for each in second]
    assert [each.statistics for each in first] == [each.statistics for each in second]


@pytest.mark.parametrize("packed", [(0, "Path", "x"), (0, "os"), (3,), (0,), (1, "Severity", "none")])
def test_only_findings_can_be_unpacked(packed: tuple[object, ...]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        unpack(packed)
    assert unpack(pack(("x", 1, None))) == ("x", 1, None)
