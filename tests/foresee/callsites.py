"""The call-site programs: what a run of each did, and whether a finding says the same."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raiselens_server.error import Foreseen, Severity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raiselens_server.error import RaisedError

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "cases" / "callsites"


@dataclass(frozen=True, slots=True)
class Program:
    """One program with its `expected.json`."""

    folder: Path
    expected: dict[str, Any]

    @property
    def main(self) -> Path:
        return self.folder / "main.py"

    @property
    def library(self) -> str:
        return str(self.expected["library"])

    @property
    def quiet(self) -> bool:
        """Whether nothing may be said of it."""
        return bool(self.expected["outcome"] == "clean") or self.expected["label"] == "uncertain_ok"

    def found(self, errors: Sequence[RaisedError]) -> RaisedError | None:
        """The finding that foresees what the run raised: its class, at the call or on a frame of the program's own.

        Where several do, the one with the run's message.
        """
        truth = self.expected["error"]
        places = {(truth["call_file"], truth["call_line"])} | {(file, line) for file, line, _ in truth["own_stack"]}
        hits = [e for e in errors if last(e.class_name) == last(truth["class"]) and place_of(e, self.folder) in places]
        hits.sort(key=lambda error: not says(error, truth["message"]))
        return hits[0] if hits else None


def programs() -> list[Program]:
    """All programs, by name."""
    return [
        Program(path.parent, json.loads(path.read_text(encoding="utf-8")))
        for path in sorted(FOLDER.glob("*/expected.json"))
    ]


def last(name: str) -> str:
    """The last part of a dotted name."""
    return name.rpartition(".")[2]


def foreseen(error: RaisedError) -> Foreseen:
    assert isinstance(error.origin, Foreseen)
    assert error.origin.severity is Severity.ERROR
    return error.origin


def place_of(error: RaisedError, folder: Path) -> tuple[str, int]:
    place = foreseen(error).place
    return str(Path(place.file).relative_to(folder)), place.span.line


def says(error: RaisedError, message: str) -> bool:
    """Whether a message is the run's: holes stand for anything, but for no more than half of it."""
    literal, pattern, at = "", "", 0
    for hole in foreseen(error).holes:
        literal += error.message[at : hole.start]
        pattern += re.escape(error.message[at : hole.start]) + ".*"
        at = hole.end
    literal += error.message[at:]
    pattern += re.escape(error.message[at:])
    if error.message != message and len(literal) < len(message) / 2:
        return False
    return re.fullmatch(pattern, message, re.DOTALL) is not None
