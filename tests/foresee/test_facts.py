"""What is said of tensors beside the source: a comment `#: name text` claims it; a line without one has no fact."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from raiselens_server.foresee import Project
from raiselens_server.source.interpreter import build_environment, running_interpreter

if TYPE_CHECKING:
    from pathlib import Path

KNOWN = """\
import torch

pool = torch.zeros((8, 16), dtype=torch.int64)  #: pool int64[8, 16] cpu
half = pool.half()  #: half float16[8, 16] cpu
row, rest = pool[0], pool[1:]  #: row int64[16] cpu; rest int64[7, 16] cpu
"""

UNKNOWN_PARTS = """\
import torch


def f(x, bs: int):
    a = torch.ones(bs, 4)  #: a floating[?, 4]
    b = torch.ones(x.shape[0] + 1, device="cuda")  #: b floating[x.shape[0] + 1] cuda
    c = torch.as_tensor(x, dtype=torch.int32)  #: c int32[…]
    d = torch.empty(3, dtype=x.dtype)  #: d ?[3]
    return a, b, c, d
"""

SEVERAL_PASSES = """\
import torch


def f(flag):
    for size in (1, 2):
        a = torch.ones(size, 4, dtype=torch.int8)  #: a int8[?, 4]
    b = torch.ones(2, dtype=torch.int8) if flag else torch.ones(2, dtype=torch.int16)  #: b ?[2]
    return a, b
"""

NO_TENSORS = """\
import torch

size = torch.Size([1, 2])
dtype = torch.int32
count = 3
unknown = load()
nothing = None if unknown else torch.ones(2)


def f(x):
    y = x + 1
    return y


def g():
    return f(torch.ones(2))
"""


@pytest.mark.parametrize(
    "text", [KNOWN, UNKNOWN_PARTS, SEVERAL_PASSES, NO_TENSORS], ids=["known", "parts", "passes", "none"]
)
def test_the_comments_are_what_is_known(tmp_path: Path, text: str) -> None:
    path = tmp_path / "case.py"
    path.write_text(text)
    project = Project(build_environment(running_interpreter(), [tmp_path], [], []))
    lines = text.splitlines()
    claimed = [
        (number, *re.split(" ", claim.strip(), maxsplit=1))
        for number, line in enumerate(lines, 1)
        if "#: " in line
        for claim in line.rpartition("#: ")[2].split(";")
    ]
    names = [
        (fact, re.search(r"\w+$", lines[fact.line - 1][: fact.column - 1])) for fact in project.facts(str(path), 1, 99)
    ]
    assert [(fact.line, name and name[0], fact.text) for fact, name in names] == claimed
