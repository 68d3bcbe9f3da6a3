"""Text in which each piece says what it is, so that an edge can paint it, or leave it plain."""

from __future__ import annotations

import enum
import unicodedata
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable


class Style(enum.Enum):
    """What a piece of text is; which colour that means is the terminal's business."""

    PLAIN = enum.auto()
    STRONG = enum.auto()
    ERROR = enum.auto()
    WARNING = enum.auto()
    NOTE = enum.auto()
    GUTTER = enum.auto()
    FAINT = enum.auto()
    FIX = enum.auto()
    ADDED = enum.auto()
    REMOVED = enum.auto()


Piece: TypeAlias = tuple[Style, str]
Line: TypeAlias = tuple[Piece, ...]

TAB = 4


def line(*pieces: str | Piece) -> Line:
    """A line of text; bare strings are plain."""
    return tuple((Style.PLAIN, piece) if isinstance(piece, str) else piece for piece in pieces)


def plain(lines: Iterable[Line]) -> str:
    """The text alone, each line ended."""
    return "".join("".join(text for _, text in pieces) + "\n" for pieces in lines)


def visible(text: str) -> str:
    """`text` with control characters written out, so that a log or a file cannot steer the terminal."""
    if text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def columns(text: str) -> tuple[str, tuple[int, ...]]:
    """`text` as a terminal shows it, and where each character starts there; one more entry says where the text ends."""
    shown: list[str] = []
    starts: list[int] = []
    at = 0
    for character in text:
        starts.append(at)
        piece = " " * (TAB - at % TAB) if character == "\t" else _shown(character)
        shown.append(piece)
        at += sum(map(_width, piece))
    return "".join(shown), (*starts, at)


def _shown(character: str) -> str:
    if character.isprintable() or character in "\u200d\u200c":
        return character
    return f"\\u{ord(character):04x}" if ord(character) > 0xFF else f"\\x{ord(character):02x}"


def _width(character: str) -> int:
    if unicodedata.combining(character) or character == "\u200d":
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1
