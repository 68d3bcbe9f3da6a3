"""Time the scatter against a same-size copy, sglang's launcher and plain torch, on a CUDA device.

    python -m raiselens_kernel.scatter.bench [--json FILE] [--plot FILE] [--sglang FILE] [--only TEXT] [--seed N]

Prints a Markdown table. Every column of device time comes from CUDA events over graph replays, but for plain torch
and the check of the inputs, which synchronise and so cannot be captured: theirs hold their host gaps too.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import triton

from raiselens_kernel.scatter.cases import ScatterInputs, check, draw
from raiselens_kernel.scatter.checking import check_scatter_inputs
from raiselens_kernel.scatter.launch import launch_scatter_req_token_ids_kernel
from raiselens_kernel.scatter.reference import scatter_req_token_ids_reference
from raiselens_kernel.scatter.rivals import compiled_index_put, index_put, sglang_launcher
from raiselens_kernel.scatter.timing import Microseconds, cold_time, device_times, eager_time, host_time
from raiselens_kernel.scatter.workloads import Workload, all_workloads, copies, launches
from raiselens_kernel.seeds import fresh_seed

if TYPE_CHECKING:
    from collections.abc import Callable

_SGLANG_MOST_REQUESTS = 511


@dataclass(frozen=True, slots=True)
class Row:
    """One workload's times; `None` for what could not be run."""

    name: str
    requests: int
    tokens: int
    ours: Microseconds
    copy: Microseconds
    cold: Microseconds
    cold_copy: Microseconds
    host: Microseconds
    check: Microseconds
    reference: Microseconds
    index_put: Microseconds | None
    compiled: Microseconds | None
    sglang: Microseconds | None
    sglang_host: Microseconds | None

    @property
    def share(self) -> float:
        """The copy's time over ours: 1 is the speed of memory."""
        return self.copy.median / self.ours.median


@triton.jit
def _empty_kernel(pointer):  # type: ignore[no-untyped-def]
    pass


def main() -> int:
    """Run the bench; 2 where there is no CUDA device."""
    options = _options()
    if not torch.cuda.is_available():
        sys.stderr.write("the bench needs a CUDA device, and torch sees none\n")
        return 2
    seed = fresh_seed() if options.seed is None else options.seed
    sglang = sglang_launcher(options.sglang)
    compiled = compiled_index_put()
    rows = []
    for workload in all_workloads():
        if options.only in workload.name:
            sys.stderr.write(f"timing: {workload.name}\n")
            rows.append(measure(workload, seed, sglang=sglang, compiled=compiled))
            torch.cuda.empty_cache()
    about = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "python": platform.python_version(),
        "seed": seed,
        "empty_kernel": asdict(_empty_kernel_time()),
    }
    sys.stdout.write(table(rows, about))
    if options.json is not None:
        shown = {"schema": 1, **about, "rows": [{**asdict(row), "share": row.share} for row in rows]}
        options.json.write_text(json.dumps(shown, indent=1) + "\n", encoding="utf-8")
    if options.plot is not None:
        plot(rows, str(about["device"]), options.plot)
    return 0


def measure(workload: Workload, seed: int, *, sglang: Callable[..., Any] | None, compiled: Callable[..., Any]) -> Row:
    """Time one workload; checks ours against the reference first."""
    inputs = workload.rotated(draw(seed, workload.name, torch.device("cuda")))
    wrong = check(inputs[0], launch_scatter_req_token_ids_kernel)
    if wrong is not None:
        message = f"{workload.name}: {wrong}"
        raise AssertionError(message)
    ours = launches(inputs, launch_scatter_req_token_ids_kernel)
    copied = copies(inputs)
    requests, tokens = int(inputs[0].req_pool_indices.shape[0]), int(inputs[0].flat_in.shape[0])
    clips = int((inputs[0].offsets[1:] - inputs[0].offsets[:-1]).max()) > int(inputs[0].pool_out.shape[1])
    ours_time, copy_time = device_times([ours, copied])
    takes = requests <= _SGLANG_MOST_REQUESTS
    return Row(
        workload.name,
        requests,
        tokens,
        ours=ours_time,
        copy=copy_time,
        cold=cold_time(ours[0]),
        cold_copy=cold_time(copied[0]),
        host=host_time(ours[0]),
        check=eager_time(launches(inputs[:1], check_scatter_inputs)[0]),
        reference=eager_time(launches(inputs[:1], scatter_req_token_ids_reference)[0]),
        index_put=None if clips else _if_possible(inputs, index_put),
        compiled=None if clips else _if_possible(inputs, compiled),
        sglang=_if_possible(inputs, sglang) if takes and sglang else None,
        sglang_host=host_time(launches(inputs[:1], sglang)[0]) if takes and sglang else None,
    )


