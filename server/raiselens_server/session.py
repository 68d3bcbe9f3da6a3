"""An editor's session: settings, environments, projects and catalogs of its folders, kept between questions.

Knows nothing of LSP. Not safe for several threads at once: the language server asks from one worker thread only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raiselens_catalog import Catalog, CatalogError, stub_roots
from raiselens_server.config import load_settings, merge
from raiselens_server.diagnose import Explained, Explainer, check, repairs_of
from raiselens_server.error import Diagnosis, Foreseen
from raiselens_server.fix import fix_texts
from raiselens_server.foresee import Project
from raiselens_server.installed import with_installed_source
from raiselens_server.source.files import read_source, walk
from raiselens_server.source.interpreter import (
    InterpreterError,
    build_environment,
    find_interpreter,
    running_interpreter,
)
from raiselens_server.suppress import suppress

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from raiselens_catalog import Entry
    from raiselens_server.config import Settings
    from raiselens_server.error import Place
    from raiselens_server.foresee.facts import Fact
    from raiselens_server.source.environment import Environment
    from raiselens_server.source.interpreter import Interpreter


@dataclass(slots=True)
class Room:
    """What counts for the files of one folder with settings of its own."""

    settings: Settings
    interpreter: Interpreter
    environment: Environment
    project: Project
    catalog: Catalog
    explainer: Explainer


@dataclass(frozen=True, slots=True)
class Answer:
    """The findings of a file, and the text that they speak of."""

    text: str
    diagnoses: tuple[Diagnosis, ...]


class Session:
    """Answers questions about open documents. `tell` is given each problem of a setting or a catalog, once."""

    def __init__(
        self,
        folders: Sequence[Path],
        editor: Mapping[str, Any] | None = None,
        *,
        by_folder: Mapping[Path, Mapping[str, Any]] | None = None,
        trusted: bool = False,
        whole: bool = False,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`whole`: findings are reported in all files of the folders, as a check of the folders would, open or not."""
        self._whole = whole
        self._folders = list(folders)
        self._editor = dict(editor or {})
        self._by_folder = dict(by_folder or {})
        self._trusted = trusted
        self._tell = tell
        self._told: set[str] = set()
        self._rooms: dict[tuple[Path, Path], Room] = {}
        self._room_of: dict[Path, Room] = {}
        self._texts: dict[str, str] = {}
        self._answers: dict[str, Answer] = {}
        self._explained: tuple[str, Path, Explained] | None = None

    @property
    def trusted(self) -> bool:
        """Whether files of the workspace may name programs to run."""
        return self._trusted

    def configure(
        self,
        folders: Sequence[Path],
        editor: Mapping[str, Any],
        *,
        by_folder: Mapping[Path, Mapping[str, Any]] | None = None,
        trusted: bool,
    ) -> None:
        """Take new folders or settings; everything derived from the old ones is forgotten.

        What a folder has of its own in `by_folder` counts there in place of `editor`.
        """
        self._by_folder = dict(by_folder or {})
        self._folders, self._editor, self._trusted = list(folders), dict(editor), trusted
        self.forget()

    def forget(self) -> None:
        """Read settings, libraries and files anew when they are next asked about; open texts stay."""
        self._rooms.clear()
        self._room_of.clear()
        self._answers.clear()
        self._explained = None

    def forget_disk(self) -> None:
        """Look at files anew: something on disk has changed, but no setting."""
        for room in self._rooms.values():
            room.project.forget_disk()
            room.explainer.project.forget_disk()
        self._answers.clear()
        self._explained = None

    def room(self, path: Path) -> Room:
        """The settings, project and catalog for a file."""
        folder = path.parent
        known = self._room_of.get(folder)
        if known is None:
            known = self._room_of[folder] = self._find_room(path)
        return known

    def open(self, path: str, text: str) -> None:
        """Let `text` stand for the file's content."""
        if self._texts.get(path) != text:
            self._texts[path] = text
            self.room(Path(path)).project.open(path, text)
            # A change of one file may show in any other that calls it.
            self._answers.clear()

    def close(self, path: str) -> None:
        """Let the file on disk count again."""
        if self._texts.pop(path, None) is not None:
            self.room(Path(path)).project.close(path)
            self._answers.clear()

    def findings(self, path: str, text: str) -> tuple[Diagnosis, ...]:
        """What will raise in a file, if its content is `text`; without repairs, which are worked out when asked for."""
        self.open(path, text)
        known = self._answers.get(path)
        if known is not None and known.text == text:
            return known.diagnoses
        room = self.room(Path(path))
        if room.settings.excludes(Path(path)):
            self._answers[path] = Answer(text, ())
            return ()
        found = suppress(text, path, check(room.project, room.catalog, path, repairs=False).diagnoses)
        shown = tuple(item for item in found if room.settings.shows(item, Path(path)))
        self._answers[path] = Answer(text, shown)
        return shown

    def findings_on_disk(self, path: Path) -> tuple[str, tuple[Diagnosis, ...]]:
        """The text of a file that is not open, and what will raise in it. Raises OSError or SourceError."""
        text = read_source(path).text
        room = self.room(path)
        found = suppress(text, str(path), check(room.project, room.catalog, str(path), repairs=False).diagnoses)
        return text, tuple(item for item in found if room.settings.shows(item, path))

    def files_of(self, folder: Path) -> list[Path]:
        """The Python files of a workspace folder; none where only open files are to be looked at."""
        settings, _ = self._settings_for(folder / "main.py")
        if settings.diagnostic_mode != "workspace":
            return []
        return [item for item in walk(folder, settings.exclude, root=settings.root) if isinstance(item, Path)]

    def facts_of(self, path: str, text: str, first: int, last: int) -> tuple[Fact, ...]:
        """What is known of the tensors that some lines of a file bind to names, if its content is `text`."""
        self.open(path, text)
        return self.room(Path(path)).project.facts(path, first, last)

    def with_repairs(self, path: str, diagnosis: Diagnosis) -> Diagnosis:
        """The finding with the repairs that hold for the file's text as it is now."""
        return replace(diagnosis, repairs=repairs_of(self.room(Path(path)).project, diagnosis.error))

    def fixed(self, path: str, text: str) -> str:
        """The file's text with all safe repairs applied, again and again; with `unsafe-fixes` the others too."""
        now = {path: text}
        unsafe = self.room(Path(path)).settings.unsafe_fixes

        def findings(file: str) -> tuple[Diagnosis, ...]:
            return tuple(self.with_repairs(file, item) for item in self.findings(file, now[file]))

        def replace_text(file: str, changed: str) -> None:
            now[file] = changed

        try:
            return fix_texts(now, findings, replace_text, unsafe=unsafe).changed.get(path, text)
        finally:
            self.open(path, text)

    def explain(self, text: str, near: Path) -> Explained:
        """The errors of a log or paste, for a reader whose files lie at `near`."""
        known = self._explained
        if known is None or known[:2] != (text, near):
            known = self._explained = (text, near, self.room(near).explainer.explain_text(text))
        return known[2]

    def entry(self, diagnosis: Diagnosis, near: Path) -> Entry | None:
        """The record of a diagnosis, with its source as installed."""
        room = self.room(near)
        entry = room.explainer.entry(diagnosis)
        return None if entry is None else with_installed_source(entry, room.environment.search_path)

    def record(self, key: str, near: Path) -> Entry | None:
        """The record of an id or slug, with its source as installed."""
        room = self.room(near)
        entry = room.catalog.get(key)
        return None if entry is None else with_installed_source(entry, room.environment.search_path)

    def link(self, diagnosis: Diagnosis, near: Path) -> str | None:
        """Where the rule is described: the team's site, else the guard at its pinned source."""
        room = self.room(near)
        entry = room.explainer.entry(diagnosis)
        if entry is None:
            return None
        site = room.settings.site
        return f"{site.rstrip('/')}/errors/{entry.record.id}.html" if site else entry.record.github_url

    def facts(self, path: Path) -> dict[str, Any]:
        """What is in force for a file, for people who ask why something is not found."""
        room = self.room(path)
        return {
            "root": str(room.settings.root),
            "python": room.interpreter.executable,
            "python_version": ".".join(map(str, room.interpreter.version)),
            "search_path": list(room.environment.search_path),
            "records": len(room.catalog),
            "trusted": self._trusted,
            "open": sorted(self._texts),
        }

    def _find_room(self, path: Path) -> Room:
        settings, folder = self._settings_for(path)
        key = (settings.root, folder)
        if key not in self._rooms:
            self._rooms[key] = self._make_room(settings, folder)
        return self._rooms[key]

    def _settings_for(self, path: Path) -> tuple[Settings, Path]:
        """What is in force for a file, and the folder that its libraries are looked up from."""
        loaded = load_settings(path, trusted=self._trusted)
        inside = [folder for folder in self._folders if path.is_relative_to(folder)]
        folder = max(
            inside,
            key=lambda folder: len(folder.parts),
            default=loaded.settings.root if loaded.file is not None else path.parent,
        )
        # Where no file has settings, all files of a workspace folder are under the editor's alone.
        own = loaded.settings if loaded.file is not None else replace(loaded.settings, root=folder)
        merged = merge(own, self._by_folder.get(folder, self._editor), source="editor settings")
        for problem in (*loaded.problems, *merged.problems):
            self._tell_once(str(problem))
        return merged.settings, folder

    def _make_room(self, settings: Settings, folder: Path) -> Room:
        try:
            by_user = "python" in settings.named_by_user
            interpreter = find_interpreter(folder, named=settings.python, may_ask=by_user)
        except InterpreterError as error:
            self._tell_once(f"python: {error}; this editor's own interpreter is used")
            interpreter = running_interpreter()
        environment = build_environment(interpreter, [folder], settings.extra_path, stub_roots())
        catalog = self._open_catalog(settings, folder)
        project = Project(environment, [str(folder)] if self._whole else [])
        for path, text in self._texts.items():
            project.open(path, text)
        explainer = Explainer(catalog, environment, folder, settings.path_map)
        return Room(settings, interpreter, environment, project, catalog, explainer)

    def _open_catalog(self, settings: Settings, folder: Path) -> Catalog:
        try:
            catalog = Catalog.open(configured=settings.catalogs, workspace=folder)
        except CatalogError as error:
            self._tell_once(str(error))
            return Catalog([])
        for problem in catalog.problems:
            self._tell_once(problem)
        return catalog

    def _tell_once(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._tell(text)


def places_of(diagnosis: Diagnosis) -> list[Place]:
    """The places of its file that a finding speaks of: the statement, and what made the value wrong."""
    origin = diagnosis.error.origin
    if not isinstance(origin, Foreseen):
        return []
    file = origin.place.file
    return [origin.place, *(related.place for related in origin.related if related.place.file == file)]


def at(diagnosis: Diagnosis, line: int, column: int) -> bool:
    """Whether a finding speaks of a place in its file."""
    return any(
        (place.span.line, place.span.column) <= (line, column) <= (place.span.end_line, place.span.end_column)
        for place in places_of(diagnosis)
    )
