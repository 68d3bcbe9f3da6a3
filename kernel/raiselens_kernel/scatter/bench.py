"""Time the scatter against a same-size copy, sglang's launcher and plain torch, on a CUDA device.

    python -m raiselens_kernel.scatter.bench [--json FILE] [--plot FILE] [--sglang FILE] [--only TEXT] [--seed N]

Prints two Markdown tables, which `docs/benchmarks.md` holds as they are. Needs torch and Triton alone, and for the plot
matplotlib.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from raiselens_kernel.seeds import fresh_seed

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the bench; 2, with one line that says why, where there is nothing to run it on."""
    options = _options(arguments)
    missing = _missing("torch", "triton", *(["matplotlib"] if options.plot else []))
    if missing is not None:
        sys.stderr.write(f"bench: {missing}\n")
        return 2
    import torch

    from raiselens_kernel.scatter.measuring import measured, read_about
    from raiselens_kernel.scatter.tables import plot, tables
    from raiselens_kernel.scatter.workloads import all_workloads

    chosen = [workload for workload in all_workloads() if options.only in workload.name]
    if not chosen:
        names = "; ".join(workload.name for workload in all_workloads())
        sys.stderr.write(f"bench: no workload's name holds {options.only!r}; there are: {names}\n")
        return 2
    if not torch.cuda.is_available():
        sys.stderr.write(
            f"bench: it needs a CUDA device, and torch {torch.__version__} in {sys.executable} sees none\n"
        )
        return 2
    seed = fresh_seed() if options.seed is None else options.seed
    rows = list(measured(chosen, seed, sglang_file=options.sglang))
    about = read_about(seed)
    sys.stdout.write(tables(rows, about))
    if options.json is not None:
        shown = {
            "schema": 1,
            **asdict(about),
            "rows": [{**asdict(row), "share": row.share, "share_of_given_places": row.share_of_given} for row in rows],
        }
        options.json.write_text(json.dumps(shown, indent=1) + "\n", encoding="utf-8")
    if options.plot is not None:
        plot(rows, about, options.plot)
    return 0


def _missing(*packages: str) -> str | None:
    for package in packages:
        try:
            importlib.import_module(package)
        except Exception as error:  # noqa: BLE001 -- a broken installation raises anything
            lines = str(error).strip().splitlines() or [type(error).__name__]
            return f"it needs {package}, which {sys.executable} cannot import: {lines[0]}"
    return None


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m raiselens_kernel.scatter.bench", description="Time the scatter.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers with quartiles")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write the shares as a picture")
    parser.add_argument("--sglang", type=Path, metavar="FILE", help="sglang's scatter_req_token_ids.py")
    parser.add_argument("--only", default="", metavar="TEXT", help="only the workloads whose name holds TEXT")
    parser.add_argument("--seed", type=int, metavar="N", help="repeat an earlier run's inputs")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
