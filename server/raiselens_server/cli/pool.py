"""Checking many files: in this process, or in several with the results in order all the same."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from raiselens_server.cli.failure import CommandError
from raiselens_server.cli.options import open_catalog
from raiselens_server.cli.plan import STANDARD_INPUT
from raiselens_server.diagnose import check
from raiselens_server.foresee import Project, Statistics
from raiselens_server.source.files import SourceError, read_source
from raiselens_server.suppress import suppress

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raiselens_catalog import Catalog
    from raiselens_server.cli.plan import Group, Job
    from raiselens_server.config import Settings
    from raiselens_server.error import Diagnosis

FEWEST_FOR_PROCESSES = 64
"""Below this many files a second process costs more than it saves."""

CHUNK = 48
"""Files handed to a process at once: neighbours share imports, and the last chunks are short."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One file checked: its findings that the settings show, or why there are none."""

    file: str
    diagnoses: tuple[Diagnosis, ...] = ()
    statistics: Statistics | None = None
    unreadable: str | None = None
    internal: str | None = None


class Checker:
    """The projects and catalogs of a plan's groups, opened when first needed."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self.groups = groups
        self._projects: dict[int, Project] = {}
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
        return Outcome(job.file, shown, checked.statistics)


def path_of(job: Job) -> str:
    """The path that foreseeing knows the file by; standard input without a name lies in the working folder."""
    return str(Path.cwd() / "stdin.py") if job.file == STANDARD_INPUT else job.file


def visible_findings(
    settings: Settings, file: str, text: str, diagnoses: tuple[Diagnosis, ...]
) -> tuple[Diagnosis, ...]:
    """The findings left by ignore comments and settings, in the order of their lines."""
    left = [item for item in suppress(text, file, diagnoses) if settings.shows(item, Path(file))]
    return tuple(sorted(left, key=_position))


def check_all(groups: Sequence[Group], jobs: Sequence[Job], processes: int | None) -> Iterator[Outcome]:
    """Check every job, in order. Raises CommandError where a worker process died."""
    count = min(processes or _cores(), max(1, len(jobs)))
    if processes is None and len(jobs) < FEWEST_FOR_PROCESSES:
        count = 1
    # Catalogs are opened once here, so that what is wrong with one is told once and before any work.
    checker = Checker(groups)
    for number in range(len(groups)):
        checker.catalog(number)
    if count == 1:
        yield from map(checker.check, jobs)
        return
    size = max(1, min(CHUNK, len(jobs) // (4 * count)))
    chunks = [jobs[start : start + size] for start in range(0, len(jobs), size)]
    context = multiprocessing.get_context("fork" if sys.platform.startswith("linux") else "spawn")
    with ProcessPoolExecutor(count, context, _start_worker, (groups,)) as executor:
        try:
            for outcomes in executor.map(_check_chunk, chunks):
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


def _check_chunk(jobs: Sequence[Job]) -> list[Outcome]:
    if _worker is None:
        raise RuntimeError("the pool did not start this process")
    return [_worker.check(job) for job in jobs]


def _position(diagnosis: Diagnosis) -> tuple[int, int]:
    place = getattr(diagnosis.error.origin, "place", None)
    return (place.span.line, place.span.column) if place is not None else (0, 0)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
