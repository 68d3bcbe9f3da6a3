"""Excerpts: each case is a text, what is marked in it, and how that looks."""

from __future__ import annotations

import pytest

from raiselens_server.error import Place, Span
from raiselens_server.present.excerpt import WIDEST, Mark, excerpts
from raiselens_server.present.styled import Style, plain, visible


def shown(text: str | None, *marks: Mark) -> str:
    return plain(excerpts(marks, lambda file: text if file == "a.py" else None))


def mark(line: int, column: int, end_line: int, end_column: int, label: str = "here", file: str = "a.py") -> Mark:
    return Mark(Place(file, Span(line, column, end_line, end_column)), label, Style.ERROR, primary=True)


def note(line: int, column: int, end_column: int, label: str = "from here", file: str = "a.py") -> Mark:
    return Mark(Place(file, Span(line, column, line, end_column)), label, Style.NOTE)


CASES = {
    "one line": (
        "x = f(1)\n",
        [mark(1, 5, 1, 9)],
        """\
 --> a.py:1:5
  |
1 | x = f(1)
  |     ^^^^ here
  |
""",
    ),
    "a place before it, with lines between left out": (
        "a = 1\nb = 2\nc = 3\nd = 4\nf(a)\n",
        [mark(5, 1, 5, 5), note(1, 5, 6)],
        """\
 --> a.py:5:1
  |
1 | a = 1
  |     - from here
...
5 | f(a)
  | ^^^^ here
  |
""",
    ),
    "one line between is shown": (
        "a = 1\nb = 2\nf(a)\n",
        [mark(3, 1, 3, 5), note(1, 5, 6)],
        """\
 --> a.py:3:1
  |
1 | a = 1
  |     - from here
2 | b = 2
3 | f(a)
  | ^^^^ here
  |
""",
    ),
    "a long statement keeps its beginning and its end": (
        "f(\n" + "".join(f"    a{n},\n" for n in range(9)) + ")\n",
        [mark(1, 1, 11, 2)],
        """\
  --> a.py:1:1
   |
 1 | f(
   | ^^ here
 2 |     a0,
 3 |     a1,
 4 |     a2,
...
11 | )
   |
""",
    ),
    "wide characters and tabs count as the terminal shows them": (
        "\t名 = f(é)\n",
        [mark(1, 6, 1, 10)],
        """\
 --> a.py:1:6
  |
1 |     名 = f(é)
  |          ^^^^ here
  |
""",
    ),
    "control characters cannot steer the terminal": (
        "x = '\x1b[31m'\n",
        [mark(1, 5, 1, 12, "red \x1b[0m")],
        """\
 --> a.py:1:5
  |
1 | x = '\\x1b[31m'
  |     ^^^^^^^^^^ red \\x1b[0m
  |
""",
    ),
    "an empty line has no trailing space": (
        "a = 1\n\nf(a)\n",
        [mark(3, 1, 3, 5), note(1, 5, 6)],
        """\
 --> a.py:3:1
  |
1 | a = 1
  |     - from here
2 |
3 | f(a)
  | ^^^^ here
  |
""",
    ),
    "another file comes after, by its place alone where it cannot be read": (
        "f(1)\n",
        [mark(1, 1, 1, 5), note(7, 3, 9, file="b.py")],
        """\
 --> a.py:1:1
  |
1 | f(1)
  | ^^^^ here
  |
 ::: b.py:7:3
""",
    ),
    "places outside the text are left out": (
        "f(1)\n",
        [mark(9, 1, 9, 5)],
        " --> a.py:9:1\n",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_excerpt(name: str) -> None:
    text, marks, expected = CASES[name]
    assert shown(text, *marks) == expected


def test_a_line_without_end_is_cut_around_what_is_marked() -> None:
    text = "x = [" + "1, " * 400 + "f(2)]\n"
    column = text.index("f(2)") + 1
    rows = shown(text, mark(1, column, 1, column + 4)).splitlines()
    assert "f(2)" in rows[2]
    assert rows[3].index("^") == rows[2].index("f(2)")
    assert max(map(len, rows)) <= WIDEST + 20


@pytest.mark.parametrize(
    ("text", "expected"),
    [("plain", "plain"), ("\x1b]0;title\x07", "\\x1b]0;title\\x07"), ("\u202e", "\\u202e"), ("é名", "é名")],
)
def test_visible(text: str, expected: str) -> None:
    assert visible(text) == expected
