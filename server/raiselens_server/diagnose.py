"""The one hall where both ways in meet: errors → records → repairs.

Foreseen errors come from `foresee`, observed ones from `read`; both leave as `Diagnosis`, and no surface asks which
way one came.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raiselens_catalog import Catalog

    from raiselens_server.error import Diagnosis, RaisedError
    from raiselens_server.foresee import Project, Statistics


@dataclass(frozen=True, slots=True)
class Checked:
    """The findings of one file."""

    file: str
    diagnoses: tuple[Diagnosis, ...]
    statistics: Statistics


def check(project: Project, catalog: Catalog, path: str, text: str | None = None, *, repairs: bool = True) -> Checked:
    """Foresee, match and repair the errors of one file. Raises OSError where it cannot be read."""
    raise NotImplementedError


def explain(project: Project | None, catalog: Catalog, errors: Sequence[RaisedError]) -> tuple[Diagnosis, ...]:
    """Match observed errors, and repair those whose frames lie in the project's files."""
    raise NotImplementedError
