"""Programs that really fail, and what they raised.

What was raised is asked of the interpreter itself, in a run of its own: class, message with notes, the frames within
`job.py`, and the same of every link of the chain. See `raisers` for what fails, `runners` for how it is printed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from raisers import LIBRARY_RAISERS, RAISERS
from runners import RUNNERS

_ASK = """
import json, sys, traceback
sys.path.insert(0, {folder!r})
import job
def name(e):
    kind = type(e)
    module = "" if kind.__module__ in ("builtins", "__main__") else kind.__module__ + "."
    return module + kind.__qualname__
def said(e):
    text = e.msg if isinstance(e, SyntaxError) else str(e)
    return "\\n".join([text, *getattr(e, "__notes__", ())])
def links(e, seen):
    if e is None or id(e) in seen:
        return []
    seen.add(id(e))
    before = e.__cause__ if e.__cause__ is not None or e.__suppress_context__ else e.__context__
    own = [[name(e), said(e)]]
    for member in getattr(e, "exceptions", ()):
        own += links(member, seen)
    return links(before, seen) + own
def tell(e):
    frames = []
    for f in traceback.extract_tb(e.__traceback__)[1:]:
        if f.filename.endswith("job.py") or f.filename == "<string>":
            frames.append([f.filename.rpartition("/")[2], f.lineno, f.name])
    leaf = e
    while hasattr(leaf, "exceptions"):
        leaf = leaf.exceptions[0]
    return {{"class": name(e), "message": said(e), "frames": frames, "leaf": [name(leaf), said(leaf)], "links": links(e, set())}}
sys.setrecursionlimit(200)
try:
    job.fail()
except BaseException as e:
    print(json.dumps(tell(e)))
"""


@dataclass(frozen=True)
class Truth:
    """What `job.fail()` raised.

    `leaf` is the first member of a group, at the bottom, or the error itself; `links` are all errors of the chain and of
    its groups.
    """

    class_name: str
    message: str
    frames: tuple[tuple[str, int, str], ...]
    leaf: tuple[str, str]
    links: tuple[tuple[str, str], ...]


@cache
def interpreters() -> tuple[Path, ...]:
    """The Pythons of this machine: the running one, then those of pyenv and those that are named in the environment."""
    found = [Path(sys.executable)]
    versions = Path.home() / ".pyenv" / "versions"
    if versions.is_dir():
        found += sorted(versions.glob("3.*/bin/python"))
    found += [Path(name) for name in os.environ.get("RAISELENS_TEST_PYTHONS", "").split(os.pathsep) if name]
    return tuple(path for path in found if version(path) >= (3, 8))


@cache
def version(python: Path) -> tuple[int, int]:
    """The interpreter's version; (0, 0) where it does not start."""
    try:
        run = subprocess.run(
            [python, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return (0, 0)
    major, minor = run.stdout.split()
    return int(major), int(minor)


@cache
def has(python: Path, module: str) -> bool:
    """Whether the interpreter can import the module."""
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0


def source(raiser: str) -> str:
    """The raiser's module."""
    return RAISERS[raiser][1] if raiser in RAISERS else LIBRARY_RAISERS[raiser][1]


def applies(python: Path, raiser: str, runner: str) -> bool:
    """Whether the runner can run the raiser on this interpreter, and prints all of it."""
    how = RUNNERS[runner]
    if raiser in LIBRARY_RAISERS:
        since, needs = (3, 10), (*how.needs, LIBRARY_RAISERS[raiser][0])
    else:
        since, needs = RAISERS[raiser][0], how.needs
    if how.groups_need and (raiser in {"notes", "taskgroup"} or raiser.startswith("group")):
        needs = (*needs, how.groups_need)
    enough = version(python) >= max(since, how.since)
    return enough and raiser not in how.not_for and all(has(python, module) for module in needs)


def run(python: Path, raiser: str, runner: str, folder: Path) -> tuple[str, Truth]:
    """Run the program in `folder`; its output, both streams together, and what it raised."""
    how = RUNNERS[runner]
    (folder / "job.py").write_text(source(raiser), encoding="utf-8")
    (folder / "main.py").write_text(how.source, encoding="utf-8")
    (folder / "child.py").write_text("import sys, job\nsys.setrecursionlimit(200)\njob.fail()\n", encoding="utf-8")
    (folder / "case_it.py").write_text("import job\n\ndef test_it():\n    job.fail()\n", encoding="utf-8")
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(folder),
        "PYTHONIOENCODING": "utf-8",
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        **how.environment,
    }
    if "FORCE_COLOR" in how.environment:
        del environment["NO_COLOR"]
    truth = _raised(python, raiser, folder)
    done = subprocess.run(
        [python, *how.arguments, "main.py"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        env=environment, cwd=folder, timeout=120,
    )  # fmt: skip
    return done.stdout.decode("utf-8", "replace"), truth


_known: dict[tuple[Path, str], Truth] = {}


def _raised(python: Path, raiser: str, folder: Path) -> Truth:
    """What `job.fail()` in `folder` raises, asked once for each raiser and interpreter."""
    if (python, raiser) not in _known:
        ask = subprocess.run(
            [python, "-c", _ASK.format(folder=str(folder))],
            capture_output=True,
            check=True,
            cwd=folder,
            timeout=300,
        )
        told = json.loads(ask.stdout)
        frames = tuple((file, line, function) for file, line, function in told["frames"])
        name, message = told["leaf"]
        links = tuple((cls, text) for cls, text in told["links"])
        truth = Truth(told["class"], told["message"], frames, (name, message), links)
        if str(folder) in truth.message:
            # A message that names the program's own file is that of this folder alone.
            return truth
        _known[python, raiser] = truth
    return _known[python, raiser]
