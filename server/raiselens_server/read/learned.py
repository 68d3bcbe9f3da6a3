"""Prefixes of shapes that nobody listed: learned from what stands before the first line of a traceback.

A shape is the text with its runs of digits open, since times and counters differ from line to line. Runs that look
like a time, a date or a running number say nothing of who speaks; the others do (`worker-3`), so they are part of the key.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raiselens_server.read.lines import Line

_DIGITS = re.compile(r"\d+")
_TIMES = re.compile(r"\d+(?:[:.,/T-]\d+)+Z?|(?<=#)\d+|(?<![\w=-])\d{6,}")
_COUNTER = re.compile(r"(?<![\w:.,/+-])\d{1,9}(?![:.,/+-]?\w)")
_WORDS = re.compile(r"[A-Za-z]{3,}")
_MOST_WORDS = 3
_LONGEST = 160


@dataclass(frozen=True, slots=True)
class Template:
    """A learned prefix, and the text that ends each line, if any does (the right side of a pasted table)."""

    pattern: re.Pattern[str]
    bare: re.Pattern[str]
    suffix: str
    first: str
    """The prefix that it was learned from."""
    counter: int | None = None
    """Which of its numbers counts lines, and so says nothing of who speaks."""

    @property
    def is_tag(self) -> bool:
        """Whether the prefix names something, and is no sentence that introduces the traceback."""
        return len(_WORDS.findall(self.pattern.pattern)) <= _MOST_WORDS

    def match(self, text: str) -> tuple[int, str] | None:
        """How much of `text` is prefix, and the speaker's key."""
        found = self.pattern.match(text[: _LONGEST * 2]) or self.bare.fullmatch(text[: _LONGEST * 2])
        if found is None:
            return None
        key = found.group()
        if self.counter is not None:
            runs = list(_DIGITS.finditer(key))
            key = (
                key[: runs[self.counter].start()] + key[runs[self.counter].end() :] if self.counter < len(runs) else key
            )
        return found.end(), "~" + _TIMES.sub("", key).strip()

    def bare_lines(self, line: Line) -> list[Line]:
        """The line without the prefix; nothing where it has none."""
        found = self.match(line.text)
        return [line.drop(found[0])] if found is not None else []

    def counting(self, prefix: str, lines: int) -> Template:
        """The template, now that a prefix so many lines below is known: a number that grew with them counts lines."""
        pairs = zip(_DIGITS.finditer(self.first), _DIGITS.finditer(prefix), strict=False)
        grown = [
            index
            for index, (before, after) in enumerate(pairs)
            if _COUNTER.match(self.first, before.start())
            and lines
            and int(after.group()) - int(before.group()) == lines
        ]
        return replace(self, counter=grown[0]) if grown else self

    def trim(self, text: str) -> str:
        """`text` without the learned ending."""
        bare = text.rstrip()
        if self.suffix and bare.endswith(self.suffix):
            return bare[: -len(self.suffix)].rstrip()
        return text


def speaker(key: str) -> str:
    """The key as a name to show: without the marks around it."""
    return key.replace("~", "").strip(" :|>")


def learn(prefix: str, suffix: str = "") -> Template | None:
    """The template of a prefix as it was seen once; None for what is no prefix."""
    if not prefix.strip() or len(prefix) > _LONGEST or '"' in prefix or "{" in prefix:
        return None
    # Numbers at the start are often padded to one width.
    padding = " {0,6}" if prefix.lstrip()[0].isdigit() else ""
    text = prefix.lstrip(" ") if padding else prefix
    shape = padding + r"\d+".join(re.escape(part) for part in _DIGITS.split(text))
    bare = padding + r"\d+".join(re.escape(part) for part in _DIGITS.split(text.rstrip()))
    return Template(re.compile(shape), re.compile(bare), suffix.strip(), prefix)
