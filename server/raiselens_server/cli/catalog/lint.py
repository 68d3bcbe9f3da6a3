"""`raiselens catalog lint`: what is wrong with records that people write."""

from __future__ import annotations

from pathlib import Path

import click

from raiselens_server.cli.failure import CommandError
from raiselens_server.cli.options import GivenPath, print_json, settings_for
from raiselens_server.source.presence import is_file


@click.command(name="lint")
@click.argument("files", nargs=-1, type=GivenPath(), metavar="[FILE]…")
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text")
def command(files: tuple[Path, ...], form: str) -> int:
    """Check the records of FILE…, or those of the workspace and of the `catalogs` setting.

    Exit code 1 where anything is wrong with them.
    """
    from raiselens_catalog.lint import lint_files

    paths = files or _in_force()
    for path in paths:
        if not is_file(path):
            raise CommandError(f"catalog lint: {path}: no such file; name files of records (.toml, .json, .jsonl)")
    problems = lint_files(paths)
    if form == "json":
        print_json({"schema": 1, "files": len(paths), "problems": problems})
    else:
        for problem in problems:
            print(problem)
        if not problems:
            print(f"{len(paths)} file{'' if len(paths) == 1 else 's'} of records, nothing wrong")
    return 1 if problems else 0


def _in_force() -> tuple[Path, ...]:
    """The files of records that people write and that count in the working folder."""
    from raiselens_catalog.layers import workspace_files
    from raiselens_catalog.store import is_store

    settings = settings_for(Path.cwd(), {})
    own = workspace_files(settings.root)
    paths = (*own, *(path for path in settings.catalogs if not is_store(path)))
    if not paths:
        raise CommandError("catalog lint: there are no records here; name files, or put them into .raiselens/records")
    return paths
