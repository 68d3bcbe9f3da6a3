"""Logs as they arrive: wrapped by a terminal, cut at either end, quoted, read from a notebook of somebody else."""

from __future__ import annotations

from pathlib import Path

import pytest

from raiselens_server.read import Reading, read_text

CASES = Path(__file__).parents[1] / "cases" / "tracebacks"
LOGS = {
    path.stem[:3]: path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
    for path in sorted([*CASES.glob("*.log"), *CASES.glob("*.txt")])
}
POSITIVE = [name for name, text in LOGS.items() if read_text(text).primary is not None]

# Wrapped at 80 columns, these are read with a wrong break or a cut function name: nothing in them shows the width
# (the frames are not CPython's, or the lines around are JSON), or a line ends exactly at it.
UNSURE_WRAPPED = {"019", "020", "022", "023", "029", "031", "035", "039", "053"}

# Cut below the class that was raised, the line that its message quotes is all that is left.
QUOTED = {"023": {"RuntimeError"}}


def wrap(text: str, width: int) -> str:
    return "\n".join(
        "\n".join(line[at : at + width] for at in range(0, max(len(line), 1), width)) for line in text.split("\n")
    )


def primary(reading: Reading) -> tuple[str, str, list[tuple[str, int, str]]] | None:
    if reading.primary is None:
        return None
    error = reading.errors[reading.primary]
    message = "\n".join(line.rstrip() for line in error.message.split("\n"))
    return error.class_name, message, [(frame.file, frame.line, frame.function) for frame in error.frames]


@pytest.mark.parametrize("name", POSITIVE)
def test_wrapped_lines_are_put_together(name: str):
    text = LOGS[name]
    whole = primary(read_text(text)) == primary(read_text(wrap(text, 80)))
    assert whole == (name not in UNSURE_WRAPPED)


@pytest.mark.parametrize("name", list(LOGS))
def test_cutting_the_tail_invents_no_class(name: str):
    lines = LOGS[name].splitlines(keepends=True)
    classes = {error.class_name for error in read_text(LOGS[name]).errors}
    for end in range(len(lines)):
        assert {error.class_name for error in read_text("".join(lines[:end])).errors} <= classes


@pytest.mark.parametrize("name", list(LOGS))
def test_cutting_the_head_invents_no_class(name: str):
    lines = LOGS[name].splitlines(keepends=True)
    classes = {error.class_name for error in read_text(LOGS[name]).errors} | QUOTED.get(name, set())
    for start in range(len(lines)):
        assert {error.class_name for error in read_text("".join(lines[start:])).errors} <= classes


@pytest.mark.parametrize("name", POSITIVE)
def test_colour_changes_nothing(name: str):
    text = LOGS[name]
    painted = "\n".join(f"\x1b[31m{line}\x1b[0m" if line else line for line in text.split("\n"))
    assert primary(read_text(painted)) == primary(read_text(text))
