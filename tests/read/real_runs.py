"""Programs that really fail, ways of running them, and what they raised.

A raiser is a module `job` whose `fail()` raises; a runner is a program that lets it fail in one of the ways in which
errors reach a log. What was raised is asked of the interpreter itself, in a run of its own: class, message with notes,
and the frames within `job.py`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

RAISERS: dict[str, tuple[tuple[int, int], str]] = {
    "plain": ((3, 8), "def fail():\n    raise ValueError('pool_out must be int32, got torch.int64')\n"),
    "empty": ((3, 8), "def check(n):\n    assert n > 3\n\ndef fail():\n    check(2)\n"),
    "key": ((3, 8), "def fail():\n    return {'a': 1}['layers.3.weight']\n"),
    "dotted": ((3, 8), "class OutOfBlocks(Exception):\n    pass\n\ndef fail():\n    raise OutOfBlocks('0 of 128 blocks left')\n"),
    "nested-class": (
        (3, 8),
        "class Pool:\n    class Full(Exception):\n        pass\n\ndef fail():\n    raise Pool.Full('slot 7: taken')\n",
    ),
    "lines": ((3, 8), "def fail():\n    raise RuntimeError('two things are wrong:\\n  - the dtype\\n  - the shape')\n"),
    "excerpt": (
        (3, 8),
        "def fail():\n    raise RuntimeError('at 3:7:\\ndef kernel(x):\\n    y = load(x)\\n\\n    z = arange(0, 3)\\n        ^')\n",
    ),
    "unicode": ((3, 8), "def fail():\n    raise ValueError('größe ≠ 4 — 形状 (2, 3) 🙂')\n"),
    "long": ((3, 8), "def fail():\n    raise TypeError('too long: ' + 'abcdefghi ' * 60 + 'end')\n"),
    "colons": ((3, 8), "def fail():\n    raise OSError(2, 'No such file', '/a/b: c.txt')\n"),
    "quotes": ((3, 8), "def fail():\n    raise ValueError('File \"x.py\", line 3, in f')\n"),
    "call": ((3, 8), "def g(a, b):\n    return a\n\ndef fail():\n    g(1, c=2)\n"),
    "none": ((3, 8), "def fail():\n    x = None\n    return [y.shape for y in [x]][0]\n"),
    "exec": ((3, 8), "def fail():\n    exec('1 / 0')\n"),
    "lambda": ((3, 8), "def fail():\n    (lambda v: v + 'x')(1)\n"),
    "recursion": ((3, 8), "def down(n):\n    return down(n + 1)\n\ndef fail():\n    down(0)\n"),
    "syntax": ((3, 8), "def fail():\n    compile('x = (1,\\n', 'conf.py', 'exec')\n"),
    "import": ((3, 8), "def fail():\n    import not_installed_anywhere\n"),
    "cause": (
        (3, 8),
        ("def load():\n    return {}['dtype']\n\ndef fail():\n    try:\n        load()\n    except KeyError as e:\n"
        "        raise ValueError('no dtype was given') from e\n"),
    ),
    "context": (
        (3, 8),
        "def close():\n    raise OSError('cannot close twice')\n\ndef fail():\n    try:\n        1 / 0\n    finally:\n        close()\n",
    ),
    "three": (
        (3, 8),
        ("def a():\n    raise LookupError('first')\n\ndef b():\n    try:\n        a()\n    except LookupError as e:\n"
        "        raise RuntimeError('second') from e\n\ndef fail():\n    try:\n        b()\n    except RuntimeError:\n"
        "        raise TypeError('third: not a tensor')\n"),
    ),
    "unraised": ((3, 8), "def fail():\n    raise ValueError('the outer one') from KeyError('never raised')\n"),
    "multiline-call": (
        (3, 8),
        "def take(a,\n         b):\n    raise ValueError('bad pair')\n\ndef fail():\n    take(\n        [1,\n         2],\n        {'k':\n         3},\n    )\n",
    ),
    "notes": (
        (3, 11),
        "def fail():\n    e = ValueError('with notes')\n    e.add_note('while loading shard 3')\n    e.add_note('on rank 1')\n    raise e\n",
    ),
    "group": (
        (3, 11),
        ("def one():\n    raise TypeError('expected int32 but found int64')\n\ndef two():\n    raise KeyError('k')\n\n"
        "def fail():\n    errors = []\n    for f in (one, two):\n        try:\n            f()\n        except Exception as e:\n"
        "            errors.append(e)\n    raise ExceptionGroup('2 tasks failed', errors)\n"),
    ),
    "group-nested": (
        (3, 11),
        ("def one():\n    raise TypeError('inner\\nof two lines')\n\ndef inner():\n    try:\n        one()\n    except TypeError as e:\n"
        "        raise ExceptionGroup('inner', [e])\n\ndef fail():\n    try:\n        inner()\n    except ExceptionGroup as g:\n"
        "        raise ExceptionGroup('outer', [g, ValueError('bare')])\n"),
    ),
    "group-cause": (
        (3, 11),
        "def fail():\n    try:\n        {}['x']\n    except KeyError as e:\n        raise ExceptionGroup('after it', [ValueError('member')]) from e\n",
    ),
}  # fmt: skip

_ASK = """
import json, sys, traceback
sys.path.insert(0, {folder!r})
import job
def name(e):
    kind = type(e)
    module = "" if kind.__module__ in ("builtins", "__main__") else kind.__module__ + "."
    return module + kind.__qualname__