def table(rows: list[Row], about: dict[str, Any]) -> str:
    """The rows as a Markdown table, medians in microseconds."""
    head = (
        "batch",
        "tokens",
        "sglang",
        "plain torch",
        "index_put_",
        "compiled",
        "ours (quartiles)",
        "copy",
        "share",
        "cold: ours",
        "copy",
        "host: ours",
        "sglang",
        "check",
    )
    conditions = (
        f"{about['device']}, torch {about['torch']}, Triton {about['triton']}, Python {about['python']}; "
        f"seed {about['seed']}; an empty kernel takes {about['empty_kernel']['median']:.2f} µs."
    )
    lines = [conditions, "", "| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    for row in rows:
        cells = (
            row.name,
            f"{row.tokens:,}",
            _shown(row.sglang),
            _shown(row.reference),
            _shown(row.index_put),
            _shown(row.compiled),
            f"{row.ours.median:,.2f} ({row.ours.lower:,.2f} to {row.ours.upper:,.2f})",
            _shown(row.copy),
            f"{row.share:.0%}",
            _shown(row.cold),
            _shown(row.cold_copy),
            _shown(row.host),
            _shown(row.sglang_host),
            _shown(row.check),
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def plot(rows: list[Row], device: str, file: Path) -> None:
    """Each workload's time over the copy's, as bars; needs matplotlib."""
    import matplotlib as mpl  # type: ignore[import-not-found]

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 0.45 * len(rows) + 1.5))
    names = [f"{row.name}\n{row.tokens:,} tokens" for row in rows]
    axes.barh(names, [row.share for row in rows], color="#3b6ea5")
    axes.axvline(1.0, color="#888888", linewidth=1)
    for place, row in enumerate(rows):
        axes.text(row.share + 0.01, place, f"{row.share:.0%}  {row.ours.median:,.1f} µs", va="center", fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.35)
    axes.set_xlabel("time of a same-size int64 to int32 copy / time of the scatter")
    axes.set_title(f"Scatter at the speed of memory, {device}")
    axes.tick_params(axis="y", labelsize=8)
    figure.tight_layout()
    figure.savefig(file, dpi=130)
    plt.close(figure)


def _if_possible(inputs: list[ScatterInputs], launch: Callable[..., Any]) -> Microseconds | None:
    try:
        return device_times([launches(inputs[:4], launch)], replays=11)[0]
    except Exception as error:  # noqa: BLE001 -- a rival that cannot run leaves its cell empty
        sys.stderr.write(f"  not measured: {type(error).__name__}: {str(error).splitlines()[0][:120]}\n")
        return None


def _empty_kernel_time() -> Microseconds:
    pointer = torch.empty(1, device="cuda")
    return device_times([[lambda: _empty_kernel[(1,)](pointer)] * 16])[0]


def _shown(time: Microseconds | None) -> str:
    if time is None:
        return "-"
    return f"{time.median:,.0f}" if time.median >= 1_000 else f"{time.median:,.2f}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m raiselens_kernel.scatter.bench", description="Time the scatter.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers with quartiles")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write the shares as a picture")
    parser.add_argument("--sglang", type=Path, metavar="FILE", help="sglang's scatter_req_token_ids.py")
    parser.add_argument("--only", default="", metavar="TEXT", help="only the workloads whose name holds TEXT")
    parser.add_argument("--seed", type=int, metavar="N", help="repeat an earlier run's inputs")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
