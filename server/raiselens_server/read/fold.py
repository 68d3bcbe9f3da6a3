"""The same error, told again: by another rank, by a second logger, in a summary. Folded into its first occurrence."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from raiselens_server.error import Role
from raiselens_server.read.names import last_part

if TYPE_CHECKING:
    from raiselens_server.read.draft import Draft, Unit

_DIGITS = re.compile(r"\d+|0x[0-9a-fA-F]+")
_MAX_UNITS = 10_000
_MAX_COMPARED = 32

Key: TypeAlias = tuple[object, ...]


@dataclass(slots=True)
class Fold:
    """The units read so far, each once. Memory is bounded: past the bound, unseen units are counted, not kept."""

    units: list[Unit] = field(default_factory=list)
    left_out: int = 0
    _exact: dict[Key, int] = field(default_factory=dict)
    _ranks: dict[Key, int] = field(default_factory=dict)
    _first_lines: dict[tuple[str, str], int] = field(default_factory=dict)
    _raised: dict[str, list[int]] = field(default_factory=dict)

    def add(self, unit: Unit, *, brief: bool) -> Unit | None:
        """Keep the unit and return it, or fold it into an earlier one. `brief`: its text is one line, maybe cut."""
        exact = tuple((draft.class_name, draft.text()) for draft in unit.errors)
        index = self._exact.get(exact)
        if index is None and unit.tag:
            index = self._ranks.get(_of_ranks(unit))
            if index is not None and self.units[index].tag == unit.tag:
                index = None
        if index is None and brief:
            index = self._told(unit.errors[-1])
        if index is not None:
            self._merge(index, unit)
            return None
        if len(self.units) >= _MAX_UNITS:
            self.left_out += 1
            return None
        replaced = self._announced(unit)
        if replaced is not None:
            self._replace(replaced, unit)
            index = replaced
        else:
            index = len(self.units)
            self.units.append(unit)
        self._exact[exact] = index
        if unit.tag:
            self._ranks.setdefault(_of_ranks(unit), index)
            raised(unit).ranks.append(unit.tag)
        name, first = last_part(raised(unit).class_name), raised(unit).text().split("\n", 1)[0]
        self._first_lines.setdefault((name, first), index)
        self._first_lines.setdefault(("", first), index)
        for member in unit.errors:
            if member.role is Role.GROUP_MEMBER:
                told = last_part(member.class_name), member.text().split("\n", 1)[0]
                self._first_lines.setdefault(told, index)
        self._raised.setdefault(name, []).append(index)
        return unit

    def _merge(self, index: int, unit: Unit) -> None:
        """Count the unit with the one at `index`; whichever stands first in the text is the one that stays."""
        first, error = raised(self.units[index]), raised(unit)
        tags = [unit.tag] if unit.tag else []
        if error.line < first.line and len(unit.errors) == len(self.units[index].errors):
            self.units[index] = unit
            error.count, error.ranks = error.count + first.count, _union(tags, first.ranks)
            error.interrupted |= first.interrupted
        else:
            first.count, first.ranks = first.count + error.count, _union(first.ranks, tags)
            first.interrupted |= error.interrupted
            first.frames = first.frames or error.frames

    def _told(self, brief: Draft) -> int | None:
        """The unit that a line of a summary, or a logger's line, tells again."""
        text, name = brief.text(), last_part(brief.class_name)
        index = self._first_lines.get((name, text))
        if index is not None:
            return index
        cut = text.removesuffix("...")
        if not cut or (cut == text and name):
            return None
        recent = self._raised.get(name, ()) if name else range(len(self.units))
        for candidate in recent[-_MAX_COMPARED:]:
            if raised(self.units[candidate]).text().startswith(cut):
                return candidate
        return None

    def _announced(self, unit: Unit) -> int | None:
        """The earlier lone line, without frames, that announced this unit's error."""
        error = raised(unit)
        if not error.frames:
            return None
        for index in self._raised.get(last_part(error.class_name), ())[-8:]:
            earlier = self.units[index]
            if len(earlier.errors) == 1 and not earlier.errors[0].frames:
                text = earlier.errors[0].text()
                if text and (text == error.text() or text == error.text().split("\n", 1)[0]):
                    return index
        return None

    def _replace(self, index: int, unit: Unit) -> None:
        earlier = raised(self.units[index])
        error = raised(unit)
        error.count += earlier.count
        error.ranks.extend(earlier.ranks)
        self.units[index] = unit


def raised(unit: Unit) -> Draft:
    """What the unit finally raised: the last error of its chain, outside every group and every quotation."""
    for draft in reversed(unit.errors):
        if not draft.embedded and draft.role.value in {"root", "summary", "warning"}:
            return draft
    return next((draft for draft in reversed(unit.errors) if not draft.embedded), unit.errors[-1])


def _union(first: list[str], second: list[str]) -> list[str]:
    return [*first, *(tag for tag in second if tag not in first)]


def _of_ranks(unit: Unit) -> Key:
    """What the same failure has in common on two ranks: numbers in messages differ, places do not."""
    error = raised(unit)
    places = tuple((frame.file, frame.line) for frame in error.frames)
    return (error.class_name, _DIGITS.sub("0", error.text()), places)
