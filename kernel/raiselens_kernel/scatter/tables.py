"""The bench's rows as Markdown tables and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from raiselens_kernel.scatter.measuring import About, Row
    from raiselens_kernel.scatter.timing import Microseconds

_DEVICE = (
    "batch",
    "tokens",
    "ours (quartiles)",
    "ours alone",
    "copy",
    "share",
    "places given",
    "`torch.compile`",
    "`index_put_`",
    "plain torch",
    "sglang",
)
_CALL = ("batch", "empty kernel", "cold: ours", "cold: copy", "host: ours", "host: sglang", "`checked=True` adds")


def tables(rows: Sequence[Row], about: About) -> str:
    """What the run was made on, then two tables: device times, and the costs of a call. Medians in microseconds."""
    conditions = (
        f"{about.device}, torch {about.torch}, Triton {about.triton}, Python {about.python}, seed {about.seed}."
    )
    device = _table(_DEVICE, (_device_cells(row) for row in rows))
    call = _table(_CALL, (_call_cells(row) for row in rows))
    return f"{conditions}\n\n{device}\n{call}"


def plot(rows: Sequence[Row], about: About, file: Path) -> None:
    """Each workload's share of the copy's speed as a bar, with what a kernel that is told all places reaches."""
    import matplotlib as mpl  # type: ignore[import-not-found]

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 0.45 * len(rows) + 1.5))
    names = [f"{row.name}\n{row.tokens:,} tokens" for row in rows]
    axes.barh(names, [row.share for row in rows], color="#3b6ea5", label="the scatter")
    axes.axvline(1.0, color="#888888", linewidth=1)
    for place, row in enumerate(rows):
        axes.text(row.share + 0.01, place, f"{row.share:.0%}  {_shown(row.ours)} µs", va="center", fontsize=8)
    told = [(row.copy.median / row.given.median, place) for place, row in enumerate(rows) if row.given is not None]
    if told:
        across, down = zip(*told, strict=True)
        axes.plot(across, down, "|", color="#c8553d", markersize=14, label="a kernel that is told every place")
    axes.invert_yaxis()
    axes.set_xlim(0, 1.6)
    axes.set_xlabel("time of a same-size int64 to int32 copy / time taken")
    axes.set_title(f"Scatter at the speed of memory, {about.device}")
    axes.tick_params(axis="y", labelsize=8)
    axes.legend(loc="lower right", fontsize=8)
    figure.tight_layout()
    figure.savefig(file, dpi=130)
    plt.close(figure)


def _device_cells(row: Row) -> tuple[str, ...]:
    return (
        row.name,
        f"{row.tokens:,}",
        f"{row.ours.median:,.2f} ({row.ours.lower:,.2f} to {row.ours.upper:,.2f})",
        _shown(row.alone),
        _shown(row.copy),
        f"**{row.share:.0%}**",
        _shown(row.given),
        _shown(row.compiled),
        _shown(row.index_put),
        _shown(row.reference),
        _shown(row.sglang),
    )


def _call_cells(row: Row) -> tuple[str, ...]:
    return (
        row.name,
        _shown(row.empty),
        _shown(row.cold),
        _shown(row.cold_copy),
        _shown(row.host),
        _shown(row.sglang_host),
        _shown(row.check),
    )


def _table(head: Sequence[str], lines: Iterator[Sequence[str]]) -> str:
    separator = "| --- |" + " ---: |" * (len(head) - 1)
    return "\n".join([f"| {' | '.join(head)} |", separator, *(f"| {' | '.join(cells)} |" for cells in lines)]) + "\n"


def _shown(time: Microseconds | None) -> str:
    if time is None:
        return "-"
    if time.median >= 1_000:
        return f"{time.median:,.0f}"
    return f"{time.median:.1f}" if time.median >= 100 else f"{time.median:.2f}"
