"""`raiselens verify`: run a finding before and after its repair, on a GPU where there is one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from raiselens_server.cli.failure import CommandError
from raiselens_server.cli.options import (
    Where,
    environment_for,
    interpreter_for,
    open_catalog,
    print_json,
    settings_for,
    where_options,
)
from raiselens_server.cli.terminal import emit, tell, tell_lines

if TYPE_CHECKING:
    from raiselens_server.error import Diagnosis
    from raiselens_server.foresee import Project
    from raiselens_server.verify import VerifyReport


@click.command(name="verify")
@click.argument("place", required=False, metavar="FILE:LINE")
@click.option("--scatter", is_flag=True, help="Verify the bundled scatter kernel alone.")
@click.option("--device", default="auto", metavar="auto|cpu|cuda|cuda:N,…", help="Where to run.")
@click.option("--launcher", metavar="CMD", help="Put before the interpreter: `ssh box`, `srun --gres=gpu:1`.")
@where_options
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=600.0, metavar="S")
@click.option("--show", is_flag=True, help="Print the programs that were run.")
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text")
def command(
    place: str | None,
    scatter: bool,
    device: str,
    launcher: str | None,
    python: str | None,
    extra_path: tuple[Path, ...],
    catalog: tuple[Path, ...],
    timeout: float,
    show: bool,
    form: str,
) -> int:
    """Run the call at FILE:LINE as it stands, which must raise as foreseen, and repaired, which must not.

    Exit code 1 where either is not so, 2 where it could not be run.
    """
    from raiselens_server.verify import ScatterTarget, VerifyFailure, VerifyRequest, devices_of, run_verify, target_of

    if (place is None) == (not scatter):
        raise click.UsageError("give FILE:LINE or --scatter")
    devices = devices_of(device)
    if devices is None:
        raise click.UsageError(f"--device {device}: must be auto, cpu, cuda, or cuda:N,cuda:M")
    where = Where(python, extra_path, catalog)
    start = Path(place.rpartition(":")[0]) if place is not None else Path.cwd()
    settings = settings_for(start, {"launcher": launcher})
    interpreter = interpreter_for(start, settings, where)
    target = ScatterTarget() if place is None else target_of(*_finding_at(place, where))
    request = VerifyRequest(
        target,
        devices=devices,
        extra_paths=tuple(str(path.absolute()) for path in extra_path or settings.extra_path),
    )
    result = run_verify(
        request,
        interpreter=interpreter.executable or sys.executable,
        launcher=settings.launcher,
        timeout=timeout,
        progress=(lambda step: tell(f"· {step}")) if form == "text" else None,
    )
    if form == "json":
        print_json(result.to_json())
    if isinstance(result, VerifyFailure):
        tell(f"raiselens verify: {result.reason}")
        if result.output and form == "text":
            tell_lines(result.output)
    elif form == "text":
        _print_report(result, show=show)
    return result.exit_code


def _finding_at(place: str, where: Where) -> tuple[Project, Diagnosis]:
    """The finding whose statement, or one of whose related places, holds the line; and the project that found it."""
    file, colon, number = place.rpartition(":")
    if not colon or not number.isdecimal() or int(number) < 1:
        raise click.UsageError(f"{place}: must be FILE:LINE")
    from raiselens_server.diagnose import check, finding_at
    from raiselens_server.foresee import Project
    from raiselens_server.source.files import SourceError, read_source

    path = Path(file)
    try:
        text = read_source(path).text
    except (OSError, SourceError) as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else getattr(error, "strerror", None) or error
        raise CommandError(f"verify: {file}: {reason}") from error
    settings = settings_for(path, {})
    environment = environment_for([], interpreter_for(path, settings, where), settings, where)
    project = Project(environment, [file])
    catalog = open_catalog(settings, where.catalog)
    found = check(project, catalog, file, text).diagnoses
    at_line = finding_at(found, file, int(number))
    if at_line is not None:
        return project, at_line
    lines = sorted({diagnosis.error.frames[0].line for diagnosis in found if diagnosis.error.frames})
    others = f"; there are findings at line {', '.join(map(str, lines))}" if lines else " in this file at all"
    raise CommandError(f"verify: {file}:{number}: no finding here{others}")


def _print_report(report: VerifyReport, *, show: bool) -> None:
    from raiselens_server.present.verification import report_text

    emit(report_text(report))
    if show:
        for name, program in report.programs.items():
            print(f"# {name}\n{program}")
