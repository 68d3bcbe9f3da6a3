"""What programs that really fail print is read back as what they raised: see `real_runs`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from real_runs import RAISERS, RUNNERS, Runner, Truth, applies, interpreters, run

from raiselens_server.read import read_text

if TYPE_CHECKING:
    from raiselens_server.error import RaisedError

HERE = Path(sys.executable)

# Enough to meet every printer of the interpreter that runs the tests; all of them on all interpreters are a slow test.
FEW = [
    *[("script", raiser) for raiser in RAISERS],
    *[
        (runner, raiser)
        for runner in RUNNERS
        for raiser in ("three",)
        if runner not in {"script", "torchrun", "ray", "dataloader"}
    ],
]


def last(name: str) -> str:
    return name.rpartition(".")[2]


def trimmed(message: str) -> str:
    return "\n".join(line.rstrip() for line in message.rstrip().split("\n"))


def own_frames(error: RaisedError, how: Runner) -> list[tuple[str, int, str]]:
    return [
        (Path(frame.file).name, frame.line, frame.function if how.functions else "")
        for frame in error.frames
        if frame.file.endswith("job.py") or frame.file == "<string>"
    ]


def check(text: str, truth: Truth, runner: str, raiser: str) -> None:
    how = RUNNERS[runner]
    reading = read_text(text)
    raised = [
        error
        for error in reading.errors
        if last(error.class_name) == last(truth.class_name) and trimmed(error.message) == trimmed(truth.message)
    ]
    assert raised, text
    assert reading.primary is not None
    primary = reading.errors[reading.primary]
    name, message = truth.leaf
    assert (last(primary.class_name), primary.message.split("\n")[0].strip()) == (
        last(name),
        message.split("\n")[0].strip(),
    )
    if not how.frames:
        return
    want = [(file, line, function if how.functions else "") for file, line, function in truth.frames]
    read = [own_frames(error, how) for error in raised]
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
@pytest.mark.parametrize("python", interpreters(), ids=str)
@pytest.mark.parametrize("runner", list(RUNNERS))
def test_what_was_raised_is_read_on_every_interpreter(tmp_path: Path, python: Path, runner: str):
    for raiser in RAISERS:
        if applies(python, raiser, runner):
            folder = tmp_path / raiser
            folder.mkdir()
            text, truth = run(python, raiser, runner, folder)
            check(text, truth, runner, raiser)
