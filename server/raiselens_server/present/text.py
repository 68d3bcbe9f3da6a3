"""Findings for people: what will happen, where it comes from, what to do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from raiselens_catalog import stub_roots, stubs_root
from raiselens_server.error import Foreseen, Severity
from raiselens_server.present.excerpt import Mark, excerpts
from raiselens_server.present.headline import headline
from raiselens_server.present.styled import Style, line, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from raiselens_server.error import Diagnosis, Frame, Repair
    from raiselens_server.present.styled import Line

SEVERITY_STYLE = {Severity.ERROR: Style.ERROR, Severity.WARNING: Style.WARNING}


def finding_text(
    diagnosis: Diagnosis, read: Callable[[str], str | None], shown: Callable[[str], str]
) -> Iterator[Line]:
    """One finding with its excerpts, and an empty line behind it."""
    error, origin = diagnosis.error, diagnosis.error.origin
    if not isinstance(origin, Foreseen):
        raise TypeError("an observed error is shown by `explained_text`")
    style = SEVERITY_STYLE[origin.severity]
    yield from head(origin.severity.value, style, headline(error))
    called = origin.callee.rpartition(".")[2]
    said = f"{called} raises here" if called and error.class_name else ""
    marks = [Mark(origin.place, said, style, primary=True)]
    marks += [Mark(related.place, related.message, Style.NOTE) for related in origin.related]
    yield from excerpts(marks, read, shown)
    yield from _notes(diagnosis, origin, shown)
    yield line()


def head(word: str, style: Style, said: str) -> Iterator[Line]:
    """The first lines of what is shown: the word, and the message behind it."""
    first, *rest = said.split("\n")
    yield line((style, f"{word}: "), (Style.STRONG, visible(first)))
    for text in rest:
        yield line("  ", (Style.STRONG, visible(text)))


def _notes(diagnosis: Diagnosis, origin: Foreseen, shown: Callable[[str], str]) -> Iterator[Line]:
    error = diagnosis.error
    if origin.condition and origin.condition not in headline(error):
        yield note("guard", visible(origin.condition))
    if len(error.frames) > 1:
        guard = error.frames[-1]
        yield note("raised", _guard_place(guard, shown), f" in {guard.function}")
    if origin.when is not None:
        yield note("when", visible(origin.when))
    if not origin.message_certain:
        yield note("note", "an earlier check was not decided, so that another message may come first")
    for repair in diagnosis.repairs:
        yield _fix_note(repair)
    # The rule is what ignore comments, settings and `explain` take.
    yield note("rule", diagnosis.rule)


def _guard_place(guard: Frame, shown: Callable[[str], str]) -> str:
    path = Path(guard.file)
    stubs = next((root for root in stub_roots() if path.is_relative_to(root)), None)
    if stubs is not None:
        # A stub's own path and line would lead nobody to the library's code.
        kind = "bundled" if stubs == stubs_root() else "built"
        return f"{path.relative_to(stubs).as_posix()}, as its {kind} stub has it"
    return f"{visible(shown(guard.file))}:{guard.line}"


def note(name: str, text: str, more: str = "") -> Line:
    """One line of what is known beside the message."""
    return line((Style.GUTTER, "  = "), (Style.NOTE, f"{name}: "), text, (Style.FAINT, more))


def _fix_note(repair: Repair) -> Line:
    how = "--fix" if repair.safe else "--fix --unsafe-fixes"
    return line((Style.GUTTER, "  = "), (Style.FIX, "fix: "), visible(repair.title), (Style.FAINT, f"  ({how})"))
