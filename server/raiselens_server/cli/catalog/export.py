"""`raiselens catalog export`: a record's JSON as it was imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from raiselens_server.cli.catalog.shared import catalog_option, open_here
from raiselens_server.cli.failure import CommandError

if TYPE_CHECKING:
    from pathlib import Path


@click.command(name="export")
@click.argument("key", metavar="ID|SLUG")
@catalog_option
def command(key: str, catalog: tuple[Path, ...]) -> int:
    """Print the JSON of one record: of an imported one the same as came in."""
    from raiselens_catalog import CatalogError

    try:
        print(open_here(catalog).export(key))
    except CatalogError as error:
        raise CommandError(f"catalog export: {error}") from error
    return 0
