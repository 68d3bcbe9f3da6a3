"""What the catalog's subcommands share."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from raiselens_server.cli.options import GivenPath, open_catalog, settings_for
from raiselens_server.cli.terminal import tell

if TYPE_CHECKING:
    from collections.abc import Callable

    from raiselens_catalog import Catalog

Command = TypeVar("Command", bound="Callable[..., Any]")


def catalog_option(command: Command) -> Command:
    """`--catalog`, given to the command as `catalog`."""
    return click.option(
        "--catalog",
        multiple=True,
        type=GivenPath(),
        metavar="FILE",
        help="File of records to use beside the bundled ones; may be repeated.",
    )(command)


def open_here(files: tuple[Path, ...]) -> Catalog:
    """The catalog in force in the working folder."""
    settings = settings_for(Path.cwd(), {})
    return open_catalog(settings, files)


def show_progress() -> Callable[..., None]:
    """A line that is written over on a terminal; every thousand steps a line elsewhere.

    To be called with the steps done, the steps to do and, where there is one, the path of the last.
    """
    on_terminal = sys.stderr.isatty()

    def told(done: int, total: int, path: str = "") -> None:
        if on_terminal:
            width = max(20, os.get_terminal_size(sys.stderr.fileno()).columns - 1)
            end = "\n" if done == total else "\r"
            print(f"{done}/{total} {path}"[:width].ljust(width), end=end, file=sys.stderr, flush=True)
        elif done % 1000 == 0:
            tell(f"{done}/{total}")

    return told
