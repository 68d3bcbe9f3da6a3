"""`Project`: what a question leaves behind, what open files change, and input that is hardly Python."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from raiselens_server.error import Foreseen
from raiselens_server.foresee import Environment, Project

if TYPE_CHECKING:
    from collections.abc import Callable

LIB = """\
def check(width):
    if width % 8:
        raise ValueError(f"width {width}")
"""
MAIN = """\
from lib import check

check(12)
"""
CLEAN = MAIN.replace("12", "16")


@pytest.fixture
def main(tmp_path: Path) -> str:
    (tmp_path / "lib.py").write_text(LIB, encoding="utf-8")
    path = tmp_path / "main.py"
    path.write_text(MAIN, encoding="utf-8")
    return str(path)


@pytest.fixture
def project() -> Project:
    return Project(Environment())


def said(project: Project, path: str, text: str | None = None) -> list[tuple[int, str]]:
    """Line and message of each finding."""
    found = []
    for error in project.check(path, text).errors:
        assert isinstance(error.origin, Foreseen)
        found.append((error.origin.place.span.line, error.message))
    return found


FOUND = [(3, "width 12")]


class TestTexts:
    def test_a_text_stands_for_the_file_in_one_question_only(self, project: Project, main: str) -> None:
        assert said(project, main, CLEAN) == []
        assert said(project, main) == FOUND
        assert said(project, main, "\n" + MAIN) == [(4, "width 12")]
        assert said(project, main) == FOUND
        assert project.text_of(main) == MAIN

    def test_a_text_for_a_file_that_is_not_there(self, project: Project, main: str) -> None:
        new = str(Path(main).with_name("new.py"))
        assert said(project, new, MAIN) == FOUND
        assert project.text_of(new) is None
        with pytest.raises(OSError, match=r"new\.py"):
            project.check(new)

    def test_an_open_file_hides_the_one_on_disk(self, project: Project, main: str) -> None:
        project.open(main, CLEAN)
        assert said(project, main) == []
        project.open(main, MAIN)
        assert said(project, main) == FOUND
        project.close(main)
        project.close(main)
        assert said(project, main) == FOUND

    def test_an_edit_of_another_open_file_is_seen(self, project: Project, main: str) -> None:
        lib = str(Path(main).with_name("lib.py"))
        assert said(project, main) == FOUND
        project.open(lib, LIB.replace("% 8", "% 4"))
        assert said(project, main) == []
        project.open(lib, LIB.replace("width {", "the width {"))
        assert said(project, main) == [(3, "the width 12")]
        project.open(lib, "def check(width, height): ...\n")
        assert said(project, main) == [(3, "check() missing 1 required positional argument: 'height'")]
        project.open(lib, "")
        assert said(project, main) == []
        project.close(lib)
        assert said(project, main) == FOUND

    def test_a_text_of_one_question_is_not_seen_by_others(self, project: Project, main: str) -> None:
        lib = str(Path(main).with_name("lib.py"))
        assert said(project, lib, LIB.replace("% 8", "% 4")) == []
        assert said(project, main) == FOUND

    def test_edits_of_several_files_at_once(self, project: Project, main: str) -> None:
        lib = str(Path(main).with_name("lib.py"))
        assert project.check_edited(main, {lib: LIB.replace("% 8", "% 4")}).errors == ()
        assert project.check_edited(main, {lib: "", main: CLEAN}).errors == ()
        assert said(project, main) == FOUND

    def test_the_disk_is_read_anew_when_asked(self, project: Project, main: str) -> None:
        assert said(project, main) == FOUND
        Path(main).with_name("lib.py").write_text(LIB.replace("% 8", "% 4"), encoding="utf-8")
        project.forget_disk()
        assert said(project, main) == []
        Path(main).with_name("lib.py").unlink()
        project.forget_disk()
        assert said(project, main) == []

    def test_a_module_that_appears_is_found(self, project: Project, main: str) -> None:
        library = Path(main).with_name("lib.py")
        library.unlink()
        assert said(project, main) == []
        library.write_text(LIB, encoding="utf-8")
        project.forget_disk()
        assert said(project, main) == FOUND

    def test_the_same_question_has_the_same_answer(self, project: Project, main: str) -> None:
        first = project.check(main)
        again = project.check(main)
        assert (again.errors, again.statistics) == (first.errors, first.statistics)
        assert Project(Environment()).check(main).errors == first.errors

    def test_the_finding_behind_an_error_stays_while_repairs_are_tried(self, project: Project, main: str) -> None:
        (error,) = project.check(main).errors
        assert project.finding(error) is not None
        project.check_edited(main, {main: CLEAN})
        assert project.finding(error) is not None


class TestNamed:
    WRAPPER = "from lib import check\n\n\ndef wrapper(width):\n    check(width)\n"
    USER = "from wrapper import wrapper\n\nwrapper(12)\n"

    def write(self, main: str) -> tuple[str, str]:
        wrapper = Path(main).with_name("wrapper.py")
        wrapper.write_text(self.WRAPPER, encoding="utf-8")
        Path(main).write_text(self.USER, encoding="utf-8")
        return main, str(wrapper)

    def test_the_deepest_frame_in_a_named_file_is_the_place(self, main: str) -> None:
        user, wrapper = self.write(main)
        assert said(Project(Environment(), [user]), user) == [(3, "width 12")]
        # The call stands in the wrapper's file, which is asked about on its own: there the width is not known.
        assert said(Project(Environment(), [user, wrapper]), user) == []
        assert said(Project(Environment(), [str(Path(main).parent)]), wrapper) == []

    def test_an_open_file_counts_as_named(self, main: str) -> None:
        user, wrapper = self.write(main)
        project = Project(Environment(), [user])
        project.open(wrapper, self.WRAPPER)
        assert said(project, user) == []
        project.close(wrapper)
        assert said(project, user) == [(3, "width 12")]


class TestSearch:
    def test_extra_paths_come_in_their_order(self, tmp_path: Path, main: str) -> None:
        Path(main).with_name("lib.py").unlink()
        for name, modulus in (("first", 4), ("second", 8)):
            (tmp_path / name).mkdir()
            (tmp_path / name / "lib.py").write_text(LIB.replace("% 8", f"% {modulus}"), encoding="utf-8")
        first, second = str(tmp_path / "first"), str(tmp_path / "second")
        assert said(Project(Environment((first, second))), main) == []
        assert said(Project(Environment((second, first))), main) == FOUND

    def test_the_stubs_come_last(self, tmp_path: Path, main: str) -> None:
        Path(main).with_name("lib.py").unlink()
        for name, modulus in (("stubs", 8), ("installed", 4)):
            (tmp_path / name).mkdir()
            (tmp_path / name / "lib.py").write_text(LIB.replace("% 8", f"% {modulus}"), encoding="utf-8")
        stubs, installed = str(tmp_path / "stubs"), str(tmp_path / "installed")
        assert said(Project(Environment((), (stubs,))), main) == FOUND
        assert said(Project(Environment((installed,), (stubs,))), main) == []
        assert said(Project(Environment((), (installed, stubs))), main) == []

    def test_a_folder_with_the_standard_library_is_not_looked_into_for_it(self, tmp_path: Path, main: str) -> None:
        for name in ("os", "abc", "types", "dataclasses"):
            (tmp_path / f"{name}.py").write_text("def dataclass(cls):\n    return cls\n", encoding="utf-8")
        text = f"from dataclasses import dataclass\n@dataclass\nclass Width:\n    value: int\nWidth(1)\n{MAIN}"
        assert said(Project(Environment()), main, text) == [(8, "width 12")]
        (tmp_path / "types.py").unlink()
        assert said(Project(Environment()), main, text) == [(5, "Width() takes no arguments"), (8, "width 12")]

    def test_modules_that_import_each_other(self, main: str, project: Project) -> None:
        Path(main).with_name("lib.py").write_text(f"{LIB}\n\nimport main\nfrom main import *\n", encoding="utf-8")
        assert said(project, main) == FOUND

    def test_a_package_that_is_its_own_alias(self, tmp_path: Path, project: Project) -> None:
        folder = tmp_path / "pkg"
        folder.mkdir()
        (folder / "__init__.py").write_text(
            "from . import pkg\nfrom .pkg import pkg\npkg = pkg.pkg\n", encoding="utf-8"
        )
        (folder / "pkg.py").write_text("from . import pkg\nfrom pkg import pkg as p\npkg = p\n", encoding="utf-8")
        assert said(project, str(folder / "pkg.py"), "from pkg import pkg\npkg.pkg.pkg(1)\n") == []


NESTINGS: dict[str, Callable[[int], str]] = {
    "parentheses": lambda n: "(" * n + "1" + ")" * n,
    "lists": lambda n: "[" * n + "]" * n,
    "open": lambda n: "f(" * n,
    "calls": lambda n: "f(" * n + ")" * n,
    "attributes": lambda n: "a" + ".b" * n,
    "chained calls": lambda n: "a" + ".b()" * n,
    "subscripts": lambda n: "a" + "[0]" * n,
    "sums": lambda n: " + ".join(["1"] * n),
    "signs": lambda n: "x = " + "-" * n + "1",
    "negations": lambda n: "x = " + "not " * n + "1",
    "booleans": lambda n: " and ".join(["x"] * n),
    "comparisons": lambda n: " < ".join(["x"] * n),
    "conditions": lambda n: " if x else ".join(["x"] * n),
    "lambdas": lambda n: "lambda: " * n + "1",
    "blocks": lambda n: "".join(" " * depth + "if x:\n" for depth in range(n)) + " " * n + "pass",
    "functions": lambda n: "".join(" " * d + f"def f{d}(x):\n" for d in range(n)) + " " * n + "pass",
    "classes": lambda n: "".join(" " * d + "class A:\n" for d in range(n)) + " " * n + "pass",
    "alternatives": lambda n: "if x: pass\n" + "elif x: pass\n" * n,
    "f-strings": lambda n: "f'{" * n,
    "targets": lambda n: "(" * n + "a" + ",)" * n + " = 1",
    "assignments": lambda n: "a = " * n + "1",
    "decorators": lambda n: "@d\n" * n + "def f(): ...",
    "arguments": lambda n: "def f(" + ", ".join(f"a{i}" for i in range(n)) + "): ...\nf()",
}


@pytest.mark.parametrize("kind", NESTINGS)
def test_deep_nesting(kind: str, project: Project, main: str) -> None:
    text = f"from lib import check\n\n\ndef inside():\n    check(12)\n\n\n{NESTINGS[kind](3000)}\n"
    assert (5, "width 12") in said(project, main, text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "\x00",
        "\ufeff" + MAIN,
        "\x0c" + MAIN,
        MAIN.replace("\n", "\r\n"),
        MAIN.replace("\n", "\r"),
        MAIN[:-1],
        "\t \t",
        "def",
        "class A(A): ...\nA()",
        "def f(x=f): f()\nf()",
        "x = x\nx.y = x\nx()",
        "from . import x\nfrom .... import y\nfrom main import main\nmain()",
        "import main\nmain.main.main()",
        "raise\nraise raise\nassert\nyield\nreturn\nawait x",
        "a, *b, *c = 1\n*a = 1\ndel *a",
        "def f(a, a, *, **k, /, *b): ...\nf(1)",
        "f(**{1: 2})\nf(*1)\nf(a=1, a=2)",
        "\ud800 = 1",
        "'\\N{no such}' '\\uZZZZ' b'\\xz' f'{' f'{!}' f'{x:{y:{z}}}'",
        "0x 1e 1_ 0b2 9" + "9" * 5000,
        "1 / 0\n1 % 0\n1 << 10 ** 9\n[0] * 10 ** 12\n2 ** 10 ** 9\n'%d' % 'a'\n'{}'.format()\n1 << -1\n10 ** 400 / 3.0",
        "range(10 ** 18)\nlist(range(10 ** 9))\nsum(range(10 ** 9))\nfor i in range(10 ** 12): pass\nx, y = range(10 ** 9)",
        "str(10 ** 5000)\nfloat('1' * 10 ** 6)\nint(1e308 * 10)\nround(1.5, 10 ** 9)\nint('1', 10 ** 9)\nchr(-1)\nord('')",
        "[1][1:2:0]\n'a'[::0]\n(1,)[5]\nrange(3)[10]\nrange(0, 1, 0)\n'x'.split('')\n'a'.index('z')\n[].pop()\nmin([])",
        "'x'.encode('nosuch')\nisinstance(1, 3)\ngetattr(1, 2)\ntype(1, 2, 3)\nnext(iter([]))\nsum(['a'])\ndivmod(1, 0)",
        "'a' * 10 ** 12\n'a'.zfill(10 ** 12)\nint('9' * 10 ** 5)\n'a' + 'b' * 10 ** 12\n10 ** 12 * b'a'",
        "f'{1:>999999999999}'\n'{:>999999999999}'.format(1)\n'%999999999999d' % 1\n'%*d' % (10 ** 12, 1)",
        "s = 'a'\nfor i in range(90): s = s + s\nt = 'a'\nfor i in range(90): t = t.replace('a', 'aa')\n",
        "s = 'a'\nfor i in range(90): s = s.join([s, s])\nlen(range(10 ** 30))\n1 << 10 ** 12\n",
        f"match 1:\n    case {'[' * 3000}1{']' * 3000}:\n        pass\n",
        f"x = {'+'.join('1' * 50_000)}\n{'a.' * 5000}b\nif x: pass\n" + "elif x: pass\n" * 5000,
        "import torch\ntorch.zeros(10 ** 12, -1)\ntorch.zeros(2) @ torch.zeros(3, 4, 5)\ntorch.zeros(())[0]",
        "while True: x = [x]\n",
        "x = []\nx.append(x)\nprint(x, f'{x}')\nd = {}\nd['d'] = d\nassert d == d\n",
    ],
)
def test_text_that_is_hardly_python(text: str, project: Project, main: str) -> None:
    said(project, main, text)
    assert said(project, main) == FOUND


def test_bytes_that_are_no_text(project: Project, tmp_path: Path) -> None:
    path = tmp_path / "noise.py"
    path.write_bytes(random.Random(7).randbytes(20_000))  # noqa: S311 noise, the same each time
    assert said(project, str(path)) == []
    path.write_bytes(b"# coding: latin-1\nname = '\xe9'\n" + MAIN.encode())
    (tmp_path / "lib.py").write_text(LIB, encoding="utf-8")
    project.forget_disk()
    assert said(project, str(path)) == [(5, "width 12")]


@pytest.mark.parametrize("seed", range(12))
def test_damaged_text(seed: int, project: Project, main: str) -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    chance = random.Random(seed)  # noqa: S311 damage, the same each time
    for _ in range(3):
        at = chance.randrange(len(source))
        source = source[:at] + chance.choice(["", "(", "'", '"""', "\n", ":", "def ", "\x00", "é"]) + source[at + 3 :]
        said(project, main, source)
    assert said(project, main) == FOUND


