"""Case files: Markdown whose `##` headings are tests and whose fenced blocks are the files of a test.

Files above the first heading belong to every test of the case file that has none of that name itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FILE_NAME = re.compile(r"`([\w./-]+)`:\s*")
_FENCE = re.compile(r"(`{3,})(\S*)\s*(.*)")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block; `line` is the line of the case file that its first line stands on."""

    name: str
    language: str
    words: tuple[str, ...]
    text: str
    line: int


@dataclass(slots=True)
class Case:
    """One test. `blocks` are its files in order; `prose` the lines between them, each with its number."""

    title: str
    path: Path
    line: int
    blocks: list[Block] = field(default_factory=list)
    prose: list[tuple[int, str]] = field(default_factory=list)

    @property
    def slug(self) -> str:
        return f"{self.path.stem}/{re.sub(r'[^a-z0-9]+', '-', self.title.lower()).strip('-')}"

    @property
    def words(self) -> set[str]:
        return {word for block in self.blocks for word in block.words}

    def option(self, name: str) -> str | None:
        """The value of `name=value` on one of the fences."""
        return next((word.partition("=")[2] for word in self.words if word.startswith(f"{name}=")), None)

    def write(self, folder: Path) -> None:
        """Write the test's Python files below `folder`."""
        for block in self.blocks:
            if block.language == "python":
                path = folder / block.name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text, encoding="utf-8")


def read_cases(path: Path) -> list[Case]:
    """The tests of one case file. A test without a file is an error of the case file."""
    cases: list[Case] = []
    shared: list[Block] = []
    lines = iter(enumerate(path.read_text(encoding="utf-8").split("\n"), 1))
    name = "main.py"
    for number, line in lines:
        if line.startswith("## "):
            cases.append(Case(line[3:].strip(), path, number))
        elif named := _FILE_NAME.fullmatch(line):
            name = named[1]
        elif fence := _FENCE.fullmatch(line):
            block = _block(lines, fence, name, number)
            (cases[-1].blocks if cases else shared).append(block)
            name = "main.py"
        elif cases and line.strip():
            cases[-1].prose.append((number, line))
    for case in cases:
        own = {block.name for block in case.blocks}
        case.blocks[:0] = [block for block in shared if block.name not in own]
        assert any(block.name == "main.py" for block in case.blocks), f"{path}:{case.line}: no main.py"
    slugs = [case.slug for case in cases]
    assert len(set(slugs)) == len(slugs), f"{path}: two tests of one name"
    return cases


def _block(lines: Iterator[tuple[int, str]], fence: re.Match[str], name: str, start: int) -> Block:
    text = ""
    for _, line in lines:
        if line == fence[1]:
            return Block(name, fence[2], tuple(fence[3].split()), text, start + 1)
        text += line + "\n"
    message = f"the block of line {start} has no end"
    raise AssertionError(message)


def all_cases(folder: Path) -> list[Case]:
    """The tests of all case files of a folder."""
    return [case for path in sorted(folder.glob("*.md")) for case in read_cases(path)]
