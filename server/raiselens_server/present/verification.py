"""A verification for people: what was run before and after, on what, and how it went."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raiselens_server.present.styled import Style, line, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raiselens_server.present.styled import Line
    from raiselens_server.verify import After, Before, Timing, VerifyReport


def report_text(report: VerifyReport) -> Iterator[Line]:
    """The report in a few lines."""
    yield line((Style.STRONG, _headline(report)), f": {report.summary}")
    for name in report.target:
        yield line((Style.GUTTER, "  ran "), visible(name))
    yield from _before(report.before)
    yield from _after(report)
    yield from _scatter(report.scatter)
    yield from _timing(report.timing)
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    yield line((Style.FAINT, f"  on {report.device_name}; {versions}"))
    for note in report.notes:
        yield line((Style.NOTE, "  note: "), visible(note))


def _headline(report: VerifyReport) -> str:
    if not report.ok:
        return "Not as it should be"
    # Where nothing repaired was run, only the error is proven.
    return "The error is verified" if report.after is None else "Verified"


def _before(before: Before | None) -> Iterator[Line]:
    if before is None:
        return
    mark = _mark(ok=before.as_predicted)
    if not before.class_name:
        yield line(mark, "before: ran without raising, which was not foreseen")
        return
    agrees = "as foreseen" if before.as_predicted else "which was not foreseen"
    yield line(mark, f"before: raised {agrees}")
    message = f": {visible(before.message)}" if before.message else ""
    yield line((Style.FAINT, f"      {before.class_name}{message}"))


def _after(report: VerifyReport) -> Iterator[Line]:
    after = report.after
    # Where the scatter's own cases are all that was asked for, they have their line.
    if after is None or report.repair is None:
        return
    yield line(_mark(ok=after.ok), f"after: {_result(after)}")
    yield line((Style.FAINT, f"      {visible(report.repair)}"))
    if after.worst is not None:
        yield line((Style.FAINT, f"      {visible(after.worst)}"))


def _scatter(scatter: After | None) -> Iterator[Line]:
    if scatter is None:
        return
    yield line(_mark(ok=scatter.ok), f"bundled scatter: {_result(scatter)}")
    if scatter.worst is not None:
        yield line((Style.FAINT, f"      {visible(scatter.worst)}"))


def _result(after: After) -> str:
    if not after.compared:
        return "ran; there is no reference to compare with" if after.ok else "did not run"
    cases = f"{after.cases} case{'' if after.cases == 1 else 's'}"
    result = "equal to the reference on every element" if after.mismatches == 0 else f"{after.mismatches} mismatches"
    return f"{cases}, {result}"


def _timing(timing: Timing | None) -> Iterator[Line]:
    if timing is not None:
        share = f"{timing.share:.0%} of a copy of the same tokens ({timing.copy_us:.1f} µs)"
        yield line(f"  {timing.us:.1f} µs on the device, {share}; one call costs the host {timing.launch_us:.1f} µs")


def _mark(*, ok: bool) -> tuple[Style, str]:
    return (Style.FIX, "  ✓ ") if ok else (Style.ERROR, "  ✗ ")
