"""`# raiselens: ignore[rule, …]`: findings that the user has looked at, and comments that no longer hide any.

A comment covers the statement that it stands on, on any of its lines. Without brackets it covers every rule.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from raiselens_server.error import Diagnosis, Foreseen, Place, RaisedError, Severity, Span

if TYPE_CHECKING:
    from collections.abc import Iterable

UNUSED_IGNORE = "unused-ignore"
MARK = "raiselens:"
_DIRECTIVE = re.compile(r"#[ \t]*raiselens:[ \t]*ignore(?:\[([^\]\n]*)\])?(?![\w\[])")


@dataclass(frozen=True, slots=True)
class Ignore:
    """One comment; `rules` is empty where it covers every rule."""

    span: Span
    rules: tuple[str, ...]

    def covers(self, diagnosis: Diagnosis) -> str | None:
        """The rule as the comment names it (empty where it names none), `None` where it does not cover."""
        match diagnosis.error.origin:
            case Foreseen(place=place) if place.span.line <= self.span.line <= place.span.end_line:
                pass
            case _:
                return None
        if not self.rules:
            return ""
        names = {diagnosis.rule} | ({diagnosis.record.record_id} if diagnosis.record is not None else set())
        return next((rule for rule in self.rules if rule in names), None)


def find_ignores(text: str) -> tuple[Ignore, ...]:
    """The ignore comments of Python source, in order; what only looks like one inside a string is none."""
    if MARK not in text:
        return ()
    found = list(_DIRECTIVE.finditer(text))
    if not found:
        return ()
    # Imported late: few files hold an ignore comment.
    from raiselens_server.source.syntax import parse

    root = parse(text.encode("utf-8", "surrogatepass")).root_node
    ignores = []
    for match in found:
        start = len(text[: match.start()].encode("utf-8", "surrogatepass"))
        node = root.descendant_for_byte_range(start, start + 1)
        if node is not None and node.type == "comment":
            rules = tuple(rule.strip() for rule in (match[1] or "").split(",") if rule.strip())
            ignores.append(Ignore(_span(text, match.start(), match.end()), rules))
    return tuple(ignores)


def suppress(text: str, file: str, diagnoses: Iterable[Diagnosis]) -> tuple[Diagnosis, ...]:
    """The diagnoses that no comment covers, and one `unused-ignore` for each comment (or part of one) that hides none.

    All of a file's findings must be given, also those that settings leave out: a comment is used if it hides one.
    """
    ignores = find_ignores(text)
    if not ignores:
        return tuple(diagnoses)
    left: list[Diagnosis] = []
    used: dict[Ignore, set[str]] = {ignore: set() for ignore in ignores}
    for diagnosis in diagnoses:
        hits = [(ignore, rule) for ignore in ignores if (rule := ignore.covers(diagnosis)) is not None]
        for ignore, rule in hits:
            used[ignore].add(rule)
        if not hits:
            left.append(diagnosis)
    for ignore, rules in used.items():
        unused = [rule for rule in ignore.rules if rule not in rules]
        if unused or (not ignore.rules and not rules):
            left.append(_unused(file, ignore, unused))
    return tuple(left)


def _unused(file: str, ignore: Ignore, rules: list[str]) -> Diagnosis:
    named = f"[{', '.join(rules)}]" if rules else ""
    origin = Foreseen(Place(file, ignore.span), Severity.WARNING, UNUSED_IGNORE, "", "", None)
    return Diagnosis(RaisedError("", f"Unused `raiselens: ignore{named}`: it hides no finding", (), origin), None)


def _span(text: str, start: int, end: int) -> Span:
    line_start = text.rfind("\n", 0, start) + 1
    line = text.count("\n", 0, start) + 1
    return Span(line, start - line_start + 1, line, end - line_start + 1)
