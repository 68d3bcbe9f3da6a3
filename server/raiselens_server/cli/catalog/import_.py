"""`raiselens catalog import`: seed JSON into the user's own records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from raiselens_server.cli.catalog.shared import open_here
from raiselens_server.cli.failure import CommandError
from raiselens_server.cli.options import GivenPath
from raiselens_server.cli.terminal import tell

if TYPE_CHECKING:
    from pathlib import Path


@click.command(name="import")
@click.argument("files", nargs=-1, required=True, type=GivenPath(), metavar="FILE…")
def command(files: tuple[Path, ...]) -> int:
    """Add the records of FILE… (one record, a list, JSON lines, or as the API serves them) to the user's own."""
    from raiselens_catalog import CatalogError

    opened = open_here(())
    for file in files:
        try:
            entries = opened.import_file(file)
        except CatalogError as error:
            raise CommandError(f"catalog import: {error}") from error
        for entry in entries:
            print(f"{entry.record.id}  {entry.record.slug}")
        tell(f"{file}: {len(entries)} record{'' if len(entries) == 1 else 's'} imported")
    return 0
