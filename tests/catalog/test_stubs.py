"""Guard stubs say the same as the curated records, in the same order, and nothing more."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from raiselens_catalog import Catalog, stubs_root
from raiselens_catalog.expression import template_of_expression

if TYPE_CHECKING:
    from pathlib import Path

STUBS = sorted(path for path in stubs_root().rglob("*.py") if path.name != "__init__.py")


def guards(function: ast.FunctionDef) -> list[tuple[str, str, str]]:
    """Condition, class and message template of each `if …: raise` of a function, in order."""
    found = []
    for node in ast.walk(function):
        match node:
            case ast.If(test=test, body=[ast.Raise(exc=ast.Call(func=ast.Name(id=name), args=[message]))]):
                template = template_of_expression(ast.unparse(message))
                assert template is not None
                found.append((ast.unparse(test), name, template.message))
    return found


def functions(path: Path) -> dict[str, ast.FunctionDef]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_the_scatter_stub_has_the_guards_of_the_records_in_their_order(tmp_path: Path):
    ((name, launcher),) = functions(stubs_root() / "sglang/kernels/ops/kv_canary/scatter_req_token_ids.py").items()
    curated = [
        (entry.guard.condition, entry.record.error_class, entry.record.error_message)
        for entry in Catalog.open(data_dir=tmp_path).entries()
        if entry.guard is not None and entry.guard.qualname == name
    ]
    assert len(curated) == 10
    assert guards(launcher) == curated
    assert [argument.arg for argument in launcher.args.kwonlyargs] == [
        "flat_in", "offsets", "req_pool_indices", "pool_out",
    ]  # fmt: skip
    assert launcher.args.args == []


@pytest.mark.parametrize("path", STUBS, ids=lambda path: path.stem)
def test_every_guard_is_inside_a_function_and_every_package_is_there(path: Path):
    assert any(guards(function) for function in functions(path).values())
    for parent in path.relative_to(stubs_root()).parents:
        if parent.parts:
            assert (stubs_root() / parent / "__init__.py").is_file()
