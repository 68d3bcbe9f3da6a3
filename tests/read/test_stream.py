"""Streams: errors as they complete, bounded memory, work that grows as the text does, and no text that is too odd."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raiselens_server import read
from raiselens_server.error import Observed, Role, Span
from raiselens_server.read import Reader, Reading, read_chunks, read_message, read_text

if TYPE_CHECKING:
    from collections.abc import Callable

TRACEBACK = """\
Traceback (most recent call last):
  File "/srv/app/train.py", line 41, in main
    step(batch)
  File "/srv/app/step.py", line 7, in step
    raise TypeError("x must be int32")
TypeError: x must be int32
"""
RECORD = "2026-08-01 10:00:00,000 - app - INFO - Decode batch. #running-req: 7, errors: 0\n"


def observed(reading: Reading) -> list[Observed]:
    return [error.origin for error in reading.errors if isinstance(error.origin, Observed)]


class TestFollowing:
    def test_error_is_returned_when_the_next_record_ends_it(self):
        reader = Reader()
        returned = [
            (line, error.message)
            for line in (TRACEBACK + RECORD).splitlines(keepends=True)
            for error in reader.feed(line)
        ]
        assert returned == [(RECORD, "x must be int32")]

    def test_idle_stream_gives_what_is_complete_so_far(self):
        reader = Reader()
        assert reader.feed(TRACEBACK) == ()
        assert [error.class_name for error in reader.settle()] == ["TypeError"]

    def test_reading_goes_on_after_an_idle_moment(self):
        reader = Reader()
        reader.feed(RECORD + TRACEBACK)
        reader.settle()
        reader.feed(TRACEBACK.replace("int32", "int64"))
        reader.finish()
        assert [seen.line for seen in observed(reader.reading())] == [7, 13]

    def test_what_is_told_again_is_counted_and_not_returned(self):
        reader = Reader()
        returned = [*reader.feed((TRACEBACK + RECORD) * 3), *reader.finish()]
        assert len(returned) == 1
        assert [seen.count for seen in observed(reader.reading())] == [3]

    def test_half_a_line_waits_for_its_end(self):
        reader = Reader()
        for character in TRACEBACK[:-1]:
            assert reader.feed(character) == ()
        assert [error.message for error in reader.finish()] == ["x must be int32"]

    def test_bytes_and_bad_utf8(self):
        reading = read_chunks([TRACEBACK.encode().replace(b"int32", b"int\xff\xfe32")])
        assert [error.message for error in reading.errors] == ["x must be int\ufffd\ufffd32"]


class TestMessages:
    def test_with_a_class_the_text_is_the_whole_message(self):
        reading = read_message("Traceback (most recent call last):\n  is no log here\n", "KeyError")
        assert [(error.class_name, error.message) for error in reading.errors] == [
            ("KeyError", "Traceback (most recent call last):\n  is no log here")
        ]

    def test_without_a_class_the_text_is_read_as_a_log(self):
        reading = read_message("TypeError: x must be int32")
        assert [(error.class_name, error.message) for error in reading.errors] == [("TypeError", "x must be int32")]

    def test_text_without_an_error_is_a_message_of_unknown_class(self):
        reading = read_message("pool_out must be int32, got torch.int64")
        assert [(error.class_name, error.message) for error in reading.errors] == [
            ("", "pool_out must be int32, got torch.int64")
        ]
        assert reading.primary == 0

    def test_nothing_is_nothing(self):
        assert read_message("  \n") == Reading()


class TestMemory:
    def test_clean_lines_are_not_kept(self):
        block = RECORD * 10_000
        reader = Reader()
        reader.feed(block)
        tracemalloc.start()
        for _ in range(30):
            reader.feed(block)
        reader.finish()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 8 * len(block)

    def test_program_that_prints_on_does_not_grow_the_message(self):
        reading = read_text(TRACEBACK + "step done\n" * 100_000)
        assert [error.message for error in reading.errors] == ["x must be int32"]

    def test_line_of_many_megabytes(self):
        line = "x" * 20_000_000
        reading = read_text(f"{line}\n{TRACEBACK}{line}")
        assert [
            (error.class_name, seen.line) for error, seen in zip(reading.errors, observed(reading), strict=True)
        ] == [("TypeError", 7)]


def work(text: str) -> int:
    """How many functions are called while the text is read, built-in ones counted."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        read_text(text)
    finally:
        sys.setprofile(before)
    return calls


