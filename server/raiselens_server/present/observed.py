"""What every form of an explained error tells of it: where it was read, which frames are the user's, what is folded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from raiselens_server.error import Foreseen, Observed, Role

if TYPE_CHECKING:
    from collections.abc import Callable

    from raiselens_catalog import Entry, Record
    from raiselens_server.diagnose import Explained
    from raiselens_server.error import Diagnosis, Frame, RaisedError

MOST_BRIEF = 20
"""Other errors of a text that are named; the rest are counted."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """How to look things up for what is shown.

    `entry` gives a diagnosis' record, `read` a file's text (None where it cannot be read), `shown` a path as the user
    would write it.
    """

    entry: Callable[[Diagnosis], Entry | None]
    read: Callable[[str], str | None]
    shown: Callable[[str], str]


def in_order(explained: Explained) -> list[Diagnosis]:
    """The primary one, then the others as they stand in the text."""
    order = sorted(range(len(explained.diagnoses)), key=lambda number: number != explained.primary)
    return [explained.diagnoses[number] for number in order]


def read_at(error: RaisedError) -> str:
    """Where in the text an error was read, by whom it was told, how often."""
    match error.origin:
        case Observed(line=number, ranks=ranks, count=count):
            parts = [f"line {number}"]
            if ranks:
                parts.append(", ".join(ranks))
            if count > max(1, len(ranks)):
                parts.append(f"{count} times")
            return "; ".join(parts)
        case Foreseen(place=place):
            return f"{place.file}:{place.span.line}"


def role_of(error: RaisedError) -> Role:
    """What an error is to the others; what is foreseen has no others."""
    match error.origin:
        case Observed(role=role):
            return role
        case Foreseen():
            return Role.ROOT


def role_word(error: RaisedError) -> str:
    """The role in a word for people."""
    words = {Role.ROOT: "error", Role.GROUP_MEMBER: "error (of a group)"}
    role = role_of(error)
    return words.get(role, role.value)


def users_frames(error: RaisedError, explained: Explained, record: Record | None) -> tuple[Frame, ...]:
    """The deepest frame in the user's code, and before it the call of it where that very frame raises.

    Of files that are here, else of files that are no library's by their path. The frame that raises is none of the
    user's where the record says that the guard is a library's.
    """
    own = [frame for frame in error.frames if frame.file in explained.own]
    here = [frame for frame in own if frame.file in explained.local]
    library = "" if record is None or not record.file_path else _end_of(record.file_path)
    if library and not here:
        own = [frame for frame in own if not frame.file.replace("\\", "/").endswith(library)]
    own = here or own
    if not own:
        return ()
    raises = error.frames[-1] is own[-1]
    return tuple(own[-2:]) if raises else (own[-1],)


def _end_of(file_path: str) -> str:
    parts = file_path.split("/")
    return "/" + "/".join(parts[-3:]) if len(parts) >= 3 else ""


def source_of(frame: Frame, explained: Explained, read: Callable[[str], str | None]) -> str:
    """The line of source that a frame ran: as it was printed, else as it is here."""
    if frame.source:
        return frame.source
    path = explained.local.get(frame.file)
    text = None if path is None else read(path)
    lines = [] if text is None else text.split("\n")
    return lines[frame.line - 1].strip() if 1 <= frame.line <= len(lines) else ""
