"""A reading explained: its frames found on this machine, its errors matched and repaired."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from raiselens_server.diagnose import explain
from raiselens_server.foresee import Project
from raiselens_server.installed import with_installed_source
from raiselens_server.present.headline import headline

if TYPE_CHECKING:
    from raiselens_catalog import Catalog
    from raiselens_server.error import Diagnosis, Frame
    from raiselens_server.read import Reading
    from raiselens_server.source.environment import Environment


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

    def explain(self, reading: Reading) -> Explained:
        """Match every error of `reading`, and repair those whose frames lie in files of this machine."""
        errors = [
            replace(error, frames=tuple(self._located(frame) for frame in error.frames)) for error in reading.errors
        ]
        return Explained(explain(self.project, self.catalog, errors), reading.primary, reading.why)

    def markdown(self, explained: Explained) -> str:
        """A page for each error that has a record, the primary one first, and a heading for each that has none."""
        from raiselens_catalog import markdown

        order = sorted(range(len(explained.diagnoses)), key=lambda number: number != explained.primary)
        pages = []
        for number in order:
            diagnosis = explained.diagnoses[number]
            entry = self.catalog.get(diagnosis.record.record_id) if diagnosis.record is not None else None
            if entry is not None:
                pages.append(markdown(with_installed_source(entry, self.environment.search_path), self.catalog))
            else:
                pages.append(f"# {headline(diagnosis.error)}\n\nNo record of the catalog matches this error.\n")
        return "\n---\n\n".join(pages)

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
