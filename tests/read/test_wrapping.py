"""Logs of programs that really failed, wrapped as collectors, launchers and people wrap them: the answer stays the same."""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from real_runs import applies, run

from raiselens_server.error import Observed
from raiselens_server.read import Reading, read_text

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(sys.executable)
RAISERS = (
    "plain", "lines", "paragraphs", "plain-lines", "three", "lines-between", "unicode", "call", "caret", "key", "quotes", "colons",
    "group", "group-nested", "notes",
)  # fmt: skip

# What one line becomes; `number` counts lines.
PREFIXES: dict[str, Callable[[int], str]] = {
    "docker": lambda number: f"2026-05-30T17:02:{number % 60:02d}.{number * 7919 % 10**9:09d}Z ",
    "cri": lambda number: f"2026-05-30T17:02:{number % 60:02d}.123456789Z stderr F ",
    "actions": lambda number: f"2026-11-21T15:44:{number % 60:02d}.1234567Z ",
    "srun": lambda _: "3: ",
    "journald": lambda number: f"May 04 11:27:{number % 60:02d} gpu1 vllm[5120]: ",
    "compose": lambda _: "sglang-1  | ",
    "rank": lambda _: "[rank3]: ",
    "elastic": lambda _: "[default3]:",
    "ray": lambda _: "(RayTrainWorker pid=771, ip=10.0.0.7) ",
    "vllm": lambda number: f"(EngineCore_DP0 pid=77) ERROR 08-01 12:00:{number % 60:02d} [core.py:843] ",
    "vllm without a level": lambda _: "(APIServer pid=12) ",
    "logging": lambda number: f"2026-08-01 10:00:{number % 60:02d},000 - serve - ERROR - ",
    "glog": lambda number: f"E0801 13:23:{number % 60:02d}.000000 140 api.py:874] ",
    "pdsh": lambda _: "node-7: ",
    "mpirun": lambda _: "[1,3]<stderr>: ",
    "kubectl": lambda _: "[pod/llm-0/server] ",
    "quote": lambda _: "> ",
}
# What stands before the lines of one record only, so that whatever carries it is of the record.
OF_A_RECORD = {"rank", "vllm", "logging", "glog"}
STACKED = ("rank", "vllm without a level", "ray", "srun")


@cache
def base(raiser: str) -> str:
    """What the interpreter itself prints of the failure."""
    with TemporaryDirectory() as folder:
        text, _ = run(HERE, raiser, "script", Path(folder))
    return text[text.index("\n") + 1 :]


def prefixed(text: str, name: str) -> str:
    prefix = PREFIXES[name]
    return "".join(f"{prefix(number)}{line}\n" for number, line in enumerate(text.split("\n")[:-1]))


def coloured(text: str) -> str:
    return "".join(f"\x1b[31m{line}\x1b[0m\n" if line else "\n" for line in text.split("\n")[:-1])


def json_lines(text: str) -> str:
    rows = (json.dumps({"log": line + "\n", "stream": "stderr"}) for line in text.split("\n")[:-1])
    return "".join(f"{row}\n" for row in rows)


def json_record(text: str) -> str:
    return json.dumps({"level": "error", "message": "step failed", "exc_info": text}) + "\n"


def crlf(text: str) -> str:
    return text.replace("\n", "\r\n")


def ranks(text: str) -> str:
    """Two ranks, line by line."""
    lines = text.split("\n")[:-1]
    return "".join(f"[rank{rank}]: {line}\n" for line in lines for rank in (0, 1))


def noisy(text: str) -> str:
    quiet = "2026-08-01 10:00:00,000 - serve - INFO - Decode batch, errors: 0\n"
    return f"{quiet * 3}{text}{quiet * 3}"


