"""`raiselens check`: foresee the errors of files, show them, repair them."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING, Any

import click

from raiselens_server.cli.options import Where, print_json, read_stdin, refuse_empty, split_rules, where_options
from raiselens_server.cli.terminal import emit, tell

if TYPE_CHECKING:
    from pathlib import Path

    from raiselens_server.cli.plan import Plan
    from raiselens_server.cli.pool import Outcome
    from raiselens_server.source.files import Skipped

FORMATS = ("text", "json", "sarif", "github")


@click.command(name="check")
@click.argument("paths", nargs=-1, metavar="PATH…")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", help="How findings are printed.")
@click.option("--fix", is_flag=True, help="Apply the safe repairs.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff, apply the other repairs too.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and change nothing.")
@click.option("--select", multiple=True, metavar="R,…", help="Rules to show, instead of all; * is a wildcard.")
@click.option("--ignore", multiple=True, metavar="R,…", help="Rules to leave out.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Files to leave out of walks, as in a .gitignore.")
@where_options
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processes (default: one for each core).")
@click.option("--no-cache", is_flag=True, help="Take nothing from earlier checks, and keep nothing of this one.")
@click.option("--statistics", is_flag=True, help="Tell how far foreseeing reached.")
@click.option("--stdin-filename", metavar="FILE", help="The name that `-` goes by.")
def command(
    paths: tuple[str, ...],
    form: str,
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    exclude: tuple[str, ...],
    python: str | None,
    extra_path: tuple[Path, ...],
    catalog: tuple[Path, ...],
    jobs: int | None,
    no_cache: bool,
    statistics: bool,
    stdin_filename: str | None,
) -> int:
    """Foresee which calls will raise, in files and folders (default: this one); `-` reads standard input.

    Exit code 1 where a finding is left, 0 where none is, 2 where something could not be checked.
    """
    began = time.perf_counter()
    gc.disable()
    from raiselens_server.cli.fixing import repair_all
    from raiselens_server.cli.plan import make_plan
    from raiselens_server.cli.pool import check_all
    from raiselens_server.cli.report import Report, print_report

    paths = paths or (".",)
    refuse_empty(paths)
    data = (read_stdin("check"), stdin_filename) if "-" in paths else None
    flags: dict[str, Any] = {
        "select": split_rules(select),
        "ignore": split_rules(ignore),
        "unsafe-fixes": unsafe_fixes,
    }
    plan = make_plan(paths, Where(python, extra_path, catalog), flags, _checked(exclude), data)
    # Repairs are worked out again and again on files that change meanwhile.
    remember = not (no_cache or fix or diff)
    outcomes = list(check_all(plan.groups, plan.jobs, jobs, remember=remember))
    repaired = repair_all(plan, outcomes, write=fix and not diff) if fix or diff else None
    unknown = _unknown_rules(plan, outcomes, flags["select"])
    report = Report(plan, outcomes, repaired, diff=diff, statistics=statistics, seconds=time.perf_counter() - began)
    problems = _tell_problems(plan, outcomes, [] if repaired is None else repaired.errors)
    for rule in unknown:
        tell(f"raiselens check: --select {rule}: no record and no guard here has this rule; `*` stands for any text")
    if form != "text" or report.findings or not unknown:
        # That nothing was found says nothing where nothing could be.
        print_report(report, form, emit=emit, print_json=print_json)
    if problems or unknown:
        return 2
    return 1 if report.findings else 0


def _checked(exclude: tuple[str, ...]) -> tuple[str, ...]:
    from raiselens_server.config import SettingError, check_pattern

    for pattern in exclude:
        try:
            check_pattern(pattern)
        except SettingError as error:
            raise click.UsageError(f"--exclude: {error}") from error
    return exclude


def _unknown_rules(plan: Plan, outcomes: list[Outcome], select: list[str]) -> list[str]:
    found = {diagnosis.rule for outcome in outcomes for diagnosis in outcome.diagnoses}
    doubtful = [rule for rule in select if rule not in found]
    if not doubtful or not plan.groups:
        return []
    from raiselens_server.cli.options import open_catalog
    from raiselens_server.cli.rules import unknown_rules

    return unknown_rules(doubtful, plan, open_catalog(plan.groups[0].settings, plan.groups[0].catalogs))


def _tell_problems(plan: Plan, outcomes: list[Outcome], unwritten: list[Skipped]) -> bool:
    """One line on stderr for each file that was not checked; whether any of them makes the run a failure."""
    for item in plan.skipped:
        tell(f"skipped {item.file}: {item.reason}")
    for outcome in outcomes:
        if outcome.unreadable is not None:
            tell(f"skipped {outcome.file}: {outcome.unreadable}")
        if outcome.internal is not None:
            tell(f"{outcome.file}: internal error: {outcome.internal} (set RAISELENS_DEBUG=1 for the traceback)")
    for item in (*plan.refused, *unwritten):
        tell(f"raiselens check: {item.file}: {item.reason}")
    return bool(plan.refused or unwritten) or any(outcome.internal is not None for outcome in outcomes)
