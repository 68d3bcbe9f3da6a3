"""What the catalog's subcommands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from raiselens_server.cli.options import open_catalog, settings_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from raiselens_catalog import Catalog

Command = TypeVar("Command", bound="Callable[..., Any]")


def catalog_option(command: Command) -> Command:
    """`--catalog`, given to the command as `catalog`."""
    return click.option(
        "--catalog",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="File of records to use beside the bundled ones; may be repeated.",
    )(command)


def open_here(files: tuple[Path, ...]) -> Catalog:
    """The catalog in force in the working folder."""
    settings = settings_for(Path.cwd(), {})
    return open_catalog(settings.root, (*settings.catalogs, *files))
