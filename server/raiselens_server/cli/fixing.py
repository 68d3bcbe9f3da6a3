"""`--fix` and `--diff`: repairs applied to the files of a plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from raiselens_server.cli.pool import Checker, path_of, visible_findings
from raiselens_server.diagnose import check
from raiselens_server.fix import fix_texts
from raiselens_server.present.diffs import diff_rows
from raiselens_server.source.files import Skipped, SourceError, check_writable, read_source, write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raiselens_server.cli.plan import Job, Plan
    from raiselens_server.cli.pool import Outcome
    from raiselens_server.error import Diagnosis
    from raiselens_server.present.styled import Line
    from raiselens_server.source.files import Source


@dataclass(slots=True)
class Repaired:
    """What repairing came to: by file, the text before and after, and the findings that are left.

    `errors` are the files whose repairs could not be written.
    """

    before: dict[str, str] = field(default_factory=dict)
    after: dict[str, str] = field(default_factory=dict)
    left: dict[str, tuple[Diagnosis, ...]] = field(default_factory=dict)
    applied: int = 0
    errors: list[Skipped] = field(default_factory=list)


def repair_all(plan: Plan, outcomes: Sequence[Outcome], *, write: bool) -> Repaired:
    """Apply repairs to the files that have findings; with `write`, to the disk too.

    A file that cannot be read or written keeps its findings and is named in `errors`; the others are repaired.
    """
    total = Repaired()
    checker = Checker(plan.groups)
    with_findings = {outcome.file for outcome in outcomes if outcome.diagnoses}
    for number in range(len(plan.groups)):
        # Edits name files by their whole path.
        jobs = {
            str(Path(path_of(job)).absolute()): job
            for job in plan.jobs
            if job.group == number and job.file in with_findings
        }
        if jobs:
            _repair_group(checker, number, jobs, total, write=write)
    return total


def _repair_group(checker: Checker, number: int, jobs: dict[str, Job], total: Repaired, *, write: bool) -> None:
    project, catalog, settings = checker.project(number), checker.catalog(number), checker.groups[number].settings
    sources: dict[str, Source] = {}
    for path, job in jobs.items():
        try:
            sources[path] = read_source(path) if job.source is None else job.source
            if write and job.source is None:
                check_writable(path)
        except (OSError, SourceError) as error:
            sources.pop(path, None)
            total.errors.append(_unwritten(job, error))
    texts = {path: source.text for path, source in sources.items()}
    for path, text in texts.items():
        project.open(path, text)

    def findings(path: str) -> tuple[Diagnosis, ...]:
        return visible_findings(settings, path, texts[path], check(project, catalog, path).diagnoses)

    def replace(path: str, text: str) -> None:
        texts[path] = text
        project.open(path, text)

    fixed = fix_texts(dict(texts), findings, replace, unsafe=settings.unsafe_fixes)
    for path, text in fixed.changed.items():
        source, job = sources[path], jobs[path]
        if write and job.source is None:
            try:
                write_atomically(path, source.encoded(text))
            except (OSError, UnicodeEncodeError) as error:
                total.errors.append(_unwritten(job, error))
                fixed.left.pop(path, None)
                continue
        total.before[job.file], total.after[job.file] = source.text, text
    total.left |= {jobs[path].file: found for path, found in fixed.left.items()}
    total.applied += fixed.applied


def _unwritten(job: Job, error: Exception) -> Skipped:
    match error:
        case OSError(strerror=str() as reason):
            return Skipped(job.file, f"cannot be repaired: {reason}")
        case UnicodeEncodeError(encoding=encoding):
            return Skipped(job.file, f"cannot be repaired: the edit holds what {encoding} cannot write")
        case _:
            return Skipped(job.file, f"cannot be repaired: {error}")


def diff_lines(repaired: Repaired) -> Iterator[Line]:
    """A unified diff of all changes."""
    for file, after in repaired.after.items():
        yield from diff_rows(file, repaired.before[file], after)
