"""Findings and explained errors for people: what happens, where it comes from, what to do."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from raiselens_catalog import stub_roots, stubs_root
from raiselens_server.error import Foreseen, Observed, Role, Severity
from raiselens_server.present.excerpt import Mark, excerpts
from raiselens_server.present.headline import condition_of, headline, severity_of
from raiselens_server.present.styled import Style, line, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from raiselens_catalog import Entry, Record
    from raiselens_server.diagnose import Explained
    from raiselens_server.error import Diagnosis, Frame, RaisedError, Repair
    from raiselens_server.present.styled import Line

SEVERITY_STYLE = {Severity.ERROR: Style.ERROR, Severity.WARNING: Style.WARNING}
FRAMES_SHOWN = 6

PROSE = 100
"""Columns of running text."""


def finding_text(
    diagnosis: Diagnosis, read: Callable[[str], str | None], shown: Callable[[str], str]
) -> Iterator[Line]:
    """One finding with its excerpts, and an empty line behind it."""
    error, origin = diagnosis.error, diagnosis.error.origin
    if not isinstance(origin, Foreseen):
        raise TypeError("an observed error is shown by `explained_text`")
    style = SEVERITY_STYLE[origin.severity]
    yield from _head(origin.severity.value, style, headline(error))
    called = origin.callee.rpartition(".")[2]
    said = f"{called} raises here" if called and error.class_name else ""
    marks = [Mark(origin.place, said, style, primary=True)]
    marks += [Mark(related.place, related.message, Style.NOTE) for related in origin.related]
    yield from excerpts(marks, read, shown)
    yield from _notes(diagnosis, origin, shown)
    yield line()


def _head(word: str, style: Style, said: str) -> Iterator[Line]:
    first, *rest = said.split("\n")
    yield line((style, f"{word}: "), (Style.STRONG, visible(first)))
    for text in rest:
        yield line("  ", (Style.STRONG, visible(text)))


def _notes(diagnosis: Diagnosis, origin: Foreseen, shown: Callable[[str], str]) -> Iterator[Line]:
    error = diagnosis.error
    # Where there is no message the condition is the headline.
    if origin.condition and error.message:
        yield _note("guard", visible(origin.condition))
    if len(error.frames) > 1:
        guard = error.frames[-1]
        yield _note("raised", _guard_place(guard, shown), f" in {guard.function}")
    if origin.when is not None:
        yield _note("when", visible(origin.when))
    if not origin.message_certain:
        yield _note("note", "an earlier check was not decided, so that another message may come first")
    for repair in diagnosis.repairs:
        yield _fix_note(repair)
    # The rule is what ignore comments, settings and `explain` take.
    yield _note("rule", diagnosis.rule)


def _guard_place(guard: Frame, shown: Callable[[str], str]) -> str:
    path = Path(guard.file)
    stubs = next((root for root in stub_roots() if path.is_relative_to(root)), None)
    if stubs is not None:
        # A stub's own path and line would lead nobody to the library's code.
        kind = "bundled" if stubs == stubs_root() else "built"
        return f"{path.relative_to(stubs).as_posix()}, as its {kind} stub has it"
    return f"{shown(guard.file)}:{guard.line}"


def _note(name: str, text: str, more: str = "") -> Line:
    return line((Style.GUTTER, "  = "), (Style.NOTE, f"{name}: "), text, (Style.FAINT, more))


def _fix_note(repair: Repair) -> Line:
    how = "--fix" if repair.safe else "--fix --unsafe-fixes"
    return line((Style.GUTTER, "  = "), (Style.FIX, "fix: "), visible(repair.title), (Style.FAINT, f"  ({how})"))


def explained_text(explained: Explained, entry_of: Callable[[Diagnosis], Entry | None]) -> Iterator[Line]:
    """The errors of a text: the primary one in full, the others in a line each."""
    order = sorted(range(len(explained.diagnoses)), key=lambda number: number != explained.primary)
    for position, number in enumerate(order):
        diagnosis = explained.diagnoses[number]
        if position == 0:
            entry = entry_of(diagnosis)
            yield from _explained(diagnosis, None if entry is None else entry.record, explained.local)
            if explained.why:
                yield _note("note", visible(explained.why))
            if len(order) > 1:
                yield line()
                yield line((Style.STRONG, "Also in this text"))
        else:
            yield from _brief(diagnosis)


def _explained(diagnosis: Diagnosis, record: Record | None, local: Mapping[str, str]) -> Iterator[Line]:
    error = diagnosis.error
    style = Style.WARNING if _role(error) is Role.WARNING else SEVERITY_STYLE[severity_of(error)]
    yield from _head(_role_word(error), style, headline(error))
    yield _note("read", _where(error))
    frames = error.frames[-FRAMES_SHOWN:]
    for frame in reversed(frames):
        file = visible(local.get(frame.file, frame.file))
        yield line((Style.GUTTER, "  at "), f"{file}:{frame.line}", (Style.FAINT, f" in {visible(frame.function)}"))
    if len(frames) < len(error.frames):
        yield line((Style.GUTTER, "  at "), (Style.FAINT, f"… {len(error.frames) - len(frames)} more frames"))
    if (condition := condition_of(error)) and error.message:
        yield _note("guard", visible(condition))
    yield from _record_text(diagnosis, record)
    for repair in diagnosis.repairs:
        yield line((Style.GUTTER, "  = "), (Style.FIX, "fix: "), visible(repair.title))
        for edit in repair.edits:
            place = f"{edit.place.file}:{edit.place.span.line}:{edit.place.span.column}"
            yield line((Style.GUTTER, "      "), f"{place}: ", (Style.ADDED, visible(edit.text)))


def _record_text(diagnosis: Diagnosis, record: Record | None) -> Iterator[Line]:
    if record is None or diagnosis.record is None:
        yield _note("record", "none in the catalog matches this error")
        return
    yield line()
    if diagnosis.record.how == "fuzzy":
        yield line((Style.WARNING, "A similar error is known, this one is not:"))
    captures = ", ".join(f"{name} = {value}" for name, value in diagnosis.record.captures.items())
    if captures:
        yield from _section("Here", visible(captures))
    yield from _section("What it means", record.documentation)
    yield from _section("When it happens", record.trigger_scenarios)
    yield from _section("Common situations", record.common_situations)
    if record.solutions:
        yield line((Style.STRONG, "Solutions"))
        for number, solution in enumerate(record.solutions, 1):
            yield from _wrapped(solution, f"  {number}. ", "     ")
    yield from _section("Example", record.example_fix, prose=False)
    if record.github_url:
        yield line((Style.FAINT, f"Source: {visible(record.github_url)}"))
    yield line((Style.FAINT, f"Rule {record.slug}, record {record.id}: raiselens catalog show {record.id}"))


def _section(title: str, text: str | None, *, prose: bool = True) -> Iterator[Line]:
    if text and text.strip():
        yield line((Style.STRONG, title))
        for paragraph in text.strip().split("\n"):
            yield from _wrapped(paragraph) if prose else (line(f"  {visible(paragraph)}"),)


def _wrapped(text: str, first: str = "  ", rest: str = "  ") -> Iterator[Line]:
    # A path or an expression in the middle of a sentence stays in one piece, to be copied.
    rows = textwrap.wrap(
        visible(text),
        PROSE,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    yield from map(line, rows)


def _brief(diagnosis: Diagnosis) -> Iterator[Line]:
    error = diagnosis.error
    rule = f"  [{diagnosis.rule}]" if diagnosis.rule else ""
    said = headline(error).split("\n")[0]
    yield line((Style.GUTTER, f"  {_where(error)}: "), f"{_role_word(error)}: {visible(said)}", (Style.FAINT, rule))


def _where(error: RaisedError) -> str:
    match error.origin:
        case Observed(line=number, ranks=ranks, count=count):
            parts = [f"line {number}"]
            if ranks:
                parts.append(f"{', '.join(ranks)}")
            if count > max(1, len(ranks)):
                parts.append(f"{count} times")
            return "; ".join(parts)
        case Foreseen(place=place):
            return f"{place.file}:{place.span.line}"


def _role(error: RaisedError) -> Role:
    match error.origin:
        case Observed(role=role):
            return role
        case Foreseen():
            return Role.ROOT


def _role_word(error: RaisedError) -> str:
    words = {Role.ROOT: "error", Role.GROUP_MEMBER: "error (of a group)"}
    return words.get(_role(error), _role(error).value)
