"""Options that several commands share, and what they stand for: settings, environment, catalog."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from raiselens_server.cli.failure import CommandError
from raiselens_server.cli.terminal import tell
from raiselens_server.config import Settings, load_settings, merge
from raiselens_server.source.interpreter import InterpreterError, build_environment, find_interpreter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from raiselens_catalog import Catalog, Record
    from raiselens_server.error import Diagnosis
    from raiselens_server.source.environment import Environment
    from raiselens_server.source.interpreter import Interpreter

Command = TypeVar("Command", bound="Callable[..., Any]")


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
            type=click.Path(path_type=Path),
            metavar="DIR",
            help="Folder to resolve imports in, before the site-packages; may be repeated.",
        ),
        click.option(
            "--catalog",
            multiple=True,
            type=click.Path(path_type=Path),
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
        tell(f"warning: {problem}")
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
        raise CommandError(str(error)) from error


def environment_for(roots: Iterable[Path], interpreter: Interpreter, settings: Settings, where: Where) -> Environment:
    """The search path: the roots, extra paths of flags and settings, the interpreter's libraries, guard stubs."""
    from raiselens_catalog import stub_roots

    extra = where.extra_path or settings.extra_path
    for folder in extra:
        if not folder.is_dir():
            tell(f"warning: --extra-path {folder}: no such folder")
    return build_environment(interpreter, roots, extra, stub_roots())


def open_catalog(workspace: Path | None, files: Sequence[Path]) -> Catalog:
    """All layers of the catalog; what a user's own file holds wrong is told on stderr, a named file must be right."""
    from raiselens_catalog import Catalog, CatalogError

    try:
        catalog = Catalog.open(catalogs=files, workspace=workspace)
    except CatalogError as error:
        raise CommandError(str(error)) from error
    for problem in catalog.problems:
        tell(f"warning: {problem}")
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


def split_rules(text: tuple[str, ...]) -> list[str]:
    """`--select a,b --select c` as a list."""
    return [rule.strip() for part in text for rule in part.split(",") if rule.strip()]
