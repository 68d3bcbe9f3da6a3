"""The files of one check or one editor session, and the findings in them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from raiselens_server.error import RaisedError
    from raiselens_server.source.environment import Environment


@dataclass(slots=True)
class Statistics:
    """How far foreseeing reached: calls seen, callees resolved, guards reached and decided, the rest by cause."""

    calls: int = 0
    resolved: int = 0
    guards_reached: int = 0
    guards_decided: int = 0
    undecided: Counter[str] = field(default_factory=Counter)

    def add(self, other: Statistics) -> None:
        """Add `other`'s counts to these."""
        self.calls += other.calls
        self.resolved += other.resolved
        self.guards_reached += other.guards_reached
        self.guards_decided += other.guards_decided
        self.undecided.update(other.undecided)


@dataclass(frozen=True, slots=True)
class FileReport:
    """What foreseeing found in one file; every error's origin is `Foreseen`."""

    file: str
    errors: tuple[RaisedError, ...]
    statistics: Statistics


class Project:
    """Source files under one environment, kept parsed between questions.

    `named` are the files and folders that the user asked about or has open: a finding is reported at the deepest
    frame that lies in one of them. Texts given to `open` stand for the file's content until `close`.
    Not safe for use from several threads at once: the caller serialises.
    """

    def __init__(self, environment: Environment, named: Iterable[str] = ()) -> None:
        """Use `environment` for imports."""
        raise NotImplementedError

    def open(self, path: str, text: str) -> None:
        """Let `text` stand for the content of `path` (an unsaved editor buffer), and count the file as named."""
        raise NotImplementedError

    def close(self, path: str) -> None:
        """Let the file on disk count again."""
        raise NotImplementedError

    def check(self, path: str, text: str | None = None) -> FileReport:
        """Foresee the errors of one file: its top level, if run as a script, and each of its functions.

        `text` stands for the file's content in this one question only. Raises OSError where the file cannot be read.
        """
        raise NotImplementedError
