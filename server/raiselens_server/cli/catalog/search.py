"""`raiselens catalog search`: records by words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from raiselens_server.cli.catalog.shared import catalog_option, open_here
from raiselens_server.cli.options import print_json
from raiselens_server.cli.terminal import emit, tell
from raiselens_server.present.styled import Style, line, visible

if TYPE_CHECKING:
    from pathlib import Path


@click.command(name="search")
@click.argument("text", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(min=1), default=20, metavar="N")
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text")
@catalog_option
def command(text: tuple[str, ...], limit: int, form: str, catalog: tuple[Path, ...]) -> int:
    """Find the records that hold all words of TEXT. Exit code 1 where there is none."""
    sought = " ".join(text)
    if not any(map(str.isalnum, sought)):
        raise click.UsageError(f"{sought!r} holds no word to search for")
    entries = open_here(catalog).search(sought, limit)
    if form == "json":
        print_json({"schema": 1, "records": [entry.record.to_json() for entry in entries]})
        return 0 if entries else 1
    if not entries:
        tell(
            f"no record holds all of these words: {sought}; give fewer, or build a catalog of the library they are from"
        )
    for entry in entries:
        record = entry.record
        emit(
            [
                line((Style.STRONG, record.id), f"  {record.error_class or 'Error'}: {visible(record.error_message)}"),
                line((Style.FAINT, f"                  {record.slug}  ({record.repo})")),
            ]
        )
    return 0 if entries else 1