def tell(e):
    text = str(e)
    if isinstance(e, SyntaxError):
        text = e.msg
    for note in getattr(e, "__notes__", ()):
        text += "\\n" + note
    frames = []
    for f in traceback.extract_tb(e.__traceback__)[1:]:
        if f.filename.endswith("job.py") or f.filename == "<string>":
            frames.append([f.filename.rpartition("/")[2], f.lineno, f.name])
    first = None
    leaf = e
    while hasattr(leaf, "exceptions"):
        leaf = leaf.exceptions[0]
    return {{"class": name(e), "message": text, "frames": frames, "leaf": [name(leaf), text if leaf is e else str(leaf)]}}
sys.setrecursionlimit(200)
try:
    job.fail()
except BaseException as e:
    print(json.dumps(tell(e)))
"""


@dataclass(frozen=True)
class Truth:
    """What `job.fail()` raised. `leaf` is the first member of a group, at the bottom, or the error itself."""

    class_name: str
    message: str
    frames: tuple[tuple[str, int, str], ...]
    leaf: tuple[str, str]


@dataclass(frozen=True)
class Runner:
    """A program that lets `job.fail()` reach a log.

    `needs` are modules that must be importable; `functions` says whether the format prints plain function names;
    `frames` whether all frames of `job.py` are printed; `copies` how often the error is told.
    """

    source: str
    needs: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    since: tuple[int, int] = (3, 8)
    functions: bool = True
    frames: bool = True
    not_for: tuple[str, ...] = ()


_LOGGED = """
import logging, sys, job
sys.setrecursionlimit(200)
logging.basicConfig(level=logging.INFO, format={format!r}, datefmt={date!r})
logging.info("loading")
try:
    job.fail()
except BaseException:
    logging.exception({text!r})
logging.info("shutting down")
"""

_EVERY_LINE = """
import logging, sys, job
sys.setrecursionlimit(200)
class Format(logging.Formatter):
    def format(self, record):
        text = super().format(record)
        head = text[: text.index(record.getMessage())]
        return text.replace("\\n", "\\n" + head)
handler = logging.StreamHandler()
handler.setFormatter(Format({format!r}, {date!r}))
logging.basicConfig(level=logging.INFO, handlers=[handler])
logging.info("loading")
try:
    job.fail()
except BaseException:
    logging.exception("EngineCore failed to start.")
logging.info("shutting down")
"""

_PREFIXED = """
import subprocess, sys
run = subprocess.run([sys.executable, "child.py"], stderr=subprocess.PIPE)
for number, line in enumerate(run.stderr.decode().split("\\n")[:-1]):
    print({prefix} + line)
