"""`raiselens catalog build`: records mined from the sources of libraries."""

from __future__ import annotations

from pathlib import Path

import click

from raiselens_server.cli.catalog.shared import show_progress
from raiselens_server.cli.failure import CommandError
from raiselens_server.cli.options import GivenPath, Where, interpreter_for, print_json, refuse_empty, settings_for

LANGUAGES = ("python", "cpp")


@click.command(name="build")
@click.argument("targets", nargs=-1, required=True, metavar="TARGET…")
@click.option("-o", "--output", type=GivenPath(), metavar="FILE", help="Write here, not to the layer.")
@click.option("--language", default=",".join(LANGUAGES), metavar="python,cpp", help="Sources to read (default: both).")
@click.option("--jobs", type=click.IntRange(min=1), default=1, metavar="N", help="Processes.")
@click.option("--python", metavar="INTERPRETER", help="Interpreter whose installed libraries TARGET names.")
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text")
def command(
    targets: tuple[str, ...], output: Path | None, language: str, jobs: int, python: str | None, form: str
) -> int:
    """Mine TARGET…: an installed distribution, an import name, a wheel, an sdist or a folder."""
    from raiselens_catalog import CatalogError
    from raiselens_catalog.build import build

    refuse_empty(targets)
    languages = [name.strip() for name in language.split(",") if name.strip()]
    unknown = [name for name in languages if name not in LANGUAGES]
    if unknown or not languages:
        raise click.UsageError(f"--language {language}: must be of {', '.join(LANGUAGES)}")
    here = Path.cwd()
    interpreter = interpreter_for(here, settings_for(here, {}), Where(python, (), ()))
    try:
        report = build(
            targets,
            output=output,
            languages=languages,
            jobs=jobs,
            search_path=[Path(path) for path in interpreter.paths],
            progress=show_progress(),
        )
    except CatalogError as error:
        raise CommandError(f"catalog build: {error}") from error
    found = report.to_json()
    if form == "json":
        print_json(found)
        return 0
    parts = ("files", "raises", "asserts", "checks", "records", "stubs")
    print(", ".join(f"{found[part]} {part}" for part in parts))
    for cause, number in report.left_out.items():
        print(f"  left out, {cause}: {number}")
    return 0
