"""The results of a check in the format that was asked for."""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raiselens_server.cli.fixing import diff_lines
from raiselens_server.cli.options import open_catalog, record_in
from raiselens_server.cli.plan import STANDARD_INPUT
from raiselens_server.cli.pool import path_of
from raiselens_server.cli.terminal import tell, tell_lines
from raiselens_server.error import Foreseen, Severity
from raiselens_server.foresee import Statistics
from raiselens_server.present.github import annotation
from raiselens_server.present.objects import check_object, finding_object
from raiselens_server.present.sarif import sarif_log
from raiselens_server.present.styled import Style, line, plain
from raiselens_server.present.text import finding_text
from raiselens_server.source.files import Skipped, SourceError, read_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from raiselens_catalog import Record
    from raiselens_server.cli.fixing import Repaired
    from raiselens_server.cli.plan import Plan
    from raiselens_server.cli.pool import Outcome
    from raiselens_server.error import Diagnosis
    from raiselens_server.present.styled import Line


@dataclass(slots=True)
class Report:
    """A check that is done. With `diff` nothing was written, so the findings are those of the files as they are."""

    plan: Plan
    outcomes: list[Outcome]
    repaired: Repaired | None
    diff: bool
    statistics: bool
    seconds: float

    @property
    def findings(self) -> list[Diagnosis]:
        """The findings that are left, in the order of the files."""
        left = {} if self.repaired is None or self.diff else self.repaired.left
        return [item for outcome in self.outcomes for item in left.get(outcome.file, outcome.diagnoses)]

    @property
    def files(self) -> int:
        """Files read."""
        return sum(outcome.unreadable is None for outcome in self.outcomes)

    def skipped(self) -> list[Skipped]:
        """What could not be read, met or named."""
        unread = [Skipped(item.file, item.unreadable) for item in self.outcomes if item.unreadable is not None]
        return [*self.plan.skipped, *unread, *self.plan.refused]

    def totals(self) -> Statistics:
        """The statistics of all files."""
        total = Statistics()
        for outcome in self.outcomes:
            if outcome.statistics is not None:
                total.add(outcome.statistics)
        return total


def print_report(
    report: Report, form: str, *, emit: Callable[[Iterable[Line]], None], print_json: Callable[[Any], None]
) -> None:
    """Print a report as `form` says."""
    shown = _shown_paths(report.plan)
    if _prints_source(report, form):
        return
    match form:
        case "json":
            print_json(_json(report, shown))
        case "sarif":
            print_json(sarif_log(report.findings, shown, _records(report)))
        case "github":
            for diagnosis in report.findings:
                print(annotation(diagnosis, shown))
        case _:
            emit(_text(report, shown))


def _prints_source(report: Report, form: str) -> bool:
    """With `--fix -` the repaired source is the result, and stays the only thing on stdout, as editors expect."""
    job = next((job for job in report.plan.jobs if job.source is not None), None)
    if job is None or job.source is None or report.repaired is None or report.diff or form != "text":
        return False
    sys.stdout.write(report.repaired.after.get(job.file, job.source.text))
    for diagnosis in report.findings:
        tell_lines(plain(finding_text(diagnosis, _reader(report), _shown_paths(report.plan))).rstrip())
    return True


def _json(report: Report, shown: Callable[[str], str]) -> dict[str, Any]:
    value = check_object(
        [finding_object(diagnosis, shown) for diagnosis in report.findings],
        files=report.files,
        seconds=report.seconds,
        skipped=report.skipped(),
        statistics=report.totals() if report.statistics else None,
    )
    if report.repaired is not None:
        unwritten = [{"file": item.file, "reason": item.reason} for item in report.repaired.errors]
        value |= {"fixed": report.repaired.applied, "errors": unwritten}
        if report.diff:
            value |= {"diff": plain(diff_lines(report.repaired))}
        elif any(job.source is not None for job in report.plan.jobs):
            value |= {"source": next(iter(report.repaired.after.values()), None)}
    return value


def _records(report: Report) -> Callable[[Diagnosis], Record | None]:
    if not report.plan.groups:
        return lambda _: None
    group = report.plan.groups[0]
    return record_in(open_catalog(group.settings, group.catalogs))


def _text(report: Report, shown: Callable[[str], str]) -> Iterator[Line]:
    if report.diff and report.repaired is not None:
        yield from diff_lines(report.repaired)
        tell(
            f"Would apply {_count(report.repaired.applied, 'repair')} to {_count(len(report.repaired.after), 'file')}."
        )
        return
    read = _reader(report)
    for diagnosis in report.findings:
        yield from finding_text(diagnosis, read, shown)
    yield from _summary(report)
    if report.statistics:
        yield from _statistics(report.totals())


def _summary(report: Report) -> Iterator[Line]:
    findings = report.findings
    files = f"in {_count(report.files, 'file')}, {report.seconds:.2f} s"
    fixed = f"Applied {_count(report.repaired.applied, 'repair')}. " if report.repaired is not None else ""
    if not report.files:
        yield line("No file was checked.")
        return
    if not findings:
        yield line((Style.FIX, f"{fixed}Nothing will raise, as far as it can be seen: "), files)
        return
    errors = sum(_severity(diagnosis) is Severity.ERROR for diagnosis in findings)
    said = [_count(errors, "error")] if errors else []
    said += [_count(len(findings) - errors, "warning")] if len(findings) > errors else []
    yield line((Style.STRONG, f"{fixed}Found {' and '.join(said)}"), f" {files}.")
    fixable = sum(any(repair.safe for repair in diagnosis.repairs) for diagnosis in findings)
    if fixable and report.repaired is None:
        yield line(f"{fixable} can be repaired with --fix.")


def _statistics(total: Statistics) -> Iterator[Line]:
    yield line(f"calls {total.calls}, resolved {total.resolved}")
    yield line(f"guards reached {total.guards_reached}, decided {total.guards_decided}")
    for cause, number in total.undecided.most_common():
        yield line(f"  undecided, {cause}: {number}")


def _severity(diagnosis: Diagnosis) -> Severity:
    origin = diagnosis.error.origin
    return origin.severity if isinstance(origin, Foreseen) else Severity.ERROR


def _shown_paths(plan: Plan) -> Callable[[str], str]:
    """Paths as the user gave them; others as they are."""
    given = {str(Path(path_of(job)).absolute()): job.file for job in plan.jobs}

    def shown(file: str) -> str:
        return given.get(file) or given.get(str(Path(file).absolute())) or file

    return shown


def _reader(report: Report) -> Callable[[str], str | None]:
    texts = {path_of(job): job.source.text for job in report.plan.jobs if job.source is not None}

    @functools.cache
    def read(file: str) -> str | None:
        if file in texts or file == STANDARD_INPUT:
            return texts.get(file)
        try:
            return read_source(file).text
        except (OSError, SourceError):
            return None

    return read


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
