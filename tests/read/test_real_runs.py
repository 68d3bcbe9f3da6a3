"""What programs that really fail print is read back as what they raised: see `real_runs`."""

from __future__ import annotations

import re
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from raisers import LIBRARY_RAISERS, RAISERS
from real_runs import Truth, applies, interpreters, run, version
from runners import RUNNERS, Runner

from raiselens_server.read import read_text

if TYPE_CHECKING:
    from raiselens_server.error import RaisedError

HERE = Path(sys.executable)

# Enough to meet every printer of the interpreter that runs the tests; many more on all interpreters are a slow test.
SLOW_STARTERS = {"torchrun", "ray", "dataloader", "joblib", "ipython", "ipython-colour"}
FEW = [
    *[("script", raiser) for raiser in RAISERS],
    *[
        (runner, raiser)
        for number, runner in enumerate(RUNNERS)
        for raiser in ("three", list(RAISERS)[number % len(RAISERS)])
        if runner != "script" and runner not in SLOW_STARTERS
    ],
]
LIBRARY_RUNNERS = ("script", "rank", "logging")


def last(name: str) -> str:
    return name.rpartition(".")[2]


def trimmed(message: str) -> str:
    """As the reader gives it: without colour, and without blanks at the ends of lines."""
    return "\n".join(line.rstrip() for line in re.sub(r"\x1b\[\d+m", "", message).rstrip().split("\n"))


def own_frames(error: RaisedError, how: Runner) -> list[tuple[str, int, str]]:
    return [
        (Path(frame.file).name, frame.line, frame.function if how.functions else "")
        for frame in error.frames
        if frame.file.endswith("job.py") or frame.file == "<string>"
    ]


def printed(frames: list[tuple[str, int, str]]) -> list[tuple[str, int, str]]:
    """The frames that are printed: of one that repeats itself, the first three."""
    return [frame for at, frame in enumerate(frames) if at < 3 or any(frame != frames[at - back] for back in (1, 2, 3))]


def check(text: str, truth: Truth, runner: str, raiser: str) -> None:
    how = RUNNERS[runner]
    reading = read_text(text)
    said = {trimmed(truth.message), *([trimmed(truth.message).split("\n")[0].strip()] if how.brief else [])}
    raised = [
        error
        for error in reading.errors
        if last(error.class_name) == last(truth.class_name) and trimmed(error.message) in said
    ]
    assert raised, text
    told = {(last(error.class_name), trimmed(error.message)) for error in reading.errors}
    assert how.brief or {(last(cls), trimmed(message)) for cls, message in truth.links} <= told, text
    assert reading.primary is not None
    primary = reading.errors[reading.primary]
    name, message = truth.leaf
    quoted = f"{primary.class_name}: {primary.message}" in truth.message
    assert quoted or (last(primary.class_name), primary.message.split("\n")[0].strip()) == (
        last(name),
        trimmed(message).split("\n")[0].strip(),
    )
    if not how.frames:
        return
    want = printed([(file, line, function if how.functions else "") for file, line, function in truth.frames])
    read = [printed(own_frames(error, how)) for error in raised]
    if raiser == "recursion":
        # The printer leaves out what repeats; how much it prints is its own choice.
        assert any(frames[:2] == want[:2] and len(frames) > 3 for frames in read), text
    else:
        assert want in read, text


@pytest.mark.parametrize(("runner", "raiser"), [pair for pair in FEW if applies(HERE, pair[1], pair[0])])
def test_what_was_raised_is_read(tmp_path: Path, runner: str, raiser: str):
    text, truth = run(HERE, raiser, runner, tmp_path)
    check(text, truth, runner, raiser)


@pytest.mark.slow
@pytest.mark.parametrize("runner", LIBRARY_RUNNERS)
@pytest.mark.parametrize("raiser", list(LIBRARY_RAISERS))
def test_what_a_library_raised_is_read(tmp_path: Path, runner: str, raiser: str):
    if not applies(HERE, raiser, runner):
        pytest.skip(f"{LIBRARY_RAISERS[raiser][0]} is not installed")
    text, truth = run(HERE, raiser, runner, tmp_path)
    check(text, truth, runner, raiser)


@pytest.mark.slow
@pytest.mark.parametrize("python", interpreters(), ids=str)
@pytest.mark.parametrize("runner", list(RUNNERS))
def test_what_was_raised_is_read_on_every_interpreter(tmp_path: Path, python: Path, runner: str):
    for raiser in RAISERS:
        # All that is raised as the interpreter prints it, and a ninth of the rest, another one on each interpreter.
        drawn = runner == "script" or zlib.crc32(f"{version(python)}{runner}{raiser}".encode()) % 9 == 0
        if drawn and applies(python, raiser, runner):
            folder = tmp_path / raiser
            folder.mkdir()
            text, truth = run(python, raiser, runner, folder)
            check(text, truth, runner, raiser)
