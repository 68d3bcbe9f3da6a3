"""The one hall where both ways in meet: errors → records → repairs.

Foreseen errors come from `foresee`, observed ones from `read`; both leave as `Diagnosis`, and no surface asks which
way one came.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from typing_extensions import assert_never

from raiselens_catalog import How
from raiselens_server.agree import line_here, says_the_same
from raiselens_server.error import Diagnosis, Foreseen, Observed, RecordMatch, Role
from raiselens_server.foresee import Project

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raiselens_catalog import Candidate, Catalog, Entry
    from raiselens_catalog.memory import MemorySource
    from raiselens_server.error import Frame, Place, RaisedError, Repair
    from raiselens_server.foresee import Statistics
    from raiselens_server.read import Reading
    from raiselens_server.source.environment import Environment


@dataclass(frozen=True, slots=True)
class Checked:
    """The findings of one file. `alone` as in `FileReport`."""

    file: str
    diagnoses: tuple[Diagnosis, ...]
    statistics: Statistics
    alone: bool


def check(project: Project, catalog: Catalog, path: str, text: str | None = None, *, repairs: bool = True) -> Checked:
    """Foresee, match and repair the errors of one file. Raises OSError where it cannot be read."""
    report = project.check(path, text)
    diagnoses = tuple(
        Diagnosis(error, match_record(catalog, error), repairs_of(project, error) if repairs else ())
        for error in report.errors
    )
    return Checked(report.file, diagnoses, report.statistics, report.alone)


def match_record(catalog: Catalog, error: RaisedError) -> RecordMatch | None:
    """The catalog's answer for one error. What a run has not printed yet is never matched by resemblance."""
    match error.origin:
        case Foreseen() if not error.message:
            entry = catalog.match_guard(error.origin.callee, error.origin.condition)
            return None if entry is None else RecordMatch(entry.record.id, entry.record.slug, "exact")
        case Foreseen(holes=holes):
            found = catalog.match(error.class_name, error.message, frames=error.frames, holes=holes, limit=1)
            return _record_match(found[0]) if found and found[0].how is not How.FUZZY else None
        case Observed():
            found = catalog.match(error.class_name, error.message, frames=error.frames, limit=1)
            return _record_match(found[0]) if found else None
        case _:
            assert_never(error.origin)


def _record_match(candidate: Candidate) -> RecordMatch:
    return RecordMatch(candidate.id, candidate.slug, candidate.how.value, dict(candidate.captures))


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


def repairs_of(project: Project, error: RaisedError) -> tuple[Repair, ...]:
    """The repairs of one foreseen error, each re-checked on the edited text."""
    # Imported late: a log is explained without the repairs' own machinery.
    from raiselens_server.repair import repairs_for

    return repairs_for(project, error)


@dataclass(frozen=True, slots=True)
class Explained:
    """The errors of a text with their records; `primary` is the index of the one to look at first.

    `local` are the files of frames that are on this machine, by the name that was printed; `own` the printed names of
    those that are the user's to change.
    """

    diagnoses: tuple[Diagnosis, ...]
    primary: int | None
    why: str = ""
    local: Mapping[str, str] = field(default_factory=dict)
    own: frozenset[str] = frozenset()