@pytest.mark.slow
class TestLarge:
    """A megabyte of source is read; the finding at its end is there as far as the budget of one root goes."""

    @pytest.mark.parametrize(
        "filler",
        [
            "x = [" + "1, " * 350_000 + "]\n",
            "x = '" + "a" * 1_000_000 + "'\n",
            '"""' + "text\n" * 200_000 + '"""\n',
            "# comment\n" * 100_000,
            "def f():\n" + "    x = [1, 2, 3]\n" * 60_000,
        ],
        ids=["list", "string", "docstring", "comments", "function"],
    )
    def test_a_megabyte(self, filler: str, project: Project, main: str) -> None:
        assert said(project, main, f"{filler}{MAIN}") == [(filler.count("\n") + 3, "width 12")]

    @pytest.mark.parametrize(
        "filler",
        ["x = [1, 2, 3]\n" * 70_000, "".join(f"def f{n}(x):\n    return x + {n}\n\n\n" for n in range(25_000))],
        ids=["statements", "functions"],
    )
    def test_what_exceeds_the_budget_says_so(self, filler: str, project: Project, main: str) -> None:
        report = project.check(main, f"{filler}{MAIN}")
        assert (report.errors, report.statistics.undecided["budget"]) == ((), 1)
        assert said(project, main, f"{filler}\n\ndef last():\n    from lib import check\n\n    check(12)\n")


