"""Which roots an edit concerns: what is run again when a repair is tried, and what is left alone."""

from __future__ import annotations

import pytest

from raiselens_server.repair.reach import roots_concerned
from raiselens_server.source.module import Module

MODULE = """\
import torch

def first():
    return torch.zeros(4)

def second():
    return first()

def third():
    return torch.ones(4)

class Pool:
    def __init__(self):
        self.pool = third()

    def write(self):
        return self.pool

class Wide(Pool):
    pass

def reads(thing):
    return thing.pool

def counts():
    global seen
    seen = 1

def looks():
    return seen
"""
ROOTS = {
    "first": 1,
    "second": 2,
    "third": 3,
    "__init__": 4,
    "write": 5,
    "reads": 6,
    "counts": 7,
    "looks": 8,
}


def concerned(text: str, *names: str) -> set[str] | None:
    """The roots that edits inside the functions of these names concern, by their names; `top` is the top level."""
    source = text.encode()
    module = Module("main.py", "main", source, is_package=False)
    found = roots_concerned(module, [source.index(f"def {name}".encode()) + 5 for name in names])
    by_number = {0: "top", **{number: name for name, number in ROOTS.items()}}
    return None if found is None else {by_number[number] for number in found}


@pytest.mark.parametrize(
    ("edited", "expected"),
    [
        ("first", {"first", "second"}),
        ("second", {"second"}),
        ("third", {"third", "__init__", "write", "reads"}),
        ("__init__", {"__init__", "write", "reads"}),
        ("reads", {"reads"}),
        ("counts", {"counts", "looks"}),
        ("looks", {"looks"}),
    ],
)
def test_what_mentions_a_name_is_concerned(edited: str, expected: set[str]) -> None:
    assert concerned(MODULE, edited) == expected


def test_several_edits_concern_what_each_does() -> None:
    assert concerned(MODULE, "second", "looks") == {"second", "looks"}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("second()", {"second", "top"}),
        ("if __name__ == '__main__':\n    second()", {"second", "top"}),
        ("third()", {"second"}),
        ("chosen = second", None),
        ("chosen = second()", None),
        ("register(second)", None),
        ("@second\ndef last(): ...", None),
        ("second(first())", {"second", "top"}),
    ],
)
def test_the_top_level_is_concerned_by_what_it_calls(line: str, expected: set[str] | None) -> None:
    assert concerned(f"{MODULE}\n{line}\n", "second") == expected


def test_a_class_and_its_bases_concern_each_other() -> None:
    text = "class Base:\n    def run(self): self.hook()\n\nclass Derived(Base):\n    def hook(self): ...\n\ndef alone(): ...\n"
    source = text.encode()
    module = Module("main.py", "main", source, is_package=False)
    assert roots_concerned(module, [source.index(b"def hook")]) == {1, 2}
    assert roots_concerned(module, [source.index(b"def run")]) == {1, 2}
    assert roots_concerned(module, [source.index(b"def alone")]) == {3}


def test_an_edit_of_the_top_level_concerns_all() -> None:
    source = MODULE.encode()
    module = Module("main.py", "main", source, is_package=False)
    assert roots_concerned(module, [source.index(b"import torch")]) is None
