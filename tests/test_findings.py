"""The faults listed in docs/findings.json: each is run for real, each is foreseen, and nothing is beside them."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parent.parent
PROVER = ROOT / "tools" / "prove_finding.py"
LISTED: list[dict[str, Any]] = json.loads((ROOT / "docs" / "findings.json").read_text(encoding="utf-8"))
SGLANG = "sglang 0.5.23"
BY_LIBRARY = {name: [item for item in LISTED if item["library"] == name] for name in {row["library"] for row in LISTED}}

# The same callees, called as they want to be elsewhere in the same release: a proof that cannot fail proves nothing.
HEALTHY = (
    "sglang/kernels/ops/attention/decode_attention.py:1115",
    "sglang/srt/layers/rotary_embedding/base.py:468",
    "sglang/srt/model_executor/runner/decode_cuda_graph_runner.py:1786",
    "sglang/srt/models/deepseek_common/attention_forward_methods/forward_mla.py:570",
    "sglang/srt/models/deepseek_janus_pro.py:1494",
    "sglang/srt/models/minimax_m2.py:716",
    "sglang/srt/speculative/eagle_worker_common.py:399",
)


def load_prover() -> Any:
    spec = importlib.util.spec_from_file_location("prove_finding", PROVER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


prover = load_prover()


def place(item: dict[str, Any]) -> str:
    return f"{item['file']}:{item['line']}"


def test_the_list_is_sorted_and_names_each_place_once() -> None:
    order = [(item["library"], item["file"], item["line"], item["rule"]) for item in LISTED]
    assert order == sorted(set(order))


def test_the_page_tells_of_every_place_and_of_no_other() -> None:
    page = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    assert sorted(set(re.findall(r"`([\w./]+\.py:\d+)`", page))) == sorted(place(item) for item in LISTED)
    for item in LISTED:
        assert f"{item['class']}: {item['message']}" in page


def outcome(roots: tuple[Path, ...], at: str, given: dict[str, str] | None = None) -> str:
    """What running the statement shows: its error, that it ran in some way, or that placeholders cannot tell."""
    name, _, line = at.rpartition(":")
    file = roots[0] / name
    try:
        raised = [prover.raised_by(roots, file, int(line), turn, given) for turn in range(prover.ways(file, int(line)))]
    except prover.CannotProveError:
        return "not told"
    if None in raised:
        return "ran"
    return " or ".join(text.splitlines()[-1] for text in raised)


def marked(value: Any, library: str, name: str) -> Any:
    return pytest.param(value, id=name, marks=[pytest.mark.sglang] if library == SGLANG else [])


def root_of(library: str, request: pytest.FixtureRequest) -> Path:
    if library == SGLANG:
        root: Path = request.getfixturevalue("sglang_root")
        return root
    if library.startswith("torch "):
        return installed_torch(library.removeprefix("torch "))
    root = ROOT / ".cache" / library.replace(" ", "-")
    if not (root / ".complete").is_file():
        pytest.skip(f"the sources of {library} are not in {root}: run `make sweep ARGS=--all`")
    return root


def installed_torch(version: str) -> Path:
    """The site-packages with torch, without importing it; the list tells of one version."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None or metadata.version("torch").partition("+")[0] != version:
        pytest.skip(f"torch {version} is not installed")
    return Path(spec.origin).parent.parent


@pytest.mark.parametrize("item", [marked(item, item["library"], place(item)) for item in LISTED])
def test_it_raises_when_run(item: dict[str, Any], request: pytest.FixtureRequest) -> None:
    roots = tuple(root_of(library, request) for library in (item["library"], *item.get("beside", ())))
    shown = outcome(roots, place(item), item.get("given"))
    assert f"{item['class']}: {item['message']}" in shown.split(" or ")


@pytest.mark.sglang
@pytest.mark.parametrize("healthy", HEALTHY)
def test_a_call_that_fits_is_not_proved_to_raise(healthy: str, sglang_root: Path) -> None:
    assert outcome((sglang_root,), healthy) in {"ran", "not told"}


