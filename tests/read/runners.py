"""Ways in which an error reaches a log: programs that let `job.fail()` fail."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Runner:
    """A program that lets `job.fail()` reach a log.

    `needs` are modules that must be importable; `functions` says whether the format prints plain function names;
    `frames` whether all frames of `job.py` are printed; `brief` that of a chain only the last error is,
    and of that some versions print only the first line.
    """

    source: str
    needs: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    since: tuple[int, int] = (3, 8)
    functions: bool = True
    frames: bool = True
    not_for: tuple[str, ...] = ()
    brief: bool = False
    groups_need: str = ""
    """A module that only those versions of the printer have which print notes and the members of groups."""


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

_GOES_ON = ("notes", "plain-lines", "group-notes")
"""Ways of raising whose message ends in lines that nothing tells from what the program prints next."""

_NOT_PICKLED = (
    "colons",
    "unraised",
    "interrupt",
    "taskgroup",
    "group-lines",
    "group-notes",
    "group-chain",
    "group-many",
    "subprocess",
    "lower-class",
    "unicode-class",
    "syntax",
    "group",
    "group-nested",
    "group-cause",
    "nested-class",
    "local-class",
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
        not_for=_GOES_ON,
    ),
    "asyncio": Runner(
        "import asyncio, sys, job\nsys.setrecursionlimit(200)\nasync def main():\n    await asyncio.sleep(0)\n    job.fail()\nasyncio.run(main())\n",
        not_for=("taskgroup",),
    ),
    "forgotten-task": Runner(
        "import asyncio, sys, job\nsys.setrecursionlimit(200)\nasync def bad():\n    job.fail()\nasync def main():\n"
        "    asyncio.ensure_future(bad())\n    await asyncio.sleep(0.05)\nasyncio.run(main())\n",
        not_for=(*_GOES_ON, "taskgroup"),
    ),
    "process": Runner(
        "import multiprocessing as mp, sys, job\nsys.setrecursionlimit(200)\nif __name__ == '__main__':\n"
        "    p = mp.get_context('fork').Process(target=job.fail, name='EngineCore_0')\n    p.start()\n    p.join()\n    print('joined', flush=True)\n",
        not_for=_GOES_ON,
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
            not_for=("interrupt",),
            brief=style == "line",
        )
        for style in ("long", "short", "auto", "native", "line")
    },
    "ipython": Runner(
        "from IPython.core.interactiveshell import InteractiveShell\nshell = InteractiveShell()\nshell.colors = 'NoColor'\n"
        "shell.run_cell('import job\\nprint(1)\\njob.fail()')\n",
        needs=("IPython",),
        functions=False,
        groups_need="IPython.core.doctb",
        not_for=("syntax", "recursion", "group-chain"),
    ),
    "ipython-colour": Runner(
        "from IPython.core.interactiveshell import InteractiveShell\nshell = InteractiveShell()\n"
        "shell.run_cell('import job\\nprint(1)\\njob.fail()')\n",
        needs=("IPython",),
        functions=False,
        groups_need="IPython.core.doctb",
        not_for=("syntax", "recursion", "group-chain"),
    ),
    **{
        f"rich-{width}": Runner(
            f"import sys, job\nfrom rich.console import Console\nfrom rich.traceback import install\nsys.setrecursionlimit(400)\n"
            f"install(console=Console(stderr=True, width={width}), show_locals={width > 100})\njob.fail()\n",
            needs=("rich",),
            not_for=("group-cause", "group-chain"),  # what a member, or the group, was raised from is not printed
        )
        for width in (60, 100, 140)
    },
    "loguru": Runner(
        "import sys, job\nfrom loguru import logger\nsys.setrecursionlimit(400)\n@logger.catch\ndef main(q=[1, 2]):\n    job.fail()\nmain()\nlogger.info('done')\n",
        needs=("loguru",),
        not_for=("recursion", "empty"),
    ),
    "loguru-plain": Runner(
        "import sys, job\nfrom loguru import logger\nsys.setrecursionlimit(400)\nlogger.remove()\nlogger.add(sys.stderr, diagnose=False, backtrace=False)\n"
        "@logger.catch\ndef main():\n    job.fail()\nmain()\nlogger.info('done')\n",
        needs=("loguru",),
        not_for=("recursion",),
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
            *_NOT_PICKLED,
            "key",
            "unraised",
            "cause",
            "context",
            "three",
            "lines-between",
            "quoted-traceback",
            "nothing",
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
