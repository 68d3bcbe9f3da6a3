"""The command line as its users see it: each file of `transcripts/` is a page of commands and what they print.

A fenced block with a file name (```` ```python main.py ````) lays a file; ```` ```console ```` blocks hold commands
(`$ raiselens …`, `$ command | raiselens …` for standard input from a file), then their output: stdout as it is, stderr
behind `! `, and the exit code in brackets where it is not 0. `…` stands for any text, alone on a line for any lines.
Files laid under one heading are gone under the next.
"""

from __future__ import annotations

import gc
import io
import re
import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from raiselens_server.cli.main import run

FOLDER = Path(__file__).parent / "transcripts"
ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Story:
    """A heading of a page: files, and commands with what they should print."""

    name: str
    files: dict[str, str] = field(default_factory=dict)
    commands: list[tuple[str, str]] = field(default_factory=list)


def stories() -> list[Story]:
    """Those of the transcripts, and the README's own, which is about the examples."""
    examples = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples").iterdir())}
    found = []
    for page in (ROOT / "README.md", *sorted(FOLDER.glob("*.md"))):
        for section in re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            title, _, body = section.partition("\n")
            story = Story(f"{page.stem}: {title}", dict(examples) if page.stem == "README" else {})
            for language, name, text in FENCE.findall(body):
                if language != "console":
                    if name:
                        story.files[name] = text
                    continue
                for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                    command, _, expected = part.partition("\n")
                    story.commands.append((command, expected))
            if story.commands or page.parent == FOLDER:
                found.append(story)
    return found


@pytest.fixture(autouse=True)
def _collecting() -> object:
    yield
    gc.enable()


@pytest.mark.parametrize("story", stories(), ids=lambda story: story.name)
def test_transcript(
    story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in story.files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert story.commands, "a story without a command shows nothing"
    for command, expected in story.commands:
        shown = execute(command, tmp_path, monkeypatch, capsys, as_terminal=story.name.startswith("README"))
        assert matches(shown, normal(expected, tmp_path)), f"$ {command}\nprinted\n{shown}\nnot\n{expected}"


def execute(
    command: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    as_terminal: bool = False,
) -> str:
    """Run one line, and give its output as a transcript writes it, or as a terminal shows it."""
    if command.startswith("cat "):
        name, _, rest = command.removeprefix("cat ").partition(" | ")
        data = (folder / name).read_bytes()
        if not rest:
            return data.decode()
        command = rest
    else:
        data = b""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    words = shlex.split(command)
    assert words[0] == "raiselens"
    code = run(words[1:])
    out, err = capsys.readouterr()
    if as_terminal:
        return normal(out + err, folder)
    told = "".join(f"! {line}\n" for line in err.splitlines())
    return normal(out + told + (f"[{code}]\n" if code else ""), folder)


def normal(text: str, folder: Path) -> str:
    """Without what differs from run to run: time, and where this test's folder lies."""
    text = re.sub(r"\b\d+\.\d+ s\b", "0.00 s", text)
    text = re.sub(r'"seconds": [0-9.]+', '"seconds": 0', text)
    return text.replace(str(folder), "HERE")


def matches(shown: str, expected: str) -> bool:
    """Line by line; an expected line may leave parts open, and a lone `…` any number of lines."""
    pattern = "".join(
        "(?:.*\n)*?" if line.strip() == "…" else ".*".join(map(re.escape, line.split("…"))) + "\n"
        for line in expected.splitlines()
    )
    return re.fullmatch(pattern, shown) is not None
