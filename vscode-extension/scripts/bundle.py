# ruff: noqa: INP001, T201 - a script that talks to the person who runs make
"""Put the server and everything that it imports into `bundled/`, for one platform and all Pythons it supports.

python bundle.py TARGET    with TARGET one of vsce's, such as linux-x64

    bundled/launch.py      what the extension starts
    bundled/raiselens/     the packages of this repository, as their wheel has them
    bundled/shared/        dependencies that fit every Python
    bundled/cp310 … cp314  dependencies with native modules, for one Python each

Dependencies are those of `requirements.txt`, by version and hash, so that one commit gives one result:

    uv pip compile pyproject.toml --universal --fork-strategy fewest --python-version 3.10 --generate-hashes \
        --no-header --no-annotate -o vscode-extension/requirements.txt
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

EXTENSION = Path(__file__).resolve().parent.parent
REPOSITORY = EXTENSION.parent
BUNDLED = EXTENSION / "bundled"
CACHE = REPOSITORY / ".cache" / "wheels"

PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")

# The oldest systems that VS Code runs on; pip takes wheels for these and for older ones that are named.
PLATFORMS = {
    "linux-x64": ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64", "manylinux_2_5_x86_64"),
    "linux-arm64": ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"),
    "alpine-x64": ("musllinux_1_2_x86_64", "musllinux_1_1_x86_64"),
    "alpine-arm64": ("musllinux_1_2_aarch64", "musllinux_1_1_aarch64"),
    "darwin-x64": ("macosx_11_0_x86_64", "macosx_10_13_x86_64", "macosx_10_12_x86_64", "macosx_10_9_x86_64"),
    "darwin-arm64": ("macosx_11_0_arm64",),
    "win32-x64": ("win_amd64",),
    "win32-arm64": ("win_arm64",),
}

# Of a wheel's metadata only what names the package and its license is of use in here.
_METADATA = re.compile(r"[^/]+\.dist-info/(?!METADATA$|licenses/|LICEN[CS]E|COPYING|NOTICE|AUTHORS)")
_LEFT_OUT = re.compile(r"(^|/)(tests?|__pycache__)/|\.(pyc|pyi|c|h)$|/py\.typed$")


def main() -> int:
    """Fill `bundled/`; the exit code."""
    target = sys.argv[1] if len(sys.argv) == 2 else ""
    if target not in PLATFORMS:
        print(f"usage: bundle.py TARGET, one of {', '.join(PLATFORMS)}", file=sys.stderr)
        return 2
    shutil.rmtree(BUNDLED, ignore_errors=True)
    BUNDLED.mkdir()
    shutil.copyfile(EXTENSION / "scripts" / "launch.py", BUNDLED / "launch.py")
    _unpack(_own_wheel(), BUNDLED / "raiselens")
    for python in PYTHONS:
        for wheel in _wheels(target, python):
            fits_all = wheel.stem.endswith("-any") or "-abi3-" in wheel.stem
            _unpack(wheel, BUNDLED / ("shared" if fits_all else f"cp{python.replace('.', '')}"))
    return 0


def _own_wheel() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="raiselens-wheel-"))
    _pip("wheel", "--no-deps", "--wheel-dir", str(folder), str(REPOSITORY))
    return next(folder.glob("raiselens-*.whl"))


def _wheels(target: str, python: str) -> list[Path]:
    """The wheels of all dependencies; downloaded once."""
    folder = CACHE / f"{target}-{python}"
    listing = folder / "requirements.txt"
    wanted = _requirements(python)
    if not listing.is_file() or listing.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        asked = folder / "asked.txt"
        asked.write_text(wanted)
        platforms = [flag for platform in PLATFORMS[target] for flag in ("--platform", platform)]
        abis = [flag for abi in (f"cp{python.replace('.', '')}", "abi3", "none") for flag in ("--abi", abi)]
        selection = ["--only-binary=:all:", "--no-deps", "--python-version", python, *platforms, *abis]
        _pip("download", "--require-hashes", *selection, "--dest", str(folder), "-r", str(asked))
        asked.rename(listing)
    return sorted(folder.glob("*.whl"))


def _requirements(python: str) -> str:
    """The pinned dependencies of one Python. pip would judge markers by the Python that runs it, so none are left."""
    text = (EXTENSION / "requirements.txt").read_text(encoding="utf-8")
    chosen = []
    for requirement in re.split(r"\n(?=\S)", text.strip()):
        marker = re.search(r" ; python_full_version < '3\.(\d+)'", requirement)
        if marker is None:
            chosen.append(requirement)
        elif int(python.removeprefix("3.")) < int(marker[1]):
            chosen.append(requirement.replace(marker[0], ""))
    return "\n".join(chosen) + "\n"


def _unpack(wheel: Path, folder: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not name.endswith("/") and not _METADATA.match(name) and not _LEFT_OUT.search(name):
                archive.extract(name, folder)


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "-qq", "--disable-pip-version-check", *arguments]
    subprocess.run(command, check=True)


if __name__ == "__main__":
    sys.exit(main())
