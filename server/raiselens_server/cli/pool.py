"""Checking many files: in this process, or in several with the results in order all the same."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from raiselens_server.cli.failure import CommandError
from raiselens_server.cli.memory import Found, Memory, Uses, counts_of, full_path
from raiselens_server.cli.options import open_catalog
from raiselens_server.cli.plan import STANDARD_INPUT
from raiselens_server.diagnose import check, match_record
from raiselens_server.error import Diagnosis
from raiselens_server.foresee import Project, Statistics
from raiselens_server.source.files import SourceError, read_source
from raiselens_server.suppress import MARK, suppress

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raiselens_catalog import Catalog
    from raiselens_server.cli.plan import Group, Job
    from raiselens_server.config import Settings

FEWEST_FOR_PROCESSES = 64
"""Below this many files a second process costs more than it saves."""

CHUNK = 48
"""Files handed to a process at once: neighbours share imports, and the last chunks are short."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One file checked: its findings that the settings show, or why there are none.

    `found` is what a later check of the file may take as it is.
    """

    file: str
    diagnoses: tuple[Diagnosis, ...] = ()
    statistics: Statistics | None = None
    found: Found | None = None
    unreadable: str | None = None
    internal: str | None = None


class Checker:
    """The projects and catalogs of a plan's groups, opened when first needed."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self.groups = groups
        self._projects: dict[int, Project] = {}
        self._told: Uses = {}
        self._catalogs: dict[tuple[Path, ...], Catalog] = {}

    def project(self, number: int) -> Project:
        """The project of one group."""
        if number not in self._projects:
            group = self.groups[number]
            self._projects[number] = Project(group.environment, group.named)
        return self._projects[number]

    def catalog(self, number: int) -> Catalog:
        """The catalog of one group."""
        group = self.groups[number]
        key = (group.settings.root, *group.settings.catalogs, *group.catalogs)
        if key not in self._catalogs:
            self._catalogs[key] = open_catalog(group.settings, group.catalogs)
        return self._catalogs[key]

    def check(self, job: Job) -> Outcome:
        """Check one file; a fault of ours in it is told and leaves the other files alone."""
        try:
            source = read_source(job.file) if job.source is None else job.source
        except OSError as error:
            return Outcome(job.file, unreadable=error.strerror or str(error))
        except SourceError as error:
            return Outcome(job.file, unreadable=str(error))
        try:
            project = self.project(job.group)
            # What is not on disk as UTF-8 stands open while it is looked at, and in the files that import it.
            if job.source is not None or not source.is_plain:
                project.open(path_of(job), source.text)
            checked = check(project, self.catalog(job.group), path_of(job))
        except (OSError, CommandError):
            raise
        except Exception as error:
            if os.environ.get("RAISELENS_DEBUG"):
                raise
            return Outcome(job.file, internal=f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}")
        shown = visible_findings(self.groups[job.group].settings, path_of(job), source.text, checked.diagnoses)
        found = None
        if job.source is None and source.is_plain:
            found = Found(
                tuple(each.error for each in checked.diagnoses),
                tuple(each.repairs for each in checked.diagnoses),
                counts_of(checked.statistics),
                checked.alone,
                MARK in source.text,
            )
        return Outcome(job.file, shown, checked.statistics, found)

    def recall(self, job: Job, found: Found) -> Outcome:
        """What an earlier check found in a file, as this one shows it."""
        calls, resolved, reached, decided, undecided = found.counts
        statistics = Statistics(calls, resolved, reached, decided, Counter(undecided))
        if not found.errors and not found.marked:
            return Outcome(job.file, (), statistics)
        try:
            text = read_source(job.file).text
        except (OSError, SourceError):
            return self.check(job)
        diagnoses = tuple(
            Diagnosis(error, match_record(self.catalog(job.group), error), repairs)
            for error, repairs in zip(found.errors, found.repairs, strict=True)
        )
        shown = visible_findings(self.groups[job.group].settings, path_of(job), text, diagnoses)
        return Outcome(job.file, shown, statistics)

    def new_uses(self) -> Uses:
        """Which files looked into which since this was last asked."""
        new: Uses = {}
        for project in self._projects.values():
            for path, users in project.uses.items():
                told = self._told.setdefault(path, set())
                if len(users) > len(told):
                    new.setdefault(path, set()).update(users - told)
                    told |= users
        return new


