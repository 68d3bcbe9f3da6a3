"""Painting: the only place that knows colours, and whether to use any."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, TextIO

import click

from raiselens_server.present.styled import Style, visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from raiselens_server.present.styled import Line

_CODES = {
    Style.PLAIN: "",
    Style.STRONG: "1",
    Style.ERROR: "1;31",
    Style.WARNING: "1;33",
    Style.NOTE: "36",
    Style.GUTTER: "34",
    Style.FAINT: "2",
    Style.FIX: "32",
    Style.ADDED: "32",
    Style.REMOVED: "31",
}


def uses_colour(stream: TextIO) -> bool:
    """Colour only on a terminal; `NO_COLOR` and `FORCE_COLOR` (any text) decide otherwise, the former first."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def emit(lines: Iterable[Line], stream: TextIO | None = None) -> None:
    """Print lines, painted where the stream takes colour."""
    stream = sys.stdout if stream is None else stream
    colour = uses_colour(stream)
    for pieces in lines:
        text = "".join(_painted(style, piece) if colour else piece for style, piece in pieces)
        print(text, file=stream)


def emit_page(markdown: str) -> None:
    """Print Markdown: laid out on a terminal, as it is elsewhere."""
    if not uses_colour(sys.stdout):
        print(markdown, end="" if markdown.endswith("\n") else "\n")
        return
    from rich.console import Console
    from rich.markdown import Markdown

    width = min(shutil.get_terminal_size().columns, 110)
    Console(force_terminal=True, width=width).print(Markdown(markdown, hyperlinks=sys.stdout.isatty()))


def tell(text: str) -> None:
    """Print one line of message, apart from the results; control characters, as in names of files, are written out."""
    print(visible(text), file=sys.stderr, flush=True)


def tell_once(text: str) -> None:
    """`tell` a line that one run of a command may come upon again and again."""
    context = click.get_current_context(silent=True)
    told: set[str] = set() if context is None else context.meta.setdefault(f"{__name__}.told", set())
    if text not in told:
        told.add(text)
        tell(text)


def tell_lines(text: str) -> None:
    """Print several lines of message, as they are."""
    print(text, file=sys.stderr, flush=True)


def _painted(style: Style, text: str) -> str:
    code = _CODES[style]
    return f"\x1b[{code}m{text}\x1b[0m" if code and text else text
