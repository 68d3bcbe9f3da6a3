"""Run programs statement by statement, each in a child process of its own, and print what every statement raised.

    python run_cases.py [--sglang SOURCES] FOLDER…

With `--sglang`, packages of sglang are made without running their `__init__`; its modules are the files in SOURCES.
Each FOLDER holds a `main.py`. Prints one JSON object: folder → `[[lines, class, message], …]`, where `lines` are
those of `main.py` on the traceback, outermost first. A statement that raised is passed over, and the next one is run.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import signal
import sys
import traceback
import warnings
from pathlib import Path
from types import ModuleType

LIMIT_S = 20


def run(folder: Path) -> list[list[object]]:
    """What the statements of a folder's `main.py` raise, in this process."""
    path = folder / "main.py"
    module = sys.modules["__main__"] = ModuleType("__main__")
    module.__dict__["__file__"] = str(path)
    sys.path.insert(0, str(folder))
    os.chdir(folder)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    raised: list[list[object]] = []
    for statement in tree.body:
        code = compile(ast.Module([statement], []), str(path), "exec")
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(code, module.__dict__)  # noqa: S102 that is what this program is for
        except Exception as error:  # noqa: BLE001 whatever the programs raise
            frames = traceback.extract_tb(error.__traceback__)
            lines = [frame.lineno for frame in frames if frame.filename == str(path)]
            cls = type(error)
            prefix = "" if cls.__module__ in {"builtins", "__main__"} else f"{cls.__module__}."
            raised.append([lines, prefix + cls.__qualname__, str(error)])
    return raised


def in_child(folder: Path) -> object:
    """The result of `run` in a forked child, or a word for why there is none."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        signal.alarm(LIMIT_S)
        sys.dont_write_bytecode = True
        warnings.simplefilter("ignore")
        try:
            answer: object = run(folder)
        except BaseException as error:  # noqa: BLE001 the parent must hear of it
            answer = repr(error)
        with os.fdopen(writer, "w") as stream:
            stream.write(json.dumps(answer))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        data = stream.read()
    os.waitpid(child, 0)
    return json.loads(data) if data else "no answer"


if __name__ == "__main__":
    with contextlib.suppress(ImportError):
        import torch

        torch.set_num_threads(1)
    folders = sys.argv[1:]
    if folders[:1] == ["--sglang"]:
        sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
        from tests.real.bare_sglang import BarePackages

        sys.meta_path.insert(0, BarePackages(Path(folders[1])))
        folders = folders[2:]
    print(json.dumps({folder: in_child(Path(folder)) for folder in folders}))