class Explainer:
    """Explains readings for one workspace; keeps what it parsed between them."""

    def __init__(
        self, catalog: Catalog, environment: Environment, root: Path, path_map: tuple[tuple[str, str], ...] = ()
    ) -> None:
        """Frames are looked for by `path_map` (there → here), as printed, in the libraries, and by the end of their path."""
        from raiselens_server.read.paths import PathMap, Places

        self.catalog = catalog
        self.environment = environment
        self.project = Project(environment, [str(root)])
        self._root = str(root.absolute())
        maps = tuple(PathMap(there.rstrip("/") or "/", here) for there, here in path_map)
        home = str(Path.home()) if os.environ.get("HOME") else ""
        self._places = Places(maps, (self._root,), environment.search_path, home)
        self._mined: dict[str, MemorySource] = {}
        self._entries: dict[str, Entry] = {}

    def explain_text(self, text: str) -> Explained:
        """Find the errors of a whole text, and explain them."""
        # Imported late: checking a file needs no reader of logs.
        from raiselens_server.read import read_text

        return self.explain(read_text(text))

    def explain(self, reading: Reading) -> Explained:
        """Match every error of `reading`, and repair those whose frames lie in files of the workspace."""
        from raiselens_server.read.paths import is_library

        frames: dict[str, list[Frame]] = {}
        for error in reading.errors:
            for frame in error.frames:
                frames.setdefault(frame.file, []).append(frame)
        found = {file: self._locate(file, printed) for file, printed in frames.items()}
        local = {file: path for file, path in found.items() if path is not None}
        own = frozenset(
            file for file in frames if (self._is_users(local[file]) if file in local else not is_library(file))
        )
        diagnoses = tuple(self._diagnosis(error, local) for error in reading.errors)
        return Explained(diagnoses, reading.primary, reading.why, local, own)

    def _locate(self, file: str, printed: Sequence[Frame]) -> str | None:
        """The file here; by its name alone only where its lines read as those that were printed."""
        from raiselens_server.read.paths import by_name, locate

        path = locate(file, self._places, os.path.isfile)
        if path is not None:
            return path
        path = by_name(file, self._root)
        if path is None or not Path(path).is_file() or not any(frame.source for frame in printed):
            return None
        text = self.project.text_of(path)
        lines = () if text is None else [line_here(frame, text) for frame in printed if frame.source]
        return path if lines and all(lines) else None

    def entry(self, diagnosis: Diagnosis) -> Entry | None:
        """The record of one of these diagnoses, also where it was mined from the file that raised."""
        if diagnosis.record is None:
            return None
        key = diagnosis.record.record_id
        return self.catalog.get(key) or self._entries.get(key)

    def _diagnosis(self, error: RaisedError, local: Mapping[str, str]) -> Diagnosis:
        match error.origin:
            case Observed(role=Role.SUMMARY | Role.WARNING):
                return Diagnosis(error, match_record(self.catalog, error))
            case _:
                pass
        record = match_record(self.catalog, error)
        if (record is None or record.how != How.EXACT.value) and error.frames:
            record = self._mined_record(error, local.get(error.frames[-1].file)) or record
        return Diagnosis(error, record, self._repairs(error, local))

    def _mined_record(self, error: RaisedError, raising: str | None) -> RecordMatch | None:
        """What the file that raised says itself, as it is installed: any library is explained without a catalog of it."""
        if raising is None:
            return None
        if raising not in self._mined:
            from raiselens_catalog.spot import mine_on_the_spot

            try:
                self._mined[raising] = mine_on_the_spot(raising, Path(raising).read_bytes())
            except OSError:
                return None
        also = [self._mined[raising]]
        found = self.catalog.match(error.class_name, error.message, frames=error.frames, also=also, limit=1)
        if not found or found[0].how is How.FUZZY:
            return None
        self._entries[found[0].id] = found[0].entry
        return _record_match(found[0])

    def _repairs(self, error: RaisedError, local: Mapping[str, str]) -> tuple[Repair, ...]:
        """The repairs at the user's call: of what is foreseen there, else of what may be raised there and was."""
        twin = self._foreseen_twin(error, local)
        if twin is not None:
            return repairs_of(self.project, twin)
        with self.project.proven(error):
            twin = self._foreseen_twin(error, local)
            return () if twin is None else repairs_of(self.project, twin)

    def _foreseen_twin(self, error: RaisedError, local: Mapping[str, str]) -> RaisedError | None:
        """The finding that foresees an observed error: at the deepest of its frames in the user's code that has one.

        The run has proved the raise, so that what foreseeing knows of that statement (provenance, places) holds for it:
        as long as the source here still reads as the one that ran.
        """
        for frame in reversed(error.frames):
            path = local.get(frame.file)
            if path is None or not self._is_users(path):
                continue
            text = self.project.text_of(path)
            line = None if text is None else line_here(frame, text)
            if line is None:
                continue
            for foreseen in self.project.check(path).errors:
                if _holds(foreseen, line) and says_the_same(foreseen, error):
                    return foreseen
        return None

    def _is_users(self, path: str) -> bool:
        """Whether a file is the user's to change: the workspace's, or at least no library's and not Python's own."""
        from raiselens_server.read.paths import in_workspace

        if in_workspace(path, (self._root,)):
            return True
        libraries = [
            *self.environment.search_path,
            *(f"{prefix}/lib/python3" for prefix in (sys.prefix, sys.base_prefix)),
        ]
        return "/site-packages/" not in path and not any(path.startswith(folder) for folder in libraries)


def _holds(error: RaisedError, line: int) -> bool:
    match error.origin:
        case Foreseen(place=place):
            return place.span.line <= line <= place.span.end_line
        case _:
            return False
