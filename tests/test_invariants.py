"""The absences that ARCHITECTURE.md promises, by walking every import of every module."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {
    "raiselens_catalog": ROOT / "catalog" / "raiselens_catalog",
    "raiselens_kernel": ROOT / "kernel" / "raiselens_kernel",
    "raiselens_server": ROOT / "server" / "raiselens_server",
}
SERVER = "raiselens_server"
ANALYSIS = ("foresee", "read", "repair", "source", "values", "verify", "present")


def modules() -> Iterator[tuple[str, Path]]:
    for package, folder in PACKAGES.items():
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            names = [package, *(part for part in parts if part != "__init__")]
            yield ".".join(names), path


def imports(path: Path) -> set[str]:
    """Every dotted name a module imports, anywhere in it: late imports and those for types count too."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide what is known"
            names.add(node.module or "")
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


IMPORTS = {name: imports(path) for name, path in modules()}


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def importers(*targets: str) -> set[str]:
    return {
        module for module, names in IMPORTS.items() if any(within(name, target) for name in names for target in targets)
    }


def test_there_is_something_to_walk() -> None:
    assert {"raiselens_catalog", "raiselens_kernel", "raiselens_server.lsp.features"} <= set(IMPORTS)


def test_catalog_and_kernel_know_nothing_of_the_rest() -> None:
    for package in ("raiselens_catalog", "raiselens_kernel"):
        others = [other for other in PACKAGES if other != package]
        assert not {module for module in importers(*others) if within(module, package)}


@pytest.mark.parametrize(
    ("library", "home"), [("pygls", "lsp"), ("lsprotocol", "lsp"), ("click", "cli"), ("rich", "cli")]
)
def test_only_the_edges_know_protocol_and_terminal(library: str, home: str) -> None:
    found = importers(library)
    assert found, f"nothing imports {library}"
    assert all(within(module, f"{SERVER}.{home}") for module in found), found


def test_the_server_never_imports_torch_or_triton() -> None:
    assert not {module for module in importers("torch", "triton", "numpy") if within(module, SERVER)}


def test_analysis_knows_nothing_of_the_edges() -> None:
    edges = importers(f"{SERVER}.cli", f"{SERVER}.lsp", f"{SERVER}.session")
    assert not {module for module in edges if any(within(module, f"{SERVER}.{part}") for part in ANALYSIS)}


def test_verifying_and_reading_know_nothing_of_each_other() -> None:
    assert not {module for module in importers(f"{SERVER}.read") if within(module, f"{SERVER}.verify")}
    assert not {module for module in importers(f"{SERVER}.verify") if within(module, f"{SERVER}.read")}


def test_only_diagnose_knows_both_ways_in() -> None:
    both = importers(f"{SERVER}.foresee") & importers(f"{SERVER}.read")
    assert both == {f"{SERVER}.diagnose"}


def test_start_up_of_the_language_server_loads_no_terminal_and_no_templates() -> None:
    import subprocess
    import sys

    program = (
        "import sys, raiselens_server.cli.main, raiselens_server.cli.server, raiselens_server.lsp.start as start; "
        "start.create_server(); print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    late = {"rich", "jinja2", "markdown_it", "tree_sitter", "ahocorasick_rs", "torch", "triton"}
    assert not late & set(loaded)
