"""Every way in which errors are printed, as a log and what is read from it: `tests/cases/logs`.

A case is one file: a line that says what it shows, the log, and below `=== read` what must be read from it. `*` marks
the primary error. After a change that is meant, `UPDATE_LOG_CASES=1 pytest tests/read/test_formats.py` rewrites the
second part; the diff is reviewed.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from raiselens_server.error import Observed
from raiselens_server.read import Reader, Reading, read_text

CASES = Path(__file__).parents[1] / "cases" / "logs"
LOG, READ = "=== log\n", "=== read\n"


def render(reading: Reading) -> str:
    """What was read, as text."""
    lines: list[str] = []
    for index, error in enumerate(reading.errors):
        seen = error.origin
        assert isinstance(seen, Observed)
        mark = "*" if index == reading.primary else "-"
        told = f" x{seen.count}" if seen.count > 1 else ""
        ranks = f" of {', '.join(seen.ranks)}" if seen.ranks else ""
        lines.append(
            f"{mark} {seen.role.value} {error.class_name or '(no class)'} at {seen.line}:{seen.column}{told}{ranks}"
        )
        lines.extend(f"    | {line}".rstrip() for line in error.message.split("\n"))
        lines.extend(f"    in {frame.file}:{frame.line} {frame.function}".rstrip() for frame in error.frames)
    if reading.why:
        lines.append(f"because {reading.why}")
    return "".join(f"{line}\n" for line in lines) or "nothing\n"


def split(path: Path) -> tuple[str, str, str]:
    """The case's purpose, its log (escapes written as `\\e` and `\\r`), and what is to be read."""
    purpose, _, rest = path.read_text(encoding="utf-8").partition(LOG)
    log, _, read = rest.partition(READ)
    return purpose, log.replace("\\e[", "\x1b[").replace("\\r", "\r"), read


@pytest.mark.parametrize("name", sorted(path.stem for path in CASES.glob("*.txt")))
def test_log_is_read(name: str):
    path = CASES / f"{name}.txt"
    purpose, log, want = split(path)
    got = render(read_text(log))
    if os.environ.get("UPDATE_LOG_CASES"):
        written = path.read_text(encoding="utf-8").partition(READ)[0]
        path.write_text(f"{written}{READ}{got}", encoding="utf-8")
        return
    assert got == want, purpose


@pytest.mark.parametrize("name", sorted(path.stem for path in CASES.glob("*.txt")))
def test_skipping_lines_without_a_marker_loses_nothing(name: str):
    _, log, _ = split(CASES / f"{name}.txt")
    reader = Reader(gated=False)
    reader.feed(log)
    reader.finish()
    assert render(reader.reading()) == render(read_text(log))


@pytest.mark.parametrize("name", sorted(path.stem for path in CASES.glob("*.txt")))
def test_every_place_holds_what_was_read_there(name: str):
    """Also behind colours, in escaped text, and where a terminal or a box broke the line."""
    _, log, _ = split(CASES / f"{name}.txt")
    lines = log.split("\n")
    for error in read_text(log).errors:
        seen = error.origin
        assert isinstance(seen, Observed)
        there = lines[seen.line - 1][seen.column - 1 :]
        # An abort's type stands on a line of its own; what is pointed at is its message.
        assert there.startswith(tuple(text[:4] for text in (error.class_name, error.message) if text))
        for frame in error.frames:
            assert frame.place is not None
            rows = lines[frame.place.line - 1 : frame.place.end_line]
            rows[-1] = rows[-1][: frame.place.end_column - 1]
            rows[0] = rows[0][frame.place.column - 1 :]
            assert frame.file[:3] in "".join(rows).replace("\\\\", "\\")


@pytest.mark.parametrize(
    ("name", "sources"),
    [
        ("parametrized-class", ["scatter(out)", "raise TypeError("]),
        ("pytest-fixture", ['return torch.empty(4, dtype="int32")']),
        ("vscode-links", ["y = matmul(x, w)", "return a @ b"]),
        ("colab-tail", None),
        ("rich-wrapped", ["main()", 'raise ValueError("q must be contiguous")']),
        ("loguru-values", ["main(cfg)", "scatter(pool, idx)"]),
        ("carets-message-colon", None),
    ],
)
def test_frames_carry_the_source_that_was_printed(name: str, sources: list[str] | None):
    """An edit is offered only where the file still reads as it did: every format that prints source shows it."""
    _, log, _ = split(CASES / f"{name}.txt")
    frames = [frame for error in read_text(log).errors for frame in error.frames]
    if sources is not None:
        assert [frame.source for frame in frames] == sources
    assert all(frame.source and frame.source in log for frame in frames)
