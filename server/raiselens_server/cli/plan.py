"""What `check` is asked to do: the files, and for each group of them the settings and the environment in force."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raiselens_server.cli.failure import CommandError
from raiselens_server.cli.options import environment_for, interpreter_for, settings_for
from raiselens_server.source.files import Skipped, SourceError, decode_source, read_source, walk
from raiselens_server.source.presence import is_folder
from raiselens_server.source.telling import holds_python

if TYPE_CHECKING:
    from raiselens_server.cli.options import Where
    from raiselens_server.config import Settings
    from raiselens_server.source.environment import Environment
    from raiselens_server.source.files import Source

STANDARD_INPUT = "-"


@dataclass(frozen=True, slots=True)
class Group:
    """Files under one configuration. `named` are the paths that the user gave, `catalogs` those of `--catalog`."""

    settings: Settings
    environment: Environment
    catalogs: tuple[Path, ...]
    named: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """One file to check, by the path it is shown under. `text` is given only for what no disk holds."""

    file: str
    group: int
    source: Source | None = None


@dataclass(slots=True)
class Plan:
    """All there is to do, in the order of the command line.

    `refused` are named files that cannot be checked, `skipped` those met on a walk.
    """

    groups: list[Group] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    refused: list[Skipped] = field(default_factory=list)


def make_plan(
    paths: tuple[str, ...],
    where: Where,
    flags: dict[str, Any],
    exclude: tuple[str, ...],
    standard_input: tuple[bytes, str | None] | None = None,
) -> Plan:
    """Find the files below `paths`. `standard_input` is the content of `-` and the name it goes by."""
    plan = Plan()
    numbers: dict[tuple[Settings, tuple[str, ...]], int] = {}
    starts = [Path(path) for path in paths if path != STANDARD_INPUT]
    roots = [path for path in starts if is_folder(path)]
    seen: set[Path] = set()
    for path in paths:
        inside = _stdin_path(standard_input) if path == STANDARD_INPUT else Path(path)
        settings = settings_for(inside, flags)
        number = _group_of(plan, numbers, settings, where, inside, roots, paths)
        if path == STANDARD_INPUT:
            _add_standard_input(plan, number, standard_input)
            continue
        for found in _files_of(inside, settings, exclude, plan):
            key = found.absolute()
            if key not in seen:
                seen.add(key)
                plan.jobs.append(Job(str(found), number))
    return plan


def _stdin_path(standard_input: tuple[bytes, str | None] | None) -> Path:
    name = standard_input[1] if standard_input is not None else None
    return Path(name) if name else Path.cwd() / "stdin.py"


def _add_standard_input(plan: Plan, number: int, standard_input: tuple[bytes, str | None] | None) -> None:
    if standard_input is None:
        raise CommandError("check: `-` stands for standard input, which was not read")
    data, name = standard_input
    shown = name or STANDARD_INPUT
    try:
        source = decode_source(data)
    except SourceError as error:
        plan.refused.append(Skipped(shown, str(error)))
        return
    if not holds_python(source.text):
        plan.refused.append(Skipped(shown, "holds no Python"))
        return
    plan.jobs.append(Job(shown, number, source))


def _files_of(path: Path, settings: Settings, exclude: tuple[str, ...], plan: Plan) -> list[Path]:
    if is_folder(path):
        found: list[Path] = []
        for item in walk(path, (*settings.exclude, *exclude), root=settings.root):
            if isinstance(item, Skipped):
                # The named folder itself is no file met on the way.
                (plan.refused if item.file == str(path) else plan.skipped).append(item)
            else:
                found.append(item)
        return found
    try:
        source = read_source(path)
    except OSError as error:
        reason = "no such file or folder" if isinstance(error, FileNotFoundError) else error.strerror or str(error)
        plan.refused.append(Skipped(str(path), reason))
    except SourceError as error:
        plan.refused.append(Skipped(str(path), str(error)))
    else:
        if holds_python(source.text):
            return [path]
        plan.refused.append(Skipped(str(path), "holds no Python"))
    return []


def _group_of(
    plan: Plan,
    numbers: dict[tuple[Settings, tuple[str, ...]], int],
    settings: Settings,
    where: Where,
    start: Path,
    roots: list[Path],
    named: tuple[str, ...],
) -> int:
    interpreter = interpreter_for(start, settings, where)
    key = (settings, interpreter.paths)
    if key not in numbers:
        numbers[key] = len(plan.groups)
        environment = environment_for(roots, interpreter, settings, where)
        shown = tuple(path for path in named if path != STANDARD_INPUT)
        plan.groups.append(Group(settings, environment, where.catalog, shown))
    return numbers[key]