ADVERSARIES: dict[str, Callable[[int], str]] = {
    "headers": lambda n: "Traceback (most recent call last):\n" * n,
    "headers on one line": lambda n: "Traceback (most recent call last):" * n,
    "frames": lambda n: '  File "a.py", line 1, in f\n' * n,
    "frames on one line": lambda n: '  File "a.py", line 1, in f' * n,
    "broken frames": lambda n: '  File "a.py", lin\n' * n,
    "classes": lambda n: "ValueError: x\n" * n,
    "blank lines after a message": lambda n: TRACEBACK + "\n" * n,
    "prose after a message": lambda n: TRACEBACK + "\nmore prose\n" * n,
    "continuations": lambda n: TRACEBACK + "Please check x\n" * n,
    "indented message": lambda n: TRACEBACK + "    y\n" * n,
    "links": lambda n: "During handling of the above exception, another exception occurred:\n" * n,
    "chain": lambda n: (TRACEBACK + "\nDuring handling of the above exception, another exception occurred:\n\n") * n,
    "quoted in quoted": lambda n: "".join(
        f'RayTaskError(E): ray::f() (pid={depth})\n  File "a.py", line 1, in f\n' for depth in range(n)
    ),
    "nested groups": lambda n: (
        "  + Exception Group Traceback (most recent call last):\n"
        + "".join(
            f"{'  ' * (depth % 40)}  +-+---------------- 1 ----------------\n{'  ' * (depth % 40)}    | ValueError: x\n"
            for depth in range(n)
        )
    ),
    "margins": lambda n: "  + Exception Group Traceback (most recent call last):\n" + "  | " * n + "\n",
    "returns": lambda n: "Error\r" * n,
    "escapes": lambda n: "Error" + "\x1b[0m" * n,
    "open escapes": lambda n: "Error" + "\x1b]8;;" * n,
    "brackets": lambda n: "Error" + "[1;" * n,
    "dots": lambda n: "a." * n + "Error: x",
    "digits": lambda n: "1:" * n + " Error: x",
    "times": lambda n: "10:00:00 " * n + "ValueError: x",
    "tags on one line": lambda n: "Error x[rank0]: " * n,
    "ranks": lambda n: "".join(f"[rank{rank}]: {TRACEBACK.splitlines()[0]}\n" for rank in range(n)),
    "open JSON": lambda n: '{"log": "Traceback ' + '\\"' * n,
    "JSON records": lambda n: '{"log": "ValueError: x"}\n' * n,
    "nested JSON": lambda n: '{"message": ' * n + '"Error"' + "}" * n,
    "escaped tracebacks": lambda n: 'error="Traceback (most recent call last):\\n  File \\"a\\"' * n,
    "boxes": lambda n: "╭─── Traceback (most recent call last) ───╮\n│ /a/b.py:1 in f │\n" * n,
    "pytest": lambda n: "____ test_x ____\n\nE   ValueError: x\n\na.py:1: ValueError\n" * n,
    "summaries": lambda n: "".join(f"FAILED a.py::test_{k} - something new {k}\n" for k in range(n)),
    "IPython": lambda n: "ValueError       Traceback (most recent call last)\n----> 1 x\n" * n,
    "assertions": lambda n: "a.cu:1: f: block: [0,0,0], thread: [0,0,0] Assertion `x` failed.\n" * n,
    "aborts": lambda n: "terminate called after throwing an instance of 'X'\n" * n,
    "learned prefixes": lambda n: "".join(f"p{k}> {line}\n" for k in range(n) for line in TRACEBACK.splitlines()[:2]),
    "escaped frames": lambda n: "  File &quot;a.py&quot;, line 1, in f\n" * n,
    "escaped frames on one line": lambda n: "  File &quot;a.py&quot;, line 1, in f" * n,
    "round quotes": lambda n: "  File “a.py”, line 1, in f\n" * n,
    "borders": lambda n: TRACEBACK.replace("\n", "   │\n") * n,
    "quoted mail": lambda n: ("> " * 4 + '  File "a.py", line 1, in\n') * n,
    "marks of quotations": lambda n: "> " * n + 'File "a.py", line 1, in f\n',
    "linked frames": lambda n: "[/a/b.py](https://x) in f(x)\n----> [1](https://x) x\n" * n,
    "links on one line": lambda n: "File [1](https://x" * n + "\n----> 1 x\n",
    "loggers": lambda n: "".join(f"ERROR:app:part {k} failed: ValueError: x\n" for k in range(n)),
    "colons": lambda n: "ERROR:app:" + "x: " * n + "ValueError: x\n",
    "open quotations": lambda n: "'" + "\\'" * n + "Traceback (most recent call last):\\n" * n,
    "numbered lines": lambda n: "".join(f"{k:7d} {line}\n" for k, line in enumerate(TRACEBACK.splitlines() * n)),
    "unraised in quotations": lambda n: (
        'x.RemoteTraceback: \n"""\n'
        + "ValueError: x\n\nDuring handling of the above exception, another exception occurred:\n\n" * n
        + '"""\n'
    ),
    "torn in two": lambda n: "".join(
        TRACEBACK.splitlines(keepends=True)[0] * 2 + TRACEBACK.replace("int32", str(k)) for k in range(n)
    ),
    "different errors": lambda n: "".join(TRACEBACK.replace("int32", f"a{k}b") for k in range(n)),
}


@pytest.mark.parametrize("name", list(ADVERSARIES))
def test_twice_the_text_is_twice_the_work(name: str):
    make = ADVERSARIES[name]
    once, twice = work(make(400)), work(make(800))
    assert twice <= 2.4 * once + 2_000


