"""What reading a text gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raiselens_server.error import RaisedError


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text holds.

    `errors` are in the order of their lines, the same error of several ranks or logged again folded into its first
    occurrence. `primary` is the index of the one to look at first, `None` where there is no error, or only warnings.
    `why` says in one sentence why the primary is not the last error of the text; empty where it is.
    """

    errors: tuple[RaisedError, ...] = ()
    primary: int | None = None
    why: str = ""
