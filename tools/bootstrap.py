"""Set up a virtual environment with Raiselens in it, editable, and all that its checks and tests need.

python3 tools/bootstrap.py .venv
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

OLDEST = (3, 10)


def main() -> int:
    """Create or complete the environment named on the command line; one line says what each step does."""
    if sys.version_info < OLDEST:
        print(f"Raiselens needs Python 3.10 or newer; this is {sys.version.split()[0]}. Try: make PYTHON=python3.12")
        return 2
    target = Path(sys.argv[1])
    python = target / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        print(f"· creating {target} with Python {sys.version.split()[0]}", flush=True)
        venv.create(target, with_pip=True)
    steps = (
        ("updating pip", ["--upgrade", "pip>=25.1"]),
        (
            "installing Raiselens and what its tests run on (torch is the large one)",
            ["--editable", ".", "--group", "dev"],
        ),
    )
    for title, arguments in steps:
        print(f"· {title}", flush=True)
        done = subprocess.run([python, "-m", "pip", "install", "--quiet", *arguments], check=False)
        if done.returncode != 0:
            print(f"pip failed while {title}; its own lines are above", file=sys.stderr)
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
