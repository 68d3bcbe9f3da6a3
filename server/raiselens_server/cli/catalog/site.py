"""`raiselens catalog site`: the catalog as static pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from raiselens_server.cli.catalog.shared import catalog_option, open_here, show_progress
from raiselens_server.cli.failure import CommandError
from raiselens_server.cli.options import GivenPath

if TYPE_CHECKING:
    from pathlib import Path


@click.command(name="site")
@click.argument("folder", type=GivenPath(), metavar="DIR")
@click.option("--issues", metavar="URL", help="Where “Report an issue” leads.")
@catalog_option
def command(folder: Path, issues: str | None, catalog: tuple[Path, ...]) -> int:
    """Write every record as a page into DIR: pages, data as JSON, and a search that needs no server."""
    from raiselens_catalog import CatalogError
    from raiselens_catalog.site import ISSUES, write_site

    if issues is not None and not issues.startswith(("https://", "http://")):
        raise click.UsageError(f"--issues {issues}: must begin with https:// or http://")
    opened = open_here(catalog)
    try:
        number = write_site(opened, folder, issues=issues or ISSUES, progress=show_progress())
    except CatalogError as error:
        raise CommandError(f"catalog site: {error}") from error
    print(f"{number} pages of records; begin with {folder / 'index.html'}")
    return 0