def test_places_in_text_that_is_not_ascii(project: Project, main: str) -> None:
    text = 'from lib import check\n\n"𝛼𝛽é"; check(12); "𝛾"\n'
    (error,) = project.check(main, text).errors
    assert isinstance(error.origin, Foreseen)
    span = error.origin.place.span
    assert (span.line, span.column, span.end_line, span.end_column) == (3, 8, 3, 17)
    assert error.frames[0].line == 3


TRACED = """\
def traced(function):
    for _ in range(16):
        for _ in range(16):
            pass
    return function
"""
ENDLESS = """\
def traced(function):
    for _ in range(16):
        for _ in range(16):
            for _ in range(16):
                for _ in range(16):
                    pass
    return function
"""


class TestBudget:
    def test_names_are_worked_out_on_a_budget_of_their_own(self, project: Project, main: str) -> None:
        functions = [f"@traced\ndef check_{index}(width):\n    check(width)\n" for index in range(100)]
        Path(main).with_name("many.py").write_text("\n".join([TRACED, LIB, *functions]), encoding="utf-8")
        calls = [f"def run_{index}():\n    many.check_{index}(12)\n" for index in range(100)]
        text = "\n".join(["import many\n", *calls])
        assert [message for _, message in said(project, main, text)] == ["width 12"] * 100

    def test_a_decorator_that_spends_it_hides_what_it_decorates(self, project: Project, main: str) -> None:
        wrapped = "@traced\ndef wrapped(width):\n    check(width)\n"
        Path(main).with_name("many.py").write_text(f"{ENDLESS}\n{LIB}\n{wrapped}", encoding="utf-8")
        assert said(project, main, "import many\n\n\nmany.wrapped(12)\nmany.check(12)\n") == [(5, "width 12")]

    def test_a_root_whose_decorator_spends_it_is_left_out(self, project: Project, main: str) -> None:
        root = "@traced\ndef root():\n    check(12)\n"
        text = f"{ENDLESS}\nfrom lib import check\n\n{root}\ndef other():\n    check(12)\n"
        report = project.check(main, text)
        assert [error.frames[0].function for error in report.errors] == ["other"]
        assert report.statistics.undecided["budget"] > 0
