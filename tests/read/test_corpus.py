"""Logs modelled on public bug reports, each with its answer: see `tests/cases/tracebacks`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from raiselens_server.error import Observed, RaisedError, Role
from raiselens_server.read import Reader, Reading, read_text

CASES = Path(__file__).parents[1] / "cases" / "tracebacks"
NAMES = sorted(path.stem for path in CASES.glob("*.json"))
NEGATIVE = [name for name in NAMES if not json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))["errors"]]
POSITIVE = [name for name in NAMES if name not in NEGATIVE]


def log(name: str) -> str:
    path = next(path for path in (CASES / f"{name}.log", CASES / f"{name}.txt") if path.exists())
    return path.read_bytes().decode("utf-8", "replace")


def answer(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))
    return loaded


def observed(error: RaisedError) -> Observed:
    assert isinstance(error.origin, Observed)
    return error.origin


def trimmed(message: str) -> str:
    """A message without the blanks at its lines' ends, as the answers are written."""
    return "\n".join(line.rstrip() for line in message.rstrip().split("\n"))


def frames(error: RaisedError) -> list[tuple[str, int, str]]:
    return [(frame.file, frame.line, frame.function) for frame in error.frames]


def labelled(frames: list[dict[str, Any]]) -> list[tuple[str, int, str]]:
    return [(frame["file"], frame["line"], frame["function"]) for frame in frames]


def pieces(text: str, size: int) -> Reading:
    reader = Reader()
    for start in range(0, len(text), size):
        reader.feed(text[start : start + size])
    reader.finish()
    return reader.reading()


@pytest.mark.parametrize("name", POSITIVE)
def test_primary_error_is_the_labelled_one(name: str):
    want = answer(name)
    truth = want["errors"][want["primary"]]
    reading = read_text(log(name))
    assert reading.primary is not None
    error = reading.errors[reading.primary]
    assert (error.class_name, trimmed(error.message)) == (truth["class"], trimmed(truth["message"]))
    assert observed(error).line == truth["line"]
    if truth["frames"]:
        assert frames(error) == labelled(truth["frames"])


@pytest.mark.parametrize("name", POSITIVE)
def test_every_labelled_error_is_reported(name: str):
    found = {(error.class_name, trimmed(error.message)): error for error in read_text(log(name)).errors}
    for truth in answer(name)["errors"]:
        error = found[truth["class"], trimmed(truth["message"])]
        if observed(error).line == truth["line"]:
            wanted = truth["frames"] or truth.get("context_frames")
            assert not wanted or frames(error) == labelled(wanted)


@pytest.mark.parametrize("name", POSITIVE)
def test_nothing_else_is_reported(name: str):
    labels = {(truth["class"], trimmed(truth["message"])) for truth in answer(name)["errors"]}
    assert {(error.class_name, trimmed(error.message)) for error in read_text(log(name)).errors} == labels


@pytest.mark.parametrize("name", NEGATIVE)
def test_logs_without_an_error_give_warnings_at_most(name: str):
    reading = read_text(log(name))
    assert reading.primary is None
    assert all(observed(error).role is Role.WARNING for error in reading.errors)


@pytest.mark.parametrize("name", NAMES)
def test_reading_does_not_depend_on_how_the_text_arrives(name: str):
    text = log(name)
    whole = read_text(text)
    assert pieces(text, 1) == whole
    assert pieces(text, 97) == whole


@pytest.mark.parametrize("name", NAMES)
def test_skipping_lines_without_a_marker_loses_nothing(name: str):
    text = log(name)
    reader = Reader(gated=False)
    reader.feed(text)
    reader.finish()
    assert reader.reading() == read_text(text)


@pytest.mark.parametrize("name", NAMES)
def test_crlf_changes_nothing(name: str):
    text = log(name)
    unix = read_text(text.replace("\r\n", "\n"))
    windows = read_text(text.replace("\r\n", "\n").replace("\n", "\r\n"))
    assert [(e.class_name, e.message, observed(e).line) for e in unix.errors] == [
        (e.class_name, e.message, observed(e).line) for e in windows.errors
    ]
    assert unix.primary == windows.primary


@pytest.mark.parametrize("name", POSITIVE)
def test_clean_lines_around_change_nothing(name: str):
    text = log(name)
    quiet = "".join(
        f"[2026-08-01 10:00:{n % 60:02d} TP0] Decode batch. #running-req: {n}, errors: 0\n" for n in range(300)
    )
    alone, within = read_text(text), read_text(f"{quiet}{text.rstrip()}\n{quiet}")
    assert [(e.class_name, e.message, observed(e).line + 300) for e in alone.errors] == [
        (e.class_name, e.message, observed(e).line) for e in within.errors
    ]
    assert within.primary == alone.primary
