"""Matching and mining: one message against every template of sglang, torch and triton, and what it costs to mine them.

Where `make nightly` has unpacked transformers and vllm, theirs are among them.

Run alone (`pytest -s tests/bench/test_match_speed.py`) it prints the figures; nothing here asserts a time. All are
processor times of one run on one core; the ratios, to a loop of compiled regexes and to `ast` on the same files, are
what may be compared.
"""

from __future__ import annotations

import ast
import random
import re
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from raiselens_catalog import Catalog
from raiselens_catalog.build import Report, build

if TYPE_CHECKING:
    from collections.abc import Callable

CACHE = Path(__file__).parents[2] / ".cache"
UNPACKED = ("transformers", "vllm")
MESSAGES = 2000
LOOPED = 20
"""Messages that the loop of regexes is given: it takes milliseconds for each."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("catalog")


@pytest.fixture(scope="module")
def built(folder: Path, sglang_root: Path) -> Report:
    """sglang alone: what `baseline` reads too."""
    return mined([str(sglang_root)], folder / "built.sqlite", "python")


def mined(targets: list[str], output: Path, *languages: str) -> Report:
    search_path = [Path(path) for path in sys.path if path.endswith("site-packages")]
    return build(targets, output=output, languages=languages, search_path=search_path)


def seconds(action: Callable[[], object]) -> float:
    begin = time.process_time()
    action()
    return time.process_time() - begin


def resident() -> float:
    """MiB of memory that this process holds; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * 4096 / 2**20


def baseline(root: Path) -> int:
    """Count the raises and asserts of all files, by Python's own parser."""
    count = 0
    for path in root.rglob("*.py"):
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            continue
        count += sum(isinstance(node, (ast.Raise, ast.Assert)) for node in ast.walk(tree))
    return count


@pytest.mark.sglang
def test_mining(built: Report, folder: Path, sglang_root: Path):
    again = seconds(lambda: mined([str(sglang_root)], folder / "again.sqlite", "python"))
    counted = seconds(lambda: baseline(sglang_root))
    print(
        f"\nmining {built.files} files, {built.records} records: {again:.1f} s of processor, ast counts in {counted:.1f} s"
    )
    print(f"  ratio {again / counted:.2f}; {built.stubs} stubs among it")
    assert built.raises > 13_000


@pytest.mark.sglang
def test_matching(built: Report, folder: Path):
    unpacked = [str(found) for name in UNPACKED for found in sorted(CACHE.glob(f"{name}-*"))]
    report = mined(["torch", "triton", *unpacked], folder / "built.sqlite", "python", "cpp")
    catalog = Catalog.open(data_dir=folder)
    entries = [entry for entry in catalog.entries() if entry.template is not None and entry.template.weight >= 12]
    chooser = random.Random(0)  # noqa: S311
    messages = []
    for entry in chooser.sample(entries, MESSAGES):
        values = (str(chooser.randrange(10**6)) for _ in iter(int, 1))
        parts = [part if isinstance(part, str) else next(values) for part in entry.template.parts]
        messages.append((entry.record.error_class or "", "".join(parts), entry.record.id))

    def first() -> None:
        Catalog.open(data_dir=folder).match(*messages[0][:2])

    # Memory of a serving process, before and after all that matching loads.
    before = resident()
    opened = seconds(first)
    grown = resident() - before
    times = [seconds(lambda one=one: catalog.match(one[0], one[1])) for one in messages]
    ranked = [(catalog.match(name, text, limit=len(entries)), record) for name, text, record in messages]
    best = [[found for found in candidates if found.rank == 0] for candidates, _ in ranked]
    found = sum(any(one.id == record for one in ones) for ones, (_, record) in zip(best, ranked, strict=True))
    # A person's record of the same words stands before the one that a miner made of them.
    told = sum(bool(ones) and not ones[0].entry.mined for ones in best)
    alone = sum(len(ones) == 1 for ones in best)
    patterns = [re.compile(entry.template.pattern, re.DOTALL) for entry in entries]
    looped = statistics.median(
        seconds(lambda text=text: [pattern.fullmatch(text) for pattern in patterns]) for _, text, _ in messages[:LOOPED]
    )
    median = statistics.median(times)
    print(f"\n{built.records + report.records} mined records, {len(patterns)} of them told by their text")
    print(f"  a match {median * 1e6:.0f} µs (median of {MESSAGES}), the loop of regexes {looped * 1e6:.0f} µs")
    print(f"  ratio 1 : {looped / median:.0f}; first match after opening {opened * 1e3:.0f} ms, {grown:.0f} MiB more")
    print(
        f"  {found} of {MESSAGES} messages find their record at the first rank, {alone} of {MESSAGES} one record alone"
    )
    print(f"  {told} have a curated record at the first rank; of {len(entries)} records with 12 literal characters")
    assert found >= 0.99 * MESSAGES
