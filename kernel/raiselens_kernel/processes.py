"""Start stages as processes of this interpreter, and take their answers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PACKAGE_ROOT = str(Path(__file__).resolve().parent.parent)
_LONGEST_ANSWER = 4 << 20


@dataclass(frozen=True, slots=True)
class Answered:
    """What a stage answered."""

    answer: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Died:
    """One line about a stage that gave no answer."""

    reason: str


@dataclass(slots=True)
class Stage:
    """A stage that is running."""

    name: str
    process: subprocess.Popen[bytes]
    request: bytes

    def result(self) -> Answered | Died:
        """Wait for the stage to end."""
        answer, errors = self.process.communicate(self.request)
        if self.process.returncode < 0:
            return Died(f"{self.name} was killed by {signal_name(-self.process.returncode)}")
        if self.process.returncode > 0:
            return Died(f"{self.name} failed: {last_line(errors) or f'exit status {self.process.returncode}'}")
        try:
            parsed = json.loads(answer[:_LONGEST_ANSWER])
        except ValueError:
            return Died(f"{self.name} gave no readable answer")
        return Answered(parsed) if isinstance(parsed, dict) else Died(f"{self.name} gave no readable answer")


def start(name: str, request: dict[str, Any], *, device: str, interpreted: bool) -> Stage:
    """Start a stage; with `interpreted` its kernels run in Triton's CPU interpreter, and no GPU is visible to it."""
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(
        path for path in (_PACKAGE_ROOT, environment.get("PYTHONPATH", "")) if path
    )
    environment.pop("TRITON_INTERPRET", None)
    if interpreted:
        environment["TRITON_INTERPRET"] = "1"
        environment["CUDA_VISIBLE_DEVICES"] = ""
    process = subprocess.Popen(
        [sys.executable, "-m", "raiselens_kernel.stages", name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    return Stage(name, process, json.dumps({**request, "device": device}).encode())


def signal_name(number: int) -> str:
    """`SIGSEGV` for 11; the number where it has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def last_line(output: bytes) -> str:
    """The last line that is not blank: of a traceback, the one with the class and the message."""
    lines = [line.strip() for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1][:500] if lines else ""