@pytest.mark.slow
@pytest.mark.parametrize("library", [marked(name, name, name) for name in sorted(BY_LIBRARY)])
def test_check_reports_them_and_nothing_beside(library: str, request: pytest.FixtureRequest) -> None:
    root = root_of(library, request)
    files = sorted({str(root / item["file"]) for item in BY_LIBRARY[library]})
    beside = sorted({name for item in BY_LIBRARY[library] for name in item.get("beside", ())})
    command = [sys.executable, "-m", "raiselens_server.cli.main", "check", *files, "--extra-path", str(root)]
    for name in beside:
        command += ["--extra-path", str(root_of(name, request))]
    done = subprocess.run([*command, "--format", "json"], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    keys = ("file", "line", "rule", "class", "message", "severity")
    found = [tuple(finding[key] for key in keys) for finding in json.loads(done.stdout)["findings"]]
    wanted = [(str(root / item["file"]), *(item[key] for key in keys[1:5]), "error") for item in BY_LIBRARY[library]]
    assert sorted(found) == sorted(wanted)


PARTS = {
    "lib/__init__.py": "from lib.core import scale as scale\n",
    "lib/core.py": """
from missing import hidden

def scale(x, *, by):
    if by == 0:
        raise ValueError("by must not be 0")
    return x

def halves(x):
    return x[: len(x) // 2], x[len(x) // 2 :]

@hidden
def wrapped(x): ...

class Base:
    def __init__(self, size):
        self.size = size
""",
    "lib/use.py": """
from . import scale
from lib.core import Base, halves, scale as rescale, wrapped

class Derived(Base):
    pass

def rescale(x): ...
""",
}


@pytest.mark.parametrize(
    ("statement", "code", "last"),
    [
        ("scale(x)", 0, "TypeError: scale() missing 1 required keyword-only argument: 'by'"),
        ("return Derived(x, 2)", 0, "TypeError: Base.__init__() takes 2 positional arguments but 3 were given"),
        ("y = rescale(x, by=2)", 0, "TypeError: rescale() got an unexpected keyword argument 'by'"),
        ("y = scale(x, by=2)", 1, "lib/use.py:11: ran without raising"),
        ("z = x.scale(1, 2, 3)", 1, "lib/use.py:11: ran without raising"),
        ("argument(1, 2, 3)", 1, "lib/use.py:11: ran without raising"),
        (
            "scale(x, by=0)",
            2,
            "lib/use.py:11: the call was bound, and its callee came to a placeholder: by must not be 0",
        ),
        ("wrapped()", 2, "lib/use.py:11: wrapped is decorated by something that is not there"),
        ("scale(**x)", 2, "lib/use.py:11: a value that is not there would decide what runs"),
        ("# scale(x)", 2, "lib/use.py:11: no statement begins on this line"),
    ],
)
def test_what_the_prover_tells(statement: str, code: int, last: str, tmp_path: Path) -> None:
    assert proved(statement, tmp_path) == (code, last)


@pytest.mark.parametrize(
    ("statement", "given", "code", "last"),
    [
        ("a, b, c = halves(x)", ["x=[1, 2]"], 0, "ValueError: not enough values to unpack (expected 3, got 2)"),
        ("a, b = halves(x)", ["x=[1, 2]"], 1, "lib/use.py:11: ran without raising"),
        ("a, b, c = halves(x)", [], 2, "lib/use.py:11: a value that is not there would decide what runs"),
        ("a, b = x.size", ["x=Derived((1, 2, 3))"], 0, "ValueError: too many values to unpack (expected 2)"),
        ("a, b = x.size", ["x=[][0]"], 2, "lib/use.py:11: x=[][0]: list index out of range"),
    ],
)
def test_what_the_prover_tells_of_given_values(
    statement: str, given: list[str], code: int, last: str, tmp_path: Path
) -> None:
    assert proved(statement, tmp_path, given) == (code, last)


def proved(statement: str, tmp_path: Path, given: Sequence[str] = ()) -> tuple[int, str]:
    """The exit code and the last line for a statement beside `PARTS`."""
    for name, text in PARTS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    with (tmp_path / "lib" / "use.py").open("a", encoding="utf-8") as file:
        file.write(f"\ndef run(x, argument):\n    {statement}\n    pass\n")
    command = [sys.executable, str(PROVER), str(tmp_path), "lib/use.py:11", *given]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, (done.stdout + done.stderr).splitlines()[-1]


METHODS = """
class Runner(Missing):
    def step(self, batch, *, last=False):
        raise ValueError(batch)

    @property
    def size(self):
        return lambda: 1

    def run(self, batch):
        STATEMENT
"""


@pytest.mark.parametrize(
    ("statement", "code", "last"),
    [
        ("self.step(batch, final=True)", 0, "TypeError: Runner.step() got an unexpected keyword argument 'final'"),
        ("self.step(batch, last=True)", 1, "run.py:11: ran without raising"),
        ("self.size(1)", 1, "run.py:11: ran without raising"),
        ("self.inherited(1)", 1, "run.py:11: ran without raising"),
    ],
)
def test_what_the_prover_tells_of_methods(statement: str, code: int, last: str, tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text(METHODS.replace("STATEMENT", statement), encoding="utf-8")
    command = [sys.executable, str(PROVER), str(tmp_path), "run.py:11"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, (done.stdout + done.stderr).splitlines()[-1]) == (code, last)


def test_the_prover_finds_the_imports_of_one_library_in_another(tmp_path: Path) -> None:
    for name, text in {"one/user.py": "from used import f\nf(1)\n", "other/used.py": "def f(): ...\n"}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text, encoding="utf-8")
    folders = f"{tmp_path / 'one'}{os.pathsep}{tmp_path / 'other'}"
    command = [sys.executable, str(PROVER), folders, "user.py:2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "TypeError: f() takes 0 positional arguments but 1 was given"