WRAPPERS: dict[str, Callable[[str], str]] = {
    **{name: (lambda text, name=name: prefixed(text, name)) for name in PREFIXES},
    **{f"docker over {name}": (lambda text, name=name: prefixed(prefixed(text, name), "docker")) for name in STACKED},
    "journald over vllm": lambda text: prefixed(prefixed(text, "vllm without a level"), "journald"),
    "colour": coloured,
    "coloured ranks": lambda text: prefixed(coloured(text), "rank"),
    "JSON lines": json_lines,
    "JSON record": json_record,
    "CRLF": crlf,
    "CRLF under docker": lambda text: crlf(prefixed(text, "docker")),
    "two ranks": ranks,
    "quiet lines around": noisy,
}


def told(reading: Reading) -> list[tuple[str, str, str, list[tuple[str, int, str]]]]:
    found = []
    for error in reading.errors:
        assert isinstance(error.origin, Observed)
        frames = [(frame.file, frame.line, frame.function) for frame in error.frames]
        found.append((error.class_name, error.message, error.origin.role.value, frames))
    return found


def assert_places(text: str, reading: Reading) -> None:
    """Each error's place is where its class stands in the text that was read, each frame's where its file does."""
    lines = text.split("\n")
    for error in reading.errors:
        assert isinstance(error.origin, Observed)
        assert lines[error.origin.line - 1][error.origin.column - 1 :].startswith(error.class_name)
        for frame in error.frames:
            assert frame.place is not None
            assert lines[frame.place.line - 1][frame.place.column - 1 :].startswith("File ")


@pytest.mark.parametrize("wrapper", list(WRAPPERS))
@pytest.mark.parametrize("raiser", [name for name in RAISERS if applies(HERE, name, "script")])
def test_the_answer_stays_the_same(raiser: str, wrapper: str):
    text = base(raiser)
    plain, wrapped = read_text(text), read_text(WRAPPERS[wrapper](text))
    assert told(wrapped) == told(plain)
    assert wrapped.primary == plain.primary
    if not wrapper.startswith("JSON"):
        assert_places(WRAPPERS[wrapper](text), wrapped)


@given(
    raisers=st.lists(
        st.sampled_from(("plain", "lines", "three", "call", "unicode")), min_size=1, max_size=3, unique=True
    ),
    outer=st.sampled_from(list(PREFIXES)),
    inner=st.sampled_from((None, *STACKED)),
    how=st.sampled_from((None, coloured, crlf)),
    quiet=st.booleans(),
)
def test_several_failures_under_any_prefixes(
    *, raisers: list[str], outer: str, inner: str | None, how: Callable[[str], str] | None, quiet: bool
):
    bases = [base(raiser) for raiser in raisers]
    quiet = quiet or not OF_A_RECORD.isdisjoint({outer, inner})
    text = "".join(noisy(text) if quiet else f"started\n{text}\nstopped\n" for text in bases)
    wrapped = text if inner is None or outer in {inner, "vllm"} else prefixed(text, inner)
    wrapped = prefixed(wrapped, outer)
    wrapped = how(wrapped) if how is not None else wrapped
    want = [error for text in bases for error in told(read_text(text))]
    assert told(read_text(wrapped)) == want


@pytest.mark.parametrize("raiser", ["plain", "three", "call", "key", "unicode"])
def test_indentation_that_markdown_ate(raiser: str):
    text = base(raiser)
    stripped = "".join(f"{line.strip()}\n" for line in text.split("\n"))
    assert told(read_text(stripped)) == told(read_text(text))


@pytest.mark.parametrize("raiser", [name for name in RAISERS if applies(HERE, name, "script")])
def test_a_cut_text_tells_what_is_left_of_it(raiser: str):
    text = base(raiser)
    whole = told(read_text(text))
    lines = text.splitlines(keepends=True)
    classes = {error[0] for error in whole}
    for at in range(1, len(lines)):
        assert {error[0] for error in told(read_text("".join(lines[:at])))} <= classes
        tail = told(read_text("".join(lines[at:])))
        assert not tail or tail[-1][0] in classes
