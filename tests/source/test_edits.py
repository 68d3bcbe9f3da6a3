"""Which edits are those of one function, and where things are afterwards."""

from __future__ import annotations

import pytest

from raiselens_server.source.edits import find_edit
from raiselens_server.source.layout import SLOT, Layout
from raiselens_server.source.module import Module

SOURCE = '''\
import os

LIMIT = 3


def first(a, b=1):
    """Text."""
    return a + b


class Box:
    size = 2

    @staticmethod
    def second(c):
        x = c  # é
        return x
        # the end

    if LIMIT:
        def third(self): return [n for n in range(3)]


last = first(1)
'''


def module(source: str = SOURCE) -> Module:
    return Module("/m.py", "m", source.encode(), is_package=False)


def edit(before: str, after: str, of: Module | None = None) -> tuple[Module, str | None]:
    """The module with an edit applied where it is one function's, and the name of that function."""
    held = of or module()
    text = held.source.decode()
    assert text.count(before) == 1
    found = find_edit(held, text.replace(before, after).encode())
    if found is None:
        return held, None
    held.apply(found)
    return held, found.region.unit.qualname


@pytest.mark.parametrize(
    ("before", "after", "function"),
    [
        ("return a + b", "return a - b", "first"),
        ("return a + b", "return a + b\n    # more", "first"),
        ("return a + b", "if a:\n        return b\n    return a", "first"),
        ("    return a + b", "    a = \n    return a + b", "first"),
        ("    return a + b", "    f(a\n    return a + b", "first"),
        ("x = c", "y = c", "Box.second"),
        ("        # the end\n", "", "Box.second"),
        ("range(3)", "range(4)", "Box.third"),
    ],
)
def test_an_edit_inside_a_function_is_its_own(before: str, after: str, function: str) -> None:
    held, name = edit(before, after)
    assert name == function
    assert held.source.decode() == SOURCE.replace(before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("LIMIT = 3", "LIMIT = 4", id="a name of the module"),
        pytest.param("size = 2", "size = 3", id="a name of a class"),
        pytest.param("a, b=1", "a, b=2", id="a default"),
        pytest.param("def first", "async def first", id="a coroutine now"),
        pytest.param("def first", "def firsts", id="another name"),
        pytest.param("return a + b", "yield a + b", id="a generator now"),
        pytest.param("@staticmethod", "@classmethod", id="a decorator"),
        pytest.param("return a + b", "return a + b\n\ndef new(): pass", id="another function"),
        pytest.param("    return a + b", "return a + b", id="out of the function"),
        pytest.param("return a + b", 'x = """', id="a string that runs on"),
        pytest.param("return a + b", "return a + b \\\\", id="a line that runs on"),
        pytest.param("return a + b", "global LIMIT; LIMIT = a", id="a global statement"),
        pytest.param("return a + b", "os.sep = a", id="an attribute of a module"),
        pytest.param("return a + b", "a.size = 1", id="an attribute assigned nowhere else"),
        pytest.param("return a + b", "LIMIT.append(1)", id="a container changed in place"),
        pytest.param("return a + b", "setattr(a, 'b', 1)", id="a patch"),
        pytest.param("return a + b", "torch.set_default_dtype(a)", id="a default dtype"),
    ],
)
def test_an_edit_that_others_may_notice_is_not(before: str, after: str) -> None:
    assert edit(before, after)[1] is None


def test_places_follow_the_edits() -> None:
    held = module()
    last = held.block[-1]
    second = next(unit for unit in held.functions if unit.name == "second")
    start = second.start
    assert held.position(last[1])[0] == SOURCE[: SOURCE.index("last =")].count("\n") + 1
    edit("return a + b", "c = 1\n    return a + c", held)
    edit("x = c", "y = c\n        x = y", held)
    edit("c = 1", "c = 11\n\n", held)
    now = held.source.decode()
    for name, address in (("last =", last[1]), ("def second", second.start), ("def second", start)):
        line, column = held.position(address)
        assert now.split("\n")[line - 1][column - 1 :].startswith(name)
    inner = second.body.block[1]
    assert held.text(second.base + inner[1], second.base + inner[2]) == "x = y"
    assert held.span(second.base + inner[1], second.base + inner[2]).line == now[: now.index("x = y")].count("\n") + 1


def test_offsets_and_addresses_are_each_others_inverse() -> None:
    layout = Layout(b"0123456789" * 4)
    assert [layout.address(at) for at in range(40)] == list(range(40))
    layout.replace(20, 25, b"abcdefgh")
    layout.replace(5, 10, b"x")
    whole = b"01234" + b"x" + b"0123456789" + b"abcdefgh" + b"567890123456789"
    for at in range(len(whole)):
        address = layout.address(at)
        assert layout.offset(address) == at
        assert layout.slice(address, address + 1) == whole[at : at + 1]
    assert layout.address(5) == 2 * SLOT
