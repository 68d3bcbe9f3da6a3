"""`raiselens catalog show`: a record as a page, or as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from raiselens_server.cli.catalog.shared import catalog_option, open_here
from raiselens_server.cli.failure import CommandError
from raiselens_server.cli.terminal import emit_page
from raiselens_server.source.presence import is_file

if TYPE_CHECKING:
    from raiselens_catalog import Entry


@click.command(name="show")
@click.argument("what", metavar="ID|SLUG|FILE:LINE|TEXT")
@click.option("--format", "form", type=click.Choice(("text", "json", "markdown")), default="text")
@click.option("--python", metavar="INTERPRETER", help="Interpreter whose libraries the source is read from.")
@catalog_option
def command(what: str, form: str, python: str | None, catalog: tuple[Path, ...]) -> int:
    """Print the record of an id or slug, of the raise at a line of a source file, or the one that a message means."""
    from raiselens_catalog import json_text, markdown
    from raiselens_server.cli.options import Where, interpreter_for, settings_for
    from raiselens_server.installed import with_installed_source

    opened = open_here(catalog)
    at_line = _raised_at(what)
    entries = opened.find(what, limit=1) if at_line is None else (at_line,)
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


def _raised_at(place: str) -> Entry | None:
    """The record of the raise at FILE:LINE, mined from that file; None where `place` names no file."""
    file, colon, number = place.rpartition(":")
    if not colon or not number.isdecimal() or not is_file(file):
        return None
    from raiselens_catalog.spot import mine_on_the_spot

    try:
        found = mine_on_the_spot(file, Path(file).read_bytes()).entries()
    except OSError as error:
        raise CommandError(f"catalog show: {file}: {error.strerror}") from error
    by_line = {entry.record.line_number: entry for entry in found}
    entry = by_line.get(int(number))
    if entry is None:
        lines = ", ".join(str(line) for line in sorted(by_line, key=lambda line: line or 0))
        others = f"it raises at line {lines}" if lines else "nothing in this file raises with a message"
        raise CommandError(f"catalog show: {place}: no raise with a message begins here; {others}")
    return entry
