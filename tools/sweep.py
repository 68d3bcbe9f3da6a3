"""Check whole released libraries: whatever is found there must be a fault that was run and is listed.

python tools/sweep.py [--all] [--jobs N] [LIBRARY…]      (default: sglang and torch)

Each library is checked cold, every file of it, with the others on the path as far as they were fetched. Prints for each the files, the findings
(known, new, lost), the guards decided, those undecided by cause, and the seconds; progress goes to stderr. Exit code 0
where all that was found is in docs/findings.json and all that is listed was found, 1 where not, 2 where a library
could not be checked.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fetch_wheel import fetch

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"
LISTED = ROOT / "docs" / "findings.json"
CAUSES_SHOWN = 12

Place = tuple[str, int, str]
"""File relative to the library's root, line, rule."""


@dataclass(frozen=True, slots=True)
class Library:
    """A released library, as a wheel of `megabytes` MB; `package` is its folder in the wheel."""

    package: str
    version: str
    megabytes: int = 0

    @property
    def title(self) -> str:
        """As docs/findings.json names it."""
        return f"{self.package} {self.version}"

    def root(self, *, wanted: bool) -> Path | None:
        """The folder that holds the package, fetched if it is `wanted`; None where it cannot be had."""
        if not self.megabytes:
            return _installed(self.package, wanted=wanted)
        target = CACHE / f"{self.package}-{self.version}"
        if (target / ".complete").is_file():
            return target
        # sglang's sources are read by the tests too, which want all of it.
        had = wanted and fetch(
            self.package, self.version, target, megabytes=self.megabytes, only_python=self.package != "sglang"
        )
        return target if had else None


LIBRARIES = (
    Library("sglang", "0.5.23", 39),
    Library("torch", "2.13.0"),
    Library("vllm", "0.33.0", 336),
    Library("transformers", "5.24.0", 11),
    Library("diffusers", "0.42.1", 6),
    Library("accelerate", "1.15.0", 1),
)
USUAL = ("sglang", "torch")


@dataclass(slots=True)
class Swept:
    """What `check` said of one library. `problem` says why it does not count."""

    library: Library
    files: int = 0
    seconds: float = 0.0
    findings: dict[Place, dict[str, Any]] = field(default_factory=dict)
    statistics: dict[str, Any] = field(default_factory=dict)
    problem: str | None = None


def main() -> int:
    """Sweep the libraries named on the command line and compare with the list."""
    options = _options()
    chosen = [library for library in LIBRARIES if options.all or library.package in (options.libraries or USUAL)]
    roots = {lib: root for lib in LIBRARIES if (root := lib.root(wanted=lib in chosen)) is not None}
    listed = _listed({library.title for library in roots})
    checked = [library for library in chosen if library in roots]
    worst = 0 if len(checked) == len(chosen) else 2
    decided = 0
    for library in checked:
        swept = _sweep(library, roots, options.jobs)
        worst = max(worst, _report(swept, listed))
        decided += swept.statistics.get("guards_decided", 0)
    print(f"{decided:,} guards decided in all")
    return worst


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="sweep.py", description=(__doc__ or "").splitlines()[0])
    names = [library.package for library in LIBRARIES]
    parser.add_argument("libraries", nargs="*", metavar="LIBRARY", help=", ".join(names))
    parser.add_argument("--all", action="store_true", help="all of them (vllm's wheel alone is 336 MB)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes for each check")
    options = parser.parse_args()
    unknown = set(options.libraries) - set(names)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))} (known: {', '.join(names)})")
    return options


def _listed(there: set[str]) -> dict[str, set[Place]]:
    """By library, the findings that were proved by running; those between libraries where both are there."""
    places: dict[str, set[Place]] = {}
    for item in json.loads(LISTED.read_text(encoding="utf-8")):
        if there.issuperset(item.get("beside", ())):
            places.setdefault(item["library"], set()).add((item["file"], item["line"], item["rule"]))
    return places


def _installed(package: str, *, wanted: bool) -> Path | None:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        if wanted:
            print(f"{package} is not installed in {sys.prefix}: run `make sync`", file=sys.stderr)
        return None
    return Path(spec.origin).parent.parent


def _sweep(library: Library, roots: dict[Library, Path], jobs: int) -> Swept:
    """Check one library, with nothing kept from runs before, and the other libraries' folders as import paths."""
    root = roots[library]
    package = root / library.package
    there = sum(1 for _ in package.rglob("*.py"))
    print(f"· {library.title}: {there:,} files, {jobs} processes", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "raiselens_server.cli.main", "check", str(package), "--python", sys.executable]
    command += ["--format", "json", "--statistics", "--jobs", str(jobs)]
    for other in roots.values():
        command += ["--extra-path", str(other)]
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as data:
        environment = {**os.environ, "RAISELENS_DATA": data}
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env=environment)
    swept = Swept(library, seconds=time.perf_counter() - began)
    try:
        result = json.loads(done.stdout)
    except ValueError:
        swept.problem = f"check ended with code {done.returncode} and no result"
        return swept
    swept.files, swept.statistics = result["files"], result["statistics"]
    for finding in result["findings"]:
        file = Path(finding["file"]).relative_to(root).as_posix()
        swept.findings[file, finding["line"], finding["rule"]] = finding
    if done.returncode not in {0, 1}:
        swept.problem = f"check ended with code {done.returncode}"
    elif swept.files != there:
        swept.problem = f"{there - swept.files} of its files were not read"
    return swept


def _report(swept: Swept, listed: dict[str, set[Place]]) -> int:
    """Print what was found of one library; the exit code it deserves."""
    title = swept.library.title
    known = listed.get(title, set())
    new, lost = sorted(swept.findings.keys() - known), sorted(known - swept.findings.keys())
    statistics = swept.statistics
    print(f"{title}: {swept.files:,} files, {len(swept.findings)} findings, {swept.seconds:.1f} s")
    print(f"  {len(known) - len(lost)} known and run (docs/findings.md), {len(new)} new, {len(lost)} lost")
    if statistics:
        print(f"  {statistics['guards_decided']:,} guards decided of {statistics['guards_reached']:,} reached")
        causes = Counter(statistics["undecided"])
        shown = ", ".join(f"{cause} {count:,}" for cause, count in causes.most_common(CAUSES_SHOWN))
        rest = causes.total() - sum(count for _, count in causes.most_common(CAUSES_SHOWN))
        print(f"  undecided: {shown}, others {rest:,}")
    for place in new:
        finding = swept.findings[place]
        print(f"  new   {place[0]}:{place[1]} {place[2]} {finding['class']}: {finding['message']}")
    for place in lost:
        print(f"  lost  {place[0]}:{place[1]} {place[2]}")
    if swept.problem is not None:
        print(f"  {swept.problem}", flush=True)
        return 2
    sys.stdout.flush()
    return 1 if new or lost else 0


if __name__ == "__main__":
    sys.exit(main())
