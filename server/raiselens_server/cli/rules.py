"""Whether a rule that `--select` names can be one: a name nothing has would hide every finding in silence."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from raiselens_server.source.files import SourceError, read_source
from raiselens_server.suppress import UNUSED_IGNORE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from raiselens_catalog import Catalog
    from raiselens_server.cli.plan import Plan

PYTHONS_OWN: Final = frozenset(
    {
        *("call-missing-argument", "call-unexpected-argument", "call-too-many-arguments", "call-repeated-argument"),
        *("unpack-too-many", "unpack-not-enough", "index-out-of-range", "reraise"),
        *("none-attribute", "none-call", "none-iterate", "none-subscript", "none-unpack"),
        UNUSED_IGNORE,
    }
)
"""Rules that no source spells out."""

_OPERATIONS: Final = "torch-"
"""What the rules of torch's own operations begin with where no record names them."""

_CUT: Final = re.compile(r"-[0-9a-f]{8}$")
_IMPORTED: Final = re.compile(r"^[ \t]*(?:from|import)[ \t]+(\w+)", re.MULTILINE)


def unknown_rules(names: Iterable[str], plan: Plan, catalog: Catalog) -> list[str]:
    """Those of `names` that no rule can have: neither a record's, nor Python's own, nor any guard's.

    A guard's rule is made of the words of its message, or of its function and condition. So it may be one where a file
    that is checked, or one of a package that such a file imports, holds all its words. With a wildcard any may be.
    """
    doubtful = [
        name
        for name in names
        if not any(mark in name for mark in "*?")
        and name not in PYTHONS_OWN
        and not name.startswith(_OPERATIONS)
        and catalog.get(name) is None
    ]
    for text in _texts(plan) if doubtful else ():
        doubtful = [name for name in doubtful if not _holds(text, name)]
        if not doubtful:
            break
    return doubtful


def _holds(text: str, name: str) -> bool:
    # A rule that was cut short has a hash behind.
    return all(word in text for word in _CUT.sub("", name).split("-"))


def _texts(plan: Plan) -> Iterator[str]:
    """The sources that a rule may come from, in lower case."""
    imported: set[str] = set()
    for job in plan.jobs:
        try:
            text = read_source(job.file).text if job.source is None else job.source.text
        except (OSError, SourceError):
            continue
        imported.update(_IMPORTED.findall(text))
        yield text.lower()
    folders = {folder for group in plan.groups for folder in (*group.environment.search_path, *group.environment.stubs)}
    for folder in folders:
        for name in sorted(imported):
            for path in _sources(Path(folder, name)):
                try:
                    yield path.read_text(encoding="utf-8", errors="replace").lower()
                except OSError:
                    continue


def _sources(package: Path) -> Iterator[Path]:
    yield package.with_name(f"{package.name}.py")
    for folder, _, files in os.walk(package):
        yield from (Path(folder, file) for file in files if file.endswith(".py"))
