"""`raiselens catalog show`: a record as a page, or as JSON."""

from __future__ import annotations

from pathlib import Path

import click

from raiselens_server.cli.catalog.shared import catalog_option, open_here
from raiselens_server.cli.failure import CommandError
from raiselens_server.cli.terminal import emit_page


@click.command(name="show")
@click.argument("what", metavar="ID|SLUG|TEXT")
@click.option("--format", "form", type=click.Choice(("text", "json", "markdown")), default="text")
@click.option("--python", metavar="INTERPRETER", help="Interpreter whose libraries the source is read from.")
@catalog_option
def command(what: str, form: str, python: str | None, catalog: tuple[Path, ...]) -> int:
    """Print the record of an id or slug, or the one that a message's text means."""
    from raiselens_catalog import json_text, markdown
    from raiselens_server.cli.options import Where, interpreter_for, settings_for
    from raiselens_server.installed import with_installed_source

    opened = open_here(catalog)
    entries = opened.find(what, limit=1)
    if not entries:
        raise CommandError(f"catalog show: no record is meant by {what!r}; try: raiselens catalog search TEXT")
    start = Path.cwd()
    interpreter = interpreter_for(start, settings_for(start, {}), Where(python, (), ()))
    entry = with_installed_source(entries[0], interpreter.paths)
    match form:
        case "json":
            print(json_text(entry.record))
        case "markdown":
            print(markdown(entry, opened), end="")
        case _:
            emit_page(markdown(entry, opened))
    return 0
