"""Fetch the sources that the real-input tests read: sglang's wheel, unpacked, never installed and never committed.

python tools/fetch_sglang.py .cache/sglang-0.5.23
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

VERSION = "0.5.23"
# The wheel is asked for by its own tags, so that it comes on any Python and any machine: it is only read.
TAGS = ("--python-version", "3.11", "--implementation", "cp", "--platform", "manylinux_2_34_x86_64")


def main() -> int:
    """Download and unpack into the folder named on the command line; `.complete` marks that all of it is there."""
    target = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        print(f"· fetching the sources of sglang {VERSION} (39 MB)", flush=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", *TAGS]
        done = subprocess.run([*pip, "--dest", folder, f"sglang=={VERSION}"], check=False)
        wheels = list(Path(folder).glob("sglang-*.whl"))
        if done.returncode != 0 or not wheels:
            print(f"sglang {VERSION} could not be downloaded; pip's own lines are above", file=sys.stderr)
            return 1
        shutil.rmtree(target, ignore_errors=True)
        with zipfile.ZipFile(wheels[0]) as wheel:
            wheel.extractall(target)
    (target / ".complete").touch()
    return 0


if __name__ == "__main__":
    sys.exit(main())
