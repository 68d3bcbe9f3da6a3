"""Options that several commands share, and what they stand for: settings, environment, catalog."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from raiselens_server.cli.failure import CommandError
from raiselens_server.cli.terminal import tell_once
from raiselens_server.config import Settings, load_settings, merge
from raiselens_server.source.interpreter import InterpreterError, build_environment, find_interpreter
from raiselens_server.source.presence import is_folder

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from raiselens_catalog import Catalog, Record
    from raiselens_server.error import Diagnosis
    from raiselens_server.source.environment import Environment
    from raiselens_server.source.interpreter import Interpreter

Command = TypeVar("Command", bound="Callable[..., Any]")

_EMPTY = "is empty; `.` names the working folder"


class GivenPath(click.Path):
    """A path as a `Path`. An empty one, as a variable that is not set leaves behind, is a usage error, not this folder."""

    def __init__(self) -> None:
        """Take any path, there or not."""
        super().__init__(path_type=Path)

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        """The path that was given."""
        if not isinstance(value, str) or value:
            return super().convert(value, param, ctx)
        name = param.opts[-1] if isinstance(param, click.Option) else "a PATH"
        raise click.UsageError(f"{name} {_EMPTY}", ctx)


@dataclass(frozen=True, slots=True)
class Where:
    """The flags that say where calls are resolved and which records count."""

    python: str | None
    extra_path: tuple[Path, ...]
    catalog: tuple[Path, ...]


def where_options(command: Command) -> Command:
    """`--python`, `--extra-path` and `--catalog`, given to the command as `python`, `extra_path`, `catalog`."""
    decorators = (
        click.option(
            "--python",
            metavar="INTERPRETER",
            help="Interpreter or environment whose libraries are read (default: $VIRTUAL_ENV, .venv upward, this one).",
        ),
        click.option(
            "--extra-path",
            multiple=True,
            type=GivenPath(),
            metavar="DIR",
            help="Folder to resolve imports in, before the site-packages; may be repeated.",
        ),
        click.option(
            "--catalog",
            multiple=True,
            type=GivenPath(),
            metavar="FILE",
            help="File of records to use beside the bundled ones; may be repeated.",
        ),
    )
    for decorator in reversed(decorators):
        command = decorator(command)
    return command


def settings_for(start: Path, flags: dict[str, Any]) -> Settings:
    """The settings in force at `start`, flags over the file's; every problem is told on stderr."""
    loaded = load_settings(start)
    for problem in loaded.problems:
        tell_once(f"warning: {problem}")
    given = {key: value for key, value in flags.items() if value}
    merged = merge(loaded.settings, given, source="command line")
    if merged.problems:
        problem = merged.problems[0]
        raise CommandError(f"--{problem.key}: {problem.text}")
    return merged.settings


def interpreter_for(start: Path, settings: Settings, where: Where) -> Interpreter:
    """The interpreter that counts at `start`; only one named by a flag may be asked."""
    by_user = where.python is not None or "python" in settings.named_by_user
    try:
        return find_interpreter(start, named=where.python or settings.python, may_ask=by_user)
    except InterpreterError as error:
        place = None if where.python is not None else settings.place_of("python")
        if place is None:
            raise CommandError(f"--python {error}") from error
        tell_once(f"warning: {place}: {error}; it is left out")
        return find_interpreter(start)


def environment_for(roots: Iterable[Path], interpreter: Interpreter, settings: Settings, where: Where) -> Environment:
    """The search path: the roots, extra paths of flags and settings, the interpreter's libraries, guard stubs."""
    from raiselens_catalog import stub_roots

    extra = where.extra_path or settings.extra_path
    place = None if where.extra_path else settings.place_of("extra-path")
    for folder in extra:
        if not is_folder(folder):
            tell_once(f"warning: {'--extra-path' if place is None else f'{place}:'} {folder}: no such folder")
    return build_environment(interpreter, roots, extra, stub_roots())


def open_catalog(settings: Settings, files: Sequence[Path]) -> Catalog:
    """All layers of the catalog. `files` are those that flags name and must be right; what else is wrong is told."""
    from raiselens_catalog import Catalog, CatalogError

    try:
        catalog = Catalog.open(configured=settings.catalogs, catalogs=files, workspace=settings.root)
    except CatalogError as error:
        raise CommandError(f"--catalog {error}") from error
    place = settings.place_of("catalogs")
    for problem in catalog.problems:
        is_set = place is not None and problem.startswith(tuple(map(str, settings.catalogs)))
        tell_once(f"warning: {place}: {problem}" if is_set else f"warning: {problem}")
    return catalog


def record_in(catalog: Catalog) -> Callable[[Diagnosis], Record | None]:
    """A look-up of the record that a diagnosis names."""

    def look_up(diagnosis: Diagnosis) -> Record | None:
        if diagnosis.record is None:
            return None
        entry = catalog.get(diagnosis.record.record_id)
        return None if entry is None else entry.record

    return look_up


def print_json(value: Any) -> None:
    """One JSON object on stdout. ASCII only: it reads the same whatever the terminal's encoding."""
    import json

    print(json.dumps(value, indent=2))


def refuse_empty(paths: Iterable[str]) -> None:
    """Raise a usage error for an empty PATH, as a variable that is not set leaves behind; it is not this folder."""
    if "" in paths:
        raise click.UsageError(f"a PATH {_EMPTY}")


def read_stdin(command: str) -> bytes:
    """All of standard input. Raises CommandError where it cannot be read, as where it is a folder."""
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise CommandError(f"{command}: standard input: {error.strerror}") from error


def split_rules(text: tuple[str, ...]) -> list[str]:
    """`--select a,b --select c` as a list."""
    return [rule.strip() for part in text for rule in part.split(",") if rule.strip()]
