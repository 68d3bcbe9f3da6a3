"""The one hall where both ways in meet: errors → records → repairs.

Foreseen errors come from `foresee`, observed ones from `read`; both leave as `Diagnosis`, and no surface asks which
way one came.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from typing_extensions import assert_never

from raiselens_catalog import How
from raiselens_server.error import Diagnosis, Foreseen, Observed, RecordMatch, Role
from raiselens_server.foresee import Project

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raiselens_catalog import Catalog
    from raiselens_server.error import Frame, Hole, Place, RaisedError, Repair
    from raiselens_server.foresee import Statistics
    from raiselens_server.read import Reading
    from raiselens_server.source.environment import Environment


@dataclass(frozen=True, slots=True)
class Checked:
    """The findings of one file."""

    file: str
    diagnoses: tuple[Diagnosis, ...]
    statistics: Statistics


def check(project: Project, catalog: Catalog, path: str, text: str | None = None, *, repairs: bool = True) -> Checked:
    """Foresee, match and repair the errors of one file. Raises OSError where it cannot be read."""
    report = project.check(path, text)
    diagnoses = tuple(
        Diagnosis(error, match_record(catalog, error), repairs_of(project, error) if repairs else ())
        for error in report.errors
    )
    return Checked(report.file, diagnoses, report.statistics)


def explain(project: Project | None, catalog: Catalog, errors: Sequence[RaisedError]) -> tuple[Diagnosis, ...]:
    """Match observed errors, and repair those whose frames lie in the project's files."""
    return tuple(
        Diagnosis(error, match_record(catalog, error), () if project is None else _repairs_of_observed(project, error))
        for error in errors
    )


def match_record(catalog: Catalog, error: RaisedError) -> RecordMatch | None:
    """The catalog's answer for one error. What a run has not printed yet is never matched by resemblance."""
    holes: tuple[Hole, ...] = ()
    match error.origin:
        case Foreseen() if not error.message:
            entry = catalog.match_guard(error.origin.callee, error.origin.condition)
            return None if entry is None else RecordMatch(entry.record.id, entry.record.slug, "exact")
        case Foreseen():
            holes = error.origin.holes
        case Observed():
            pass
        case _:
            assert_never(error.origin)
    candidates = catalog.match(error.class_name, error.message, frames=error.frames, holes=holes, limit=1)
    if not candidates or (isinstance(error.origin, Foreseen) and candidates[0].how is How.FUZZY):
        return None
    best = candidates[0]
    return RecordMatch(best.id, best.slug, best.how.value, dict(best.captures))


def finding_at(diagnoses: Sequence[Diagnosis], file: str, line: int) -> Diagnosis | None:
    """The finding that `line` of `file` belongs to: of its statement first, else one of its related places."""
    here = Path(file).absolute()

    def holds(place: Place) -> bool:
        return place.span.line <= line <= place.span.end_line and Path(place.file).absolute() == here

    foreseen = [(item, item.error.origin) for item in diagnoses if isinstance(item.error.origin, Foreseen)]
    for diagnosis, origin in foreseen:
        if holds(origin.place):
            return diagnosis
    for diagnosis, origin in foreseen:
        if any(holds(related.place) for related in origin.related):
            return diagnosis
    return None


def foreseen_twin(project: Project, error: RaisedError) -> RaisedError | None:
    """The finding that foresees an observed error: at the deepest of its frames that has one of its class.

    The run has proved the raise, so that what foreseeing knows of that statement (provenance, places) holds for it.
    """
    for frame in reversed(error.frames):
        if not Path(frame.file).is_file():
            continue
        try:
            report = project.check(frame.file)
        except OSError:
            continue
        for foreseen in report.errors:
            match foreseen.origin:
                case Foreseen(place=place) if place.span.line <= frame.line <= place.span.end_line:
                    if _same_class(foreseen.class_name, error.class_name):
                        return foreseen
                case _:
                    pass
    return None


def _same_class(left: str, right: str) -> bool:
    """Whether two class names agree; a traceback prints the module path, a source may not."""
    return left.rpartition(".")[2] == right.rpartition(".")[2]


def repairs_of(project: Project, error: RaisedError) -> tuple[Repair, ...]:
    """The repairs of one foreseen error, each re-checked on the edited text."""
    # Imported late: a log is explained without the repairs' own machinery.
    from raiselens_server.repair import repairs_for

    return repairs_for(project, error)


def _repairs_of_observed(project: Project, error: RaisedError) -> tuple[Repair, ...]:
    match error.origin:
        case Observed(role=Role.SUMMARY | Role.WARNING):
            return ()
        case _:
            pass
    twin = foreseen_twin(project, error)
    return () if twin is None else repairs_of(project, twin)


@dataclass(frozen=True, slots=True)
class Explained:
    """The errors of a text with their records; `primary` is the index of the one to look at first."""

    diagnoses: tuple[Diagnosis, ...]
    primary: int | None
    why: str = ""


class Explainer:
    """Explains readings for one workspace; keeps what it parsed between them."""

    def __init__(
        self, catalog: Catalog, environment: Environment, root: Path, path_map: tuple[tuple[str, str], ...] = ()
    ) -> None:
        """Frames are looked for as printed, then by `path_map` (there → here), then relative to `root`."""
        self.catalog = catalog
        self.environment = environment
        self.root = root
        self.path_map = path_map
        self.project = Project(environment, [str(root)])

    def explain_text(self, text: str) -> Explained:
        """Find the errors of a whole text, and explain them."""
        # Imported late: checking a file needs no reader of logs.
        from raiselens_server.read import read_text

        return self.explain(read_text(text))

    def explain(self, reading: Reading) -> Explained:
        """Match every error of `reading`, and repair those whose frames lie in files of this machine."""
        errors = [
            replace(error, frames=tuple(self._located(frame) for frame in error.frames)) for error in reading.errors
        ]
        return Explained(explain(self.project, self.catalog, errors), reading.primary, reading.why)

    def _located(self, frame: Frame) -> Frame:
        """The frame with its file's path on this machine, where there is such a file."""
        for candidate in self._candidates(frame.file):
            if candidate.is_file():
                return replace(frame, file=str(candidate))
        return frame

    def _candidates(self, file: str) -> list[Path]:
        # The longest prefix says most.
        mapped = sorted((pair for pair in self.path_map if file.startswith(pair[0])), key=lambda pair: -len(pair[0]))
        candidates = [Path(here + file[len(there) :]) for there, here in mapped]
        path = Path(file)
        return [*candidates, path if path.is_absolute() else self.root / path]
