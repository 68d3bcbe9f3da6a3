"""Fetch the sources in a released wheel, to be read: unpacked, never installed and never committed."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

# A wheel is asked for by its own tags, so that it comes on any Python and any machine: it is only read.
PLATFORMS = ("manylinux_2_34_x86_64", "manylinux_2_31_x86_64", "manylinux_2_28_x86_64", "manylinux_2_17_x86_64")
TAGS = ("--python-version", "3.11", "--implementation", "cp", *(f"--platform={name}" for name in PLATFORMS))


def fetch(distribution: str, version: str, target: Path, *, megabytes: int, only_python: bool = False) -> bool:
    """Download and unpack a wheel into `target`; `.complete` in it marks that all of it is there.

    `only_python` leaves out what is neither Python nor metadata. One line on stderr tells why it could not be had.
    """
    with tempfile.TemporaryDirectory() as folder:
        print(f"· fetching the sources of {distribution} {version} ({megabytes} MB)", file=sys.stderr, flush=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", *TAGS]
        done = subprocess.run([*pip, "--dest", folder, f"{distribution}=={version}"], check=False)
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode != 0 or not wheels:
            print(f"{distribution} {version} could not be downloaded; pip's own lines are above", file=sys.stderr)
            return False
        shutil.rmtree(target, ignore_errors=True)
        with zipfile.ZipFile(wheels[0]) as wheel:
            names = [name for name in wheel.namelist() if not only_python or _is_read(name)]
            wheel.extractall(target, names)
    (target / ".complete").touch()
    return True


def _is_read(name: str) -> bool:
    return name.endswith((".py", ".pyi")) or name.partition("/")[0].endswith(".dist-info")
