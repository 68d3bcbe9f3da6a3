"""The text cases: what each operation comes to, and that torch says the same where all is known."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.values.expressions import LIBRARY, SCRIPT, Evaluator, shown
from tests.values.oracle import contradiction, message_matches

from raiselens_server.values.ops import NoRule, Outcome, Raise, Result

FILES = sorted((Path(__file__).parent / "cases").glob("*.txt"))


def _cases() -> list[Any]:
    found = []
    for file in FILES:
        title = ""
        for block in file.read_text().split("\n\n"):
            lines = [line for line in block.splitlines() if line and not line.startswith("#")]
            title = next((line[2:] for line in block.splitlines() if line.startswith("# ")), title)
            if lines:
                found.append(pytest.param(lines[:-1], lines[-1], id=f"{file.stem}: {title}: {lines[-2]}"))
    return found


@pytest.mark.parametrize(("lines", "expected"), _cases())
def test_case(lines: list[str], expected: str) -> None:
    ambient = LIBRARY if lines[0] == "library" else SCRIPT
    program = [line for line in lines if line != "library"]
    outcome = Evaluator(ambient).run(program)
    assert shown(outcome) == expected
    concrete = ambient is SCRIPT and not any(re.match(r"\w+: ", line) or "cuda" in line for line in program)
    if concrete:
        _agrees(program, outcome)


def _agrees(program: list[str], outcome: Outcome) -> None:
    real, raised = _really(program)
    match outcome:
        case Raise(class_name=class_name, message=message):
            assert (type(raised).__name__, message_matches(message, str(raised))) == (class_name, True)
        case Result(value=value):
            assert raised is None
            assert contradiction(value, real) is None
        case NoRule():
            assert raised is None


def _really(program: list[str]) -> tuple[Any, Exception | None]:
    """What torch gives, or raises."""
    names: dict[str, Any] = {"torch": torch, "F": torch.nn.functional, "np": np}
    *before, last = program
    assigned = re.match(r"(\w+)(\[.*\])? \S?=[^=]", last)
    try:
        exec("\n".join(before), names)  # noqa: S102 - the cases are ours
        if assigned is None:
            return eval(last, names), None  # noqa: S307 - likewise
        exec(last, names)  # noqa: S102 - likewise
    except Exception as raised:  # noqa: BLE001 - whatever torch raises is the answer
        return None, raised
    return names[assigned[1]], None