"""

_TORCHRUN = """
import sys, job
import torch.distributed as dist
sys.setrecursionlimit(200)
dist.init_process_group("gloo")
job.fail()
"""

_NOT_PICKLED = (
    "colons",
    "syntax",
    "group",
    "group-nested",
    "group-cause",
    "nested-class",
    "recursion",
    "import",
    "notes",
)
"""Ways of raising whose exception does not come back whole from another process."""

RUNNERS: dict[str, Runner] = {
    "script": Runner("import sys, job\nsys.setrecursionlimit(200)\nprint('start', flush=True)\njob.fail()\n"),
    "thread": Runner(
        "import sys, threading, job\nsys.setrecursionlimit(200)\n"
        "t = threading.Thread(target=job.fail)\nt.start()\nt.join()\nprint('went on', flush=True)\n",
        not_for=("notes",),  # nothing tells a note from what the program prints next
    ),
    "asyncio": Runner(
        "import asyncio, sys, job\nsys.setrecursionlimit(200)\nasync def main():\n    await asyncio.sleep(0)\n    job.fail()\nasyncio.run(main())\n"
    ),
    "forgotten-task": Runner(
        "import asyncio, sys, job\nsys.setrecursionlimit(200)\nasync def bad():\n    job.fail()\nasync def main():\n"
        "    asyncio.ensure_future(bad())\n    await asyncio.sleep(0.05)\nasyncio.run(main())\n",
        not_for=("notes",),
    ),
    "process": Runner(
        "import multiprocessing as mp, sys, job\nsys.setrecursionlimit(200)\nif __name__ == '__main__':\n"
        "    p = mp.get_context('fork').Process(target=job.fail, name='EngineCore_0')\n    p.start()\n    p.join()\n    print('joined', flush=True)\n",
        not_for=("notes",),
    ),
    "pool": Runner(
        "import multiprocessing as mp, sys, job\nsys.setrecursionlimit(200)\ndef f(_):\n    job.fail()\nif __name__ == '__main__':\n"
        "    with mp.get_context('fork').Pool(1) as pool:\n        pool.map(f, [1])\n",
        frames=False,
        not_for=_NOT_PICKLED,
    ),
    "executor": Runner(
        "import concurrent.futures as cf, sys, job\nsys.setrecursionlimit(200)\ndef f(_):\n    job.fail()\nif __name__ == '__main__':\n"
        "    with cf.ProcessPoolExecutor(1) as pool:\n        list(pool.map(f, [1]))\n",
        frames=False,
        not_for=_NOT_PICKLED,
    ),
    "print-exc": Runner(
        "import sys, traceback, job\nsys.setrecursionlimit(200)\nfor step in range(2):\n    try:\n        job.fail()\n    except BaseException:\n"
        "        traceback.print_exc()\n",
        not_for=("excerpt",),
    ),
    "logging": Runner(
        _LOGGED.format(format="%(asctime)s - %(name)s - %(levelname)s - %(message)s", date=None, text="step failed")
    ),
    "logging-bare": Runner(_LOGGED.format(format="%(levelname)s:%(name)s:%(message)s", date=None, text="step failed")),
    "logging-sglang": Runner(
        _LOGGED.format(
            format="[%(asctime)s TP0] %(message)s", date="%Y-%m-%d %H:%M:%S", text="Scheduler hit an exception"
        )
    ),
    "glued": Runner(
        "import sys, time, traceback, job\nsys.setrecursionlimit(200)\ntry:\n    job.fail()\nexcept BaseException:\n"
        "    sys.stderr.write('  3%|3  | 1/12 [00:01<00:11]\\r  8%|#  | 2/12 [00:01<00:11][2026-06-11 03:02:29 DP0 TP2] Scheduler hit an exception: '"
        " + traceback.format_exc() + '\\n')\nsys.stderr.write('[2026-06-11 03:02:30] Received sigquit from a child process.\\n')\n",
        not_for=("group", "group-nested", "group-cause", "unraised"),
    ),
    "every-line-vllm": Runner(
        _EVERY_LINE.format(
            format="(EngineCore_DP0 pid=77) %(levelname)s %(asctime)s [core.py:843] %(message)s", date="%m-%d %H:%M:%S"
        )
    ),
    "every-line-old": Runner(
        _EVERY_LINE.format(format="%(levelname)s %(asctime)s engine.py:391] %(message)s", date="%m-%d %H:%M:%S")
    ),
    "rank": Runner(_PREFIXED.format(prefix="'[rank3]: '")),
    "docker": Runner(_PREFIXED.format(prefix="f'2026-05-30T17:02:{number % 60:02d}.123456789Z '")),
    "compose": Runner(_PREFIXED.format(prefix="'sglang-1  | '")),
    "srun": Runner(_PREFIXED.format(prefix="'2: '")),
    "journald": Runner(
        _PREFIXED.format(prefix="f'May 04 11:27:{number % 60:02d} gpu1 vllm[5120]: (APIServer pid=5120) '")
    ),
    "unknown-prefix": Runner(_PREFIXED.format(prefix="f'<gpu-box/17> #{number} :: '")),
    "actions-rank": Runner(_PREFIXED.format(prefix="f'2026-11-21T15:44:31.22{number:05d}Z [rank0]: '")),
    "quoted": Runner(_PREFIXED.format(prefix="'> '")),
    "docker-json": Runner(
        "import json, subprocess, sys\n"
        "run = subprocess.run([sys.executable, 'child.py'], stderr=subprocess.PIPE)\n"
        "for line in run.stderr.decode().splitlines(keepends=True):\n"
        "    print(json.dumps({'log': line, 'stream': 'stderr', 'time': '2026-05-30T17:02:48Z'}))\n"
    ),
    "json-exc-info": Runner(
        "import json, sys, traceback, job\nsys.setrecursionlimit(200)\ntry:\n    job.fail()\nexcept BaseException:\n"
        "    print(json.dumps({'level': 'error', 'message': 'step failed', 'exc_info': traceback.format_exc()}))\n"
        "print(json.dumps({'level': 'info', 'message': 'bye'}))\n"
    ),
    "json-pretty": Runner(
        "import json, sys, traceback, job\nsys.setrecursionlimit(200)\ntry:\n    job.fail()\nexcept BaseException:\n"
        "    print(json.dumps({'level': 'error', 'message': 'failed', 'exc_info': traceback.format_exc().splitlines()}, indent=2))\n"
    ),
    "repr": Runner(
        "import sys, traceback, job\nsys.setrecursionlimit(200)\ntry:\n    job.fail()\nexcept BaseException:\n"
        "    print('worker 3 answered', {'ok': False, 'error': traceback.format_exc()})\n",
        not_for=("unicode", "group", "group-nested", "group-cause", "unraised", "cause", "three"),
    ),
    "crlf": Runner(
        "import subprocess, sys\n"
        "run = subprocess.run([sys.executable, 'child.py'], stderr=subprocess.PIPE)\n"
        "sys.stdout.buffer.write(run.stderr.replace(b'\\n', b'\\r\\n'))\n"
    ),
    "colour": Runner(
        "import sys, job\nsys.setrecursionlimit(200)\njob.fail()\n", environment={"FORCE_COLOR": "1"}, since=(3, 13)
    ),
    "ignored": Runner(
        "import sys, job\nsys.setrecursionlimit(200)\nclass Pool:\n    def __del__(self):\n        raise OSError('in a finalizer')\n"
        "pool = Pool()\ndel pool\njob.fail()\n"
    ),
    "unittest": Runner(
        "import sys, unittest, job\nsys.setrecursionlimit(250)\nclass Kernel(unittest.TestCase):\n    def test_it(self):\n        job.fail()\n"
        "    def test_fine(self):\n        pass\nunittest.main()\n"
    ),
    **{
        f"pytest-{style}": Runner(
            "import sys\nimport pytest\nsys.exit(pytest.main(['-p', 'no:cacheprovider', '--tb="
            + style
            + "', 'case_it.py']))\n",
            needs=("pytest",),
            functions=style in {"short", "native"},
            frames=style in {"long", "short", "auto", "native"},
            not_for=("recursion", "notes", "group", "group-nested", "group-cause", "syntax", "exec", "multiline-call")
            + (("lines", "excerpt", "quotes", "colons", "unraised") if style == "line" else ()),
        )
        for style in ("long", "short", "auto", "native", "line")
    },
    "ipython": Runner(
        "from IPython.core.interactiveshell import InteractiveShell\nshell = InteractiveShell()\nshell.colors = 'NoColor'\n"
        "shell.run_cell('import job\\nprint(1)\\njob.fail()')\n",
        needs=("IPython",),
        functions=False,
        not_for=("recursion", "group", "group-nested", "group-cause", "exec", "syntax"),
    ),
    "ipython-colour": Runner(
        "from IPython.core.interactiveshell import InteractiveShell\nshell = InteractiveShell()\n"
        "shell.run_cell('import job\\nprint(1)\\njob.fail()')\n",
        needs=("IPython",),
        functions=False,
        not_for=("recursion", "group", "group-nested", "group-cause", "exec", "syntax"),
    ),
    **{
        f"rich-{width}": Runner(
            f"import sys, job\nfrom rich.console import Console\nfrom rich.traceback import install\nsys.setrecursionlimit(400)\n"
            f"install(console=Console(stderr=True, width={width}), show_locals={width > 100})\njob.fail()\n",
            needs=("rich",),
            not_for=(
                "recursion",
                "syntax",
                "exec",
                "excerpt",
                "lines",
                "notes",
                "group",
                "group-nested",
                "group-cause",
                "unraised",
                "unicode",
            ),
        )
        for width in (60, 100, 140)
    },
    "loguru": Runner(
        "import sys, job\nfrom loguru import logger\nsys.setrecursionlimit(400)\n@logger.catch\ndef main(q=[1, 2]):\n    job.fail()\nmain()\nlogger.info('done')\n",
        needs=("loguru",),
        not_for=("recursion", "exec", "empty"),
    ),
    "loguru-plain": Runner(
        "import sys, job\nfrom loguru import logger\nsys.setrecursionlimit(400)\nlogger.remove()\nlogger.add(sys.stderr, diagnose=False, backtrace=False)\n"
        "@logger.catch\ndef main():\n    job.fail()\nmain()\nlogger.info('done')\n",
        needs=("loguru",),
        not_for=("recursion", "exec", "empty"),
    ),
    "joblib": Runner(
        "import sys, job\nfrom joblib import Parallel, delayed\ndef f():\n    job.fail()\nif __name__ == '__main__':\n    Parallel(n_jobs=2)(delayed(f)() for _ in range(2))\n",
        needs=("joblib",),
        frames=False,
        not_for=_NOT_PICKLED,
    ),
    "dataloader": Runner(
        "import sys, job\nimport torch\nfrom torch.utils.data import DataLoader, Dataset\nclass Data(Dataset):\n    def __len__(self):\n        return 4\n"
        "    def __getitem__(self, i):\n        job.fail()\nif __name__ == '__main__':\n    list(DataLoader(Data(), num_workers=1))\n",
        needs=("torch",),
        not_for=(
            "key",
            "syntax",
            "group",
            "group-nested",
            "group-cause",
            "recursion",
            "notes",
            "colons",
            "unraised",
            "cause",
            "context",
            "three",
        ),
    ),
    "torchrun": Runner(
        _TORCHRUN,
        needs=("torch",),
        arguments=("-m", "torch.distributed.run", "--nproc-per-node=2", "--master-port=29613"),
        not_for=("recursion", "group", "group-nested", "group-cause"),
    ),
    "ray": Runner(
        "import job, ray\nray.init(num_cpus=1, include_dashboard=False, logging_level='ERROR')\n@ray.remote\ndef task():\n    job.fail()\nray.get(task.remote())\n",
        needs=("ray",),
        not_for=(
            "recursion",
            "group",
            "group-nested",
            "group-cause",
            "syntax",
            "notes",
            "unraised",
            "cause",
            "context",
            "three",
            "nested-class",
        ),
        environment={"RAY_DEDUP_LOGS": "1"},
    ),
}


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


def applies(python: Path, raiser: str, runner: str) -> bool:
    """Whether the runner can run the raiser on this interpreter, and prints all of it."""
    how = RUNNERS[runner]
    enough = version(python) >= max(RAISERS[raiser][0], how.since)
    return enough and raiser not in how.not_for and all(has(python, module) for module in how.needs)


def run(python: Path, raiser: str, runner: str, folder: Path) -> tuple[str, Truth]:
    """Run the program in `folder`; its output, both streams together, and what it raised."""
    how = RUNNERS[runner]
    (folder / "job.py").write_text(RAISERS[raiser][1], encoding="utf-8")
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
            [python, "-c", _ASK.format(folder=str(folder))], capture_output=True, check=True, cwd=folder
        )
        told = json.loads(ask.stdout)
        frames = tuple((file, line, function) for file, line, function in told["frames"])
        name, message = told["leaf"]
        _known[python, raiser] = Truth(told["class"], told["message"], frames, (name, message))
    return _known[python, raiser]
