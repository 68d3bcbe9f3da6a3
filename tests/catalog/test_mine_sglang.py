"""Mining real sources: every raise and assert of sglang is a record, or is counted by why it is none."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from raiselens_catalog.mine import mine_python

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.sglang

FOLDERS = ("sglang/kernels", "sglang/srt/managers", "sglang/srt/mem_cache", "sglang/srt/layers/attention")
LITERALS = (ast.Constant, ast.JoinedStr, ast.BinOp)


def spoken(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Kind and line of what raises with a message that is written out there, as Python's own parser has it."""
    for node in ast.walk(tree):
        match node:
            case ast.Raise(exc=ast.Call(args=[first, *_])) if isinstance(first, LITERALS):
                yield "raise", node.lineno
            case ast.Assert(msg=message) if isinstance(message, LITERALS):
                yield "assert", node.lineno


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_has_a_written_message_is_a_record(sglang_root: Path, folder: str):
    files = sorted((sglang_root / folder).rglob("*.py"))
    wanted: set[tuple[Path, str, int]] = set()
    found: set[tuple[Path, str, int]] = set()
    for path in files:
        source = path.read_bytes()
        tree = ast.parse(source)
        mined = mine_python(source)
        wanted |= {(path, *place) for place in spoken(tree)}
        found |= {(path, site.kind.value, site.line) for site in mined.sites}
        # What is no record is counted by its cause, so that nothing is lost unseen.
        assert mined.raises + mined.asserts == len(mined.sites) + mined.left_out.total(), path
        assert mined.raises == sum(isinstance(node, ast.Raise) and node.exc is not None for node in ast.walk(tree)), (
            path
        )
        assert mined.asserts == sum(isinstance(node, ast.Assert) for node in ast.walk(tree)), path
    assert len(wanted) > 100
    assert wanted <= found
