"""Programs run for real, beside what was foreseen of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

RUNNER = Path(__file__).with_name("run_cases.py")


def run_folders(folders: Iterable[Path], *, sglang: Path | None = None) -> dict[str, Any]:
    """What the statements of each folder's `main.py` raise: folder → `[[lines, class, message], …]`.

    Triton is interpreted; `sglang` is where the sources of that package are.
    """
    options = [] if sglang is None else ["--sglang", str(sglang)]
    command = [sys.executable, str(RUNNER), *options, *map(str, folders)]
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert isinstance(answers, dict)
    return answers
