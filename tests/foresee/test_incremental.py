"""Typing in an open file: what was kept of it since the last keystroke is never seen in what is found."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from raiselens_server.foresee import Environment, Project

if TYPE_CHECKING:
    from collections.abc import Callable

LIB = """\
def must_divide(size, by):
    if size % by:
        raise ValueError(f"{size} is not a multiple of {by}")
    return size // by
"""
MAIN = '''\
"""Functions that call one another, methods, and values of names."""
from lib import must_divide

LIMIT = 8
TABLE = [1, 2, 3]


def half(size):
    return must_divide(size, 2)


def quarter(size):
    """Half of a half."""
    return half(half(size))


class Pool:
    width = 12

    def __init__(self, size):
        self.size = size
        self.rows = half(size)

    def split(self, by):
        if by > LIMIT:
            raise ValueError(f"by is {by}")
        return must_divide(self.size, by)

    @staticmethod
    def parts():
        return 1, 2


def story():
    pool = Pool(16)
    pool.split(4)
    first, second = Pool.parts()
    return quarter(14)


def other():
    def inner(x):
        return half(x)

    return inner(4), TABLE[0]


async def later():
    story()
    return half(7)
'''
LINES = (
    *("pass", "return None", "return 1, 2, 3", "raise ValueError('x')", "x = 7", "half(7)", "Pool(3).split(9)"),
    *(
        "self.size = 5",
        "global LIMIT",
        "LIMIT = 3",
        "def half(size): return 7",
        "if x:",
        "else:",
        "# half(7)",
        "x = '''",
    ),
    *(
        "yield 1",
        "TABLE.append(4)",
        "@staticmethod",
        "class Pool: pass",
        "quarter(",
        "first, second = half(4), 1",
        "x = \\",
    ),
    *("Pool.parts = None", "setattr(Pool, 'split', None)", "import lib", "lambda: half(3)", "async def half(x): ..."),
)


def edited(text: str, kind: int, where: float, what: int) -> str:
    """One edit as people make it: a line goes, a line comes, a number changes, a character is typed."""
    lines = text.split("\n")
    at = min(int(where * len(lines)), len(lines) - 1)
    line = lines[at]
    indent = line[: len(line) - len(line.lstrip())]
    match kind:
        case 0:
            del lines[at]
        case 1 | 2:
            lines.insert(at + kind - 1, indent + LINES[what % len(LINES)])
        case 3:
            lines[at] = re.sub(r"\d+", lambda match: str(int(match[0]) + 1), line, count=1)
        case _:
            lines[at] = line[: what % (len(line) + 1)] + " ()[]:,=.#7"[what % 11] + line[what % (len(line) + 1) :]
    return "\n".join(lines)


EDITS = st.lists(
    st.tuples(st.integers(0, 4), st.floats(0, 1, exclude_max=True), st.integers(0, 500), st.booleans()), max_size=8
)
Edits = list[tuple[int, float, int, bool]]


def versions(text: str, edits: Edits) -> list[str]:
    """The texts that a run of edits goes through; some edits are undone at once."""
    texts = [text]
    for kind, where, what, undone in edits:
        texts.append(edited(texts[-1], kind, where, what))
        if undone:
            texts.append(texts[-2])
    return texts


def parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def folder_with(folder: Path) -> str:
    (folder / "lib.py").write_text(LIB, encoding="utf-8")
    (folder / "main.py").write_text(MAIN, encoding="utf-8")
    return str(folder / "main.py")


@given(edits=EDITS)
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_is_found_after_edits_is_what_a_fresh_check_finds(edits: Edits, tmp_path: Path) -> None:
    main = folder_with(tmp_path)
    kept = Project(Environment())
    for text in versions(MAIN, edits):
        kept.open(main, text)
        fresh = Project(Environment())
        fresh.open(main, text)
        now, anew = kept.check(main), fresh.check(main)
        assert kept.text_of(main) == text
        if parses(text):
            assert now.errors == anew.errors
            assert now.followed == anew.followed


@pytest.mark.sglang
@given(edits=EDITS)
@settings(max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_the_same_in_a_file_of_sglang(edits: Edits, sglang_root: Path) -> None:
    path = str(sglang_root / "sglang" / "srt" / "layers" / "rotary_embedding" / "mrope.py")
    base = Path(path).read_text(encoding="utf-8")
    kept, fresh = (Project(Environment((str(sglang_root),))) for _ in range(2))
    for text in versions(base, edits[:4]):
        kept.open(path, text)
        fresh.open(path, text)
        fresh.forget_disk()
        now = kept.check(path).errors
        assert not parses(text) or now == fresh.check(path).errors


class TestWhatIsRun:
    """Only what an edit may have changed runs again; it is counted by the functions whose frames are run."""

    @pytest.fixture
    def typed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], list[str]]:
        main = folder_with(tmp_path)
        project = Project(Environment())
        project.open(main, MAIN)
        project.check(main)
        ran: list[str] = []
        whole = project._function

        def counted(module: object, unit: object, *rest: object) -> object:
            ran.append(unit.qualname)  # type: ignore[attr-defined]
            return whole(module, unit, *rest)  # type: ignore[arg-type]

        monkeypatch.setattr(project, "_function", counted)

        def edit(before: str, after: str) -> list[str]:
            ran.clear()
            assert MAIN.count(before) == 1
            project.open(main, MAIN.replace(before, after))
            project.check(main)
            return ran

        return edit

    # `story` and `later` have a finding each, and findings are worked out again: their lines may have moved.
    FOUND = ("story", "later")

    def test_an_edit_of_a_function_runs_it_and_its_callers(self, typed: Callable[[str, str], list[str]]) -> None:
        assert set(typed("return 1, 2", "return 1, 2, 3")) == {"Pool.parts", "story", "later"}

    def test_a_function_in_the_middle_of_being_typed_runs_alone(self, typed: Callable[[str, str], list[str]]) -> None:
        assert set(typed("    return half(x)", "    x.\n        return half(x)")) == {*self.FOUND, "other"}

    def test_a_comment_behind_a_function_runs_that_function(self, typed: Callable[[str, str], list[str]]) -> None:
        assert set(typed("    return inner(4), TABLE[0]\n", "    return inner(4), TABLE[0]\n    # so\n")) == {
            *self.FOUND,
            "other",
        }

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("def half(size):", "def half(size, by=2):"),
            ("LIMIT = 8", "LIMIT = 9"),
            ("    return half(half(size))\n", "    return half(half(size))\n\n\ndef new():\n    pass\n"),
            ("    return must_divide(size, 2)", "    global LIMIT\n    return must_divide(size, 2)"),
        ],
    )
    def test_an_edit_of_more_than_a_body_runs_the_file(
        self, typed: Callable[[str, str], list[str]], before: str, after: str
    ) -> None:
        assert {"other", "Pool.split", "quarter"} <= set(typed(before, after))
