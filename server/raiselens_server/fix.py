"""Applying repairs to text, again and again until none is left. Pure: texts in, texts out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from raiselens_server.source.syntax import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from raiselens_server.error import Diagnosis, Edit, Repair

MOST_ROUNDS = 50
"""Rounds of repairing before giving up: each must leave the text different from all before it."""


class EditError(ValueError):
    """Edits that do not fit the text, or each other."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """What repairing came to: the texts that changed, how many repairs were applied, and what is left by file."""

    changed: dict[str, str]
    applied: int
    left: dict[str, tuple[Diagnosis, ...]]


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """`text` with all `edits` of its file made at once. Raises EditError where one is outside or two overlap."""
    starts = _line_starts(text)
    ends = "\r\n" if "\r\n" in text else "\n"
    cuts = []
    for edit in edits:
        span = edit.place.span
        begin = _offset(text, starts, span.line, span.column)
        end = _offset(text, starts, span.end_line, span.end_column)
        cuts.append((begin, end, edit.text.replace("\r\n", "\n").replace("\n", ends)))
    cuts.sort()
    pieces: list[str] = []
    at = 0
    for begin, end, new in cuts:
        if begin < at or end < begin:
            raise EditError("two edits overlap")
        pieces += (text[at:begin], new)
        at = end
    return "".join((*pieces, text[at:]))


def choose(diagnosis: Diagnosis, *, unsafe: bool) -> Repair | None:
    """The repair to apply without asking: the preferred one, else the first safe one, else, with `unsafe`, the first."""
    order = sorted(diagnosis.repairs, key=lambda repair: (not repair.preferred, not repair.safe))
    return next((repair for repair in order if repair.safe or unsafe), None)


def still_parses(before: str, after: str) -> bool:
    """Whether an edit left Python text as sound as it was."""
    return not _has_errors(after) or _has_errors(before)


def fix_texts(
    texts: Mapping[str, str],
    check: Callable[[str], tuple[Diagnosis, ...]],
    replace: Callable[[str, str], None],
    *,
    unsafe: bool = False,
) -> Fixed:
    """Repair the files of `texts` until nothing is left to apply.

    `check` gives the findings of one of these files as they are now; `replace` is told each new text. A repair that
    reaches into any other file is left alone.
    """
    # The caller's own mapping may change with `replace`.
    texts = dict(texts)
    now = dict(texts)
    left: dict[str, tuple[Diagnosis, ...]] = {}
    trails = {file: [_Step(text)] for file, text in texts.items()}
    joint: set[str] = set()
    settled: set[str] = set()
    singly: set[str] = set()
    pending: Sequence[str] = list(texts)
    for _ in range(MOST_ROUNDS):
        for file in pending:
            left[file] = check(file)
            if file not in settled:
                trails[file][-1].findings = len(left[file])
        for file in pending:
            if _at_odds(trails[file]) and file not in joint:
                # Each of the repairs was checked without the others: from here on one at a time.
                singly.add(file)
                trails[file].pop()
                now[file] = trails[file][-1].text
                replace(file, now[file])
                left[file] = check(file)
        open_ones = (diagnosis for file, found in left.items() if file not in settled for diagnosis in found)
        chosen = _compatible(open_ones, now, singly, unsafe=unsafe)
        edited: dict[str, str] = {}
        for file, edits in _by_file(chosen).items():
            text = apply_edits(now[file], edits)
            if any(step.text == text for step in trails[file]):
                settled.add(file)
                if file not in joint:
                    _leave_circle(trails[file], text)
            elif still_parses(now[file], text):
                edited[file] = text
        # A repair counts as a whole: with one of its files refused the others keep their text too.
        kept = [repair for repair in chosen if all(edit.place.file in edited for edit in repair.edits)]
        if len(kept) != len(chosen):
            chosen, edited = kept, {file: apply_edits(now[file], own) for file, own in _by_file(kept).items()}
        if not edited:
            break
        joint |= {edit.place.file for repair in chosen if len(_by_file([repair])) > 1 for edit in repair.edits}
        for file, text in edited.items():
            trails[file].append(_Step(text, sum(repair.edits[0].place.file == file for repair in chosen)))
            replace(file, text)
        now |= edited
        pending = [file for file in texts if file in edited or left[file]]
    for file in settled:
        trail = trails[file]
        if trail[-1].text != now[file]:
            now[file] = trail[-1].text
            replace(file, now[file])
            left[file] = check(file)
    changed = {file: text for file, text in now.items() if text != texts[file]}
    return Fixed(changed, sum(step.repairs for trail in trails.values() for step in trail), left)


@dataclass(slots=True)
class _Step:
    """A text that a file had, how many repairs led to it, and how many findings it has."""

    text: str
    repairs: int = 0
    findings: int = 0


def _leave_circle(trail: list[_Step], text: str) -> None:
    """The repairs of a file lead back to `text`: of the texts on the way round, go back to the one with fewest findings.

    The first of several, for what came after it was for nothing.
    """
    begin = next(i for i, step in enumerate(trail) if step.text == text)
    best = min(range(begin, len(trail)), key=lambda i: trail[i].findings)
    del trail[best + 1 :]


def _at_odds(trail: list[_Step]) -> bool:
    """Whether several repairs at once did not make as many findings fewer."""
    if len(trail) < 2 or trail[-1].repairs < 2:
        return False
    return trail[-1].findings > trail[-2].findings - trail[-1].repairs


def _compatible(
    diagnoses: Iterable[Diagnosis], texts: Mapping[str, str], singly: Collection[str], *, unsafe: bool
) -> list[Repair]:
    """One repair a finding, so that no two touch the same text, and only one in a file of `singly`."""
    chosen: list[Repair] = []
    taken: dict[str, list[Edit]] = {}
    for diagnosis in diagnoses:
        repair = choose(diagnosis, unsafe=unsafe)
        if repair is None or repair in chosen or not repair.edits:
            continue
        together = {file: [*taken.get(file, []), *edits] for file, edits in _by_file([repair]).items()}
        if any(file in singly and file in taken for file in together):
            continue
        if any(_insert_at_one_place(edits) for edits in together.values()):
            continue
        try:
            for file, edits in together.items():
                apply_edits(texts[file], edits)
        except (EditError, KeyError):
            continue
        chosen.append(repair)
        taken |= together
    return chosen


def _insert_at_one_place(edits: Sequence[Edit]) -> bool:
    """Whether two edits insert at the same place: each was checked without the other's text before or behind it."""
    places = [edit.place.span for edit in edits]
    return len(set(places)) < len(places)


def _by_file(repairs: Iterable[Repair]) -> dict[str, list[Edit]]:
    files: dict[str, list[Edit]] = {}
    for repair in repairs:
        for edit in repair.edits:
            own = files.setdefault(edit.place.file, [])
            # Two findings may be mended by the same edit.
            if edit not in own:
                own.append(edit)
    return files


def _line_starts(text: str) -> list[int]:
    starts = [0]
    at = text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    return starts


def _offset(text: str, starts: list[int], line: int, column: int) -> int:
    if not 1 <= line <= len(starts):
        raise EditError(f"line {line} is outside the text")
    behind = starts[line] if line < len(starts) else len(text) + 1
    offset = starts[line - 1] + column - 1
    if not starts[line - 1] <= offset < behind:
        raise EditError(f"column {column} is outside line {line}")
    return offset


def _has_errors(text: str) -> bool:
    return parse(text.encode("utf-8", "surrogatepass")).root_node.has_error