def _modules() -> list[str]:
    return [info.name for info in pkgutil.walk_packages(read.__path__, f"{read.__name__}.")]


# Linear although a repetition stands in a repetition: each round of the outer one begins with a character that ends
# the inner one before it.
UNROLLED = {r'"[^"\\]*(?:\\.[^"\\]*)*"', r"\d+(?:[:.,/T-]\d+)+Z?|(?<=#)\d+|(?<![\w=-])\d{6,}"}


@pytest.mark.parametrize("module", _modules())
def test_no_pattern_can_backtrack_without_bound(module: str):
    nested = re.compile(r"[*+]\)?[*+]|[*+][^()|]*\)(?:[*+]|\{\d+,\})")
    for value in vars(importlib.import_module(module)).values():
        patterns = value if isinstance(value, tuple) else (value,)
        for pattern in patterns:
            if isinstance(pattern, re.Pattern) and pattern.pattern not in UNROLLED:
                assert not nested.search(pattern.pattern), pattern.pattern


FRAGMENTS = [
    *TRACEBACK.splitlines(keepends=True),
    RECORD,
    "\n", "\r", "\r\n", " ", "    ", "\t", "\x1b[31m", "[0m", "[rank0]: ", "[rank1]: ", "(EngineCore pid=7) ERROR 08-01 12:00:00 [core.py:8] ",
    "2026-05-30T17:02:48.010Z stderr P ", "2: ", "> ", "3|app  | ", "May 04 11:27:33 gpu1 vllm[5120]: ", "E   ValueError: x\n",
    "____ test_x ____\n", "a.py:3: in f\n", "a.py:3: ValueError\n", "FAILED a.py::t - ValueError: x\n", "=== short test summary info ===\n",
    "ValueError       Traceback (most recent call last)\n", "Cell In[1], line 2\n", "----> 2 x\n", "File ~/a.py:3, in f(x)\n",
    "╭─── Traceback (most recent call last) ───╮\n", "│ /a/b.py:1 in f │\n", "╰───╯\n",
    "  + Exception Group Traceback (most recent call last):\n", "  | ", "  +-+---------------- 1 ----------------\n", "    +------------------------------------\n",
    "\nThe above exception was the direct cause of the following exception:\n\n", "During handling of the above exception, another exception occurred:\n",
    '{"log": "', '", "stream": "stderr"}\n', "\\n", '\\"', '"""\n', "terminate called after throwing an instance of 'X'\n", "  what():  y\n",
    "Fatal Python error: Aborted\n", "Current thread 0x1 (most recent call first):\n", '  File "a.py", line 3 in f\n', "KeyError: 'k'\n", "m.E\n",
    "a.cu:1: f: block: [0,0,0], thread: [0,0,0] Assertion `x` failed.\n", "at 3:7:\n", "        ^\n", "ray::f() (pid=1)\n", "\ufeff", "é", "🙂", "\x00", "\ud800",
]  # fmt: skip
LOGS = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=12)), max_size=60).map("".join)


def within(span: Span, lines: list[str]) -> bool:
    """Whether the span lies in the text; the end may stand behind the last character of its line."""
    start_ok = 1 <= span.line <= len(lines) and 1 <= span.column <= len(lines[span.line - 1]) + 1
    end_ok = 1 <= span.end_line <= len(lines) and 1 <= span.end_column <= len(lines[span.end_line - 1]) + 1
    return start_ok and end_ok and (span.line, span.column) <= (span.end_line, span.end_column)


class TestAnyText:
    @settings(deadline=None)
    @given(LOGS)
    def test_places_are_in_the_text_and_errors_in_its_order(self, text: str):
        reading = read_text(text)
        lines = text.split("\n")
        seen = observed(reading)
        assert [place.line for place in seen] == sorted(place.line for place in seen)
        for error, place in zip(reading.errors, seen, strict=True):
            assert 1 <= place.line <= len(lines)
            assert 1 <= place.column <= len(lines[place.line - 1]) + 1
            assert place.count >= 1
            assert all(frame.place is not None and within(frame.place, lines) for frame in error.frames)

    @settings(deadline=None)
    @given(LOGS)
    def test_primary_is_an_error_and_not_a_warning(self, text: str):
        reading = read_text(text)
        roles = [place.role for place in observed(reading)]
        if reading.primary is None:
            assert all(role is Role.WARNING for role in roles)
        else:
            assert roles[reading.primary] is not Role.WARNING

    @settings(deadline=None)
    @given(LOGS, st.integers(1, 40))
    def test_reading_does_not_depend_on_how_the_text_arrives(self, text: str, size: int):
        text = text.encode("utf-8", "replace").decode()
        assert read_chunks(text[start : start + size] for start in range(0, len(text), size)) == read_text(text)

    @settings(deadline=None)
    @given(LOGS)
    def test_skipping_lines_without_a_marker_loses_nothing(self, text: str):
        reader = Reader(gated=False)
        reader.feed(text)
        reader.finish()
        assert reader.reading() == read_text(text)