def path_of(job: Job) -> str:
    """The path that foreseeing knows the file by; standard input without a name lies in the working folder."""
    return str(Path.cwd() / "stdin.py") if job.file == STANDARD_INPUT else job.file


def visible_findings(
    settings: Settings, file: str, text: str, diagnoses: tuple[Diagnosis, ...]
) -> tuple[Diagnosis, ...]:
    """The findings left by ignore comments and settings, in the order of their lines."""
    left = [item for item in suppress(text, file, diagnoses) if settings.shows(item, Path(file))]
    return tuple(sorted(left, key=_position))


def check_all(
    groups: Sequence[Group], jobs: Sequence[Job], processes: int | None, *, remember: bool = False
) -> Iterator[Outcome]:
    """Check every job, in order. Raises CommandError where a worker process died.

    `remember`: what an earlier check found is taken where it still stands, and this one's results are kept.
    """
    # Catalogs are opened once here, so that what is wrong with one is told once, before any work and also without any.
    checker = Checker(groups)
    for number in range(len(groups)):
        checker.catalog(number)
    memory = Memory.open(groups, jobs) if remember and all(job.source is None for job in jobs) else None
    if memory is None:
        yield from _check_all(checker, jobs, processes, {})
        return
    known = memory.found
    paths = [full_path(job) for job in jobs]
    waiting = [job for job, path in zip(jobs, paths, strict=True) if path not in known]
    uses: Uses = {}
    checked = _check_all(checker, waiting, processes, uses) if waiting else iter(())
    found: dict[str, Found] = {}
    whole = True
    for job, path in zip(jobs, paths, strict=True):
        outcome = checker.recall(job, known[path]) if path in known else next(checked)
        if outcome.found is not None:
            found[path] = outcome.found
        yield outcome
    for _ in checked:
        # The generator's end closes its processes.
        whole = False
    if whole and found:
        memory.keep(jobs, found, uses)


def _check_all(checker: Checker, jobs: Sequence[Job], processes: int | None, uses: Uses) -> Iterator[Outcome]:
    """Check every job, in order; which files look into which is added to `uses`."""
    count = min(processes or _cores(), max(1, len(jobs)))
    if processes is None and len(jobs) < FEWEST_FOR_PROCESSES:
        count = 1
    if count == 1:
        yield from map(checker.check, jobs)
        uses.update(checker.new_uses())
        return
    size = max(1, min(CHUNK, len(jobs) // (4 * count)))
    chunks = [jobs[start : start + size] for start in range(0, len(jobs), size)]
    context = multiprocessing.get_context("fork" if sys.platform.startswith("linux") else "spawn")
    with ProcessPoolExecutor(count, context, _start_worker, (checker.groups,)) as executor:
        try:
            for outcomes, new in executor.map(_check_chunk, chunks):
                for path, users in new.items():
                    uses.setdefault(path, set()).update(users)
                yield from outcomes
        except BrokenProcessPool as error:
            raise CommandError("check: a worker process died (out of memory?); try fewer with --jobs") from error
        except BaseException:
            for child in multiprocessing.active_children():
                child.terminate()
            raise


_worker: Checker | None = None


def _start_worker(groups: Sequence[Group]) -> None:
    """In a new process: an interrupt ends the parent, which ends this one; collecting garbage is not worth its time."""
    global _worker  # noqa: PLW0603 - a pool hands its state to the worker's calls through a global only
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()
    # What is wrong with a catalog was told by the parent.
    sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - held until the process ends
    _worker = Checker(groups)


def _check_chunk(jobs: Sequence[Job]) -> tuple[list[Outcome], Uses]:
    if _worker is None:
        raise RuntimeError("the pool did not start this process")
    return [_worker.check(job) for job in jobs], _worker.new_uses()


def _position(diagnosis: Diagnosis) -> tuple[int, int]:
    place = getattr(diagnosis.error.origin, "place", None)
    return (place.span.line, place.span.column) if place is not None else (0, 0)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
