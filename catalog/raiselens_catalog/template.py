"""An error message as literals and holes, and what follows from it: matching, pattern, slug, id.

    "pool_out must be int32, got {pool_out.dtype}"  =  Part("pool_out must be int32, got "), Hole("pool_out.dtype")

A template is compared with the *whole* message: its first literal begins it, its last one ends it, those between are
found leftmost one after another, so a hole at the end takes everything that is left. This is linear in the message and
needs no regular expression; a hole may be empty and may hold line breaks. Blanks at the very end count for nothing, on
either side: what prints and collects messages drops or adds them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from raiselens_catalog.record import CatalogError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

SLUG_LENGTH: Final = 160
"""Slugs longer than this are cut at a word and end in a hash of the whole template."""

BLANKS: Final = " \t\r\n"
"""What does not count at the end of a message."""


@dataclass(frozen=True, slots=True)
class Hole:
    """A part of a message that differs from run to run; `expr` is the expression that fills it, as written."""

    expr: str


Part: TypeAlias = str | Hole


@dataclass(frozen=True, slots=True)
class Template:
    """Literals and holes, normalised: no literal is empty and no two stand side by side."""

    parts: tuple[Part, ...]

    @classmethod
    def from_parts(cls, parts: Iterable[Part]) -> Template:
        """Build from literals and holes in order, as a caller with its own syntax tree has them."""
        merged: list[Part] = []
        for part in parts:
            if isinstance(part, str) and merged and isinstance(merged[-1], str):
                merged[-1] += part
            elif part != "":
                merged.append(part)
        return cls(tuple(merged))

    @classmethod
    def from_message(cls, message: str) -> Template:
        """Build from the seeds' `errorMessage`: holes are `{expr}`; an unmatched or empty brace is a literal."""
        return cls.from_parts(_message_parts(message))

    @classmethod
    def from_pattern(cls, pattern: str, message: str | None = None) -> Template:
        """Build from the seeds' `messagePattern`: escaped literals and holes such as `(.+?)`.

        Holes are named by `message` (the `errorMessage`), else `1`, `2`, …. CatalogError where the pattern holds
        anything else: patterns from outside are never run as regular expressions.
        """
        template = cls.from_parts(_pattern_parts(pattern))
        return template if message is None else template.named_by(message)

    @property
    def literals(self) -> tuple[str, ...]:
        """The literals, in order."""
        return tuple(part for part in self.parts if isinstance(part, str))

    @property
    def holes(self) -> tuple[str, ...]:
        """The expressions of the holes, in order."""
        return tuple(part.expr for part in self.parts if isinstance(part, Hole))

    @property
    def weight(self) -> int:
        """The letters and digits of the literals: what a match rests on. A template of weight 0 never matches."""
        return sum(sum(map(str.isalnum, literal)) for literal in self.literals)

    @property
    def length(self) -> int:
        """The characters of the literals: of two templates that match, the longer one says more."""
        return sum(map(len, self.literals))

    @property
    def message(self) -> str:
        """The template as `errorMessage` writes it."""
        return "".join(part if isinstance(part, str) else "{" + part.expr + "}" for part in self.parts)

    @property
    def pattern(self) -> str:
        """The template as `messagePattern` writes it."""
        return "".join(
            _PATTERN_SPECIAL.sub(r"\\\g<0>", part) if isinstance(part, str) else "(.+?)" for part in self.parts
        )

    def render(self, values: Mapping[str, str]) -> str:
        """Return the message with its holes filled; a hole without a value stays `{expr}`."""
        return "".join(
            part if isinstance(part, str) else values.get(part.expr, "{" + part.expr + "}") for part in self.parts
        )

    def match(self, message: str) -> dict[str, str] | None:
        """Return what the holes hold if this is the whole `message`, None if it is not.

        The first of several holes of one name gives the value; of two holes side by side the latter takes all.
        """
        if not self.weight:
            return None
        spans = self._hole_spans(message)
        if spans is None:
            return None
        captures: dict[str, str] = {}
        for name, (start, end) in zip(self.holes, spans, strict=True):
            captures.setdefault(name, message[start:end])
        return captures

    def _hole_spans(self, message: str) -> list[tuple[int, int]] | None:
        parts = self.parts
        if parts and isinstance(parts[-1], str):
            parts = (*parts[:-1], parts[-1].rstrip(BLANKS))
        begin, end = 0, len(message.rstrip(BLANKS))
        if parts and isinstance(parts[0], str):
            if not message.startswith(parts[0], 0, end):
                return None
            begin = len(parts[0])
            if len(parts) == 1:
                return [] if begin == end else None
        if isinstance(parts[-1], str):
            if end - len(parts[-1]) < begin or not message.endswith(parts[-1], begin, end):
                return None
            end -= len(parts[-1])
        spans: list[tuple[int, int]] = []
        open_at: int | None = None
        at = begin
        for index, part in enumerate(parts):
            if isinstance(part, Hole):
                if open_at is not None:
                    spans.append((open_at, at))
                open_at = at
                continue
            if index == 0:
                continue
            found = end if index == len(parts) - 1 else message.find(part, at, end)
            if found < 0:
                return None
            if open_at is not None:
                spans.append((open_at, found))
                open_at = None
            at = found + len(part)
        if open_at is not None:
            spans.append((open_at, end))
        return spans

    def named_by(self, message: str) -> Template:
        """Name the holes by an `errorMessage` that this template matches; unchanged where it does not."""
        spelled = Template.from_message(message)
        if _shape(spelled) == _shape(self):
            return spelled
        spans = self._hole_spans(message) if self.parts else None
        if spans is None:
            return self
        named: list[Part] = []
        remaining = iter(spans)
        for part in self.parts:
            if isinstance(part, str):
                named.append(part)
                continue
            start, end = next(remaining)
            text = message[start:end]
            braced = len(text) > 2 and text[0] == "{" and text[-1] == "}"
            named.append(Hole(text[1:-1] if braced else part.expr))
        return Template(tuple(named))


def slug(template: Template | str) -> str:
    """Return the rule id of a message template (or of its `errorMessage` text).

    Words of literals and holes, lower case, joined by hyphens. A closing clause that only reports what was found
    (`, got {x.dtype}`) is left out: it is no part of what must hold.
    """
    parsed = Template.from_message(template) if isinstance(template, str) else template
    text = "".join(part if isinstance(part, str) else _HOLE_MARK for part in parsed.parts)
    kept = text[: _observed_at(text)]
    exprs = iter(parsed.holes)
    spelled = "".join(f" {next(exprs)} " if char == _HOLE_MARK else char for char in kept)
    return _joined(_words(spelled), parsed.message)


def guard_slug(qualname: str, condition: str) -> str:
    """Return the rule id of a guard that raises without a message."""
    return _joined([*_words(qualname), *_words(condition)], f"{qualname}\n{condition}")


def record_id(repo: str, path: str, class_name: str, message: str) -> str:
    """Return the id of a record: 16 hex digits that depend on no line number and no machine."""
    import hashlib

    key = f"{repo}\0{path}\0{class_name}\0{message}"
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _shape(template: Template) -> list[str | None]:
    return [part if isinstance(part, str) else None for part in template.parts]


_HOLE_MARK: Final = "\0"
_PATTERN_SPECIAL: Final = re.compile(r"[.*+?^${}()|\[\]\\]")
_WORD: Final = re.compile(r"[A-Za-z0-9]+")
_OBSERVED: Final = re.compile(r"(?:[,;(]|\bbut)\s?(?:but |instead )?(?:got|found|received)\b", re.IGNORECASE)
_NEXT_SENTENCE: Final = re.compile(r"[.;]\s?[^\s)]")


def _observed_at(text: str) -> int:
    """Return where the closing clause that reports the value found begins; the length where there is none."""
    clauses = list(_OBSERVED.finditer(text))
    if not clauses:
        return len(text)
    last = clauses[-1]
    if _HOLE_MARK not in text[last.end() :] or _NEXT_SENTENCE.search(text, last.end()):
        return len(text)
    return last.start() if _WORD.search(text, 0, last.start()) else len(text)


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _joined(words: list[str], whole: str) -> str:
    text = "-".join(words)
    if 0 < len(text) <= SLUG_LENGTH:
        return text
    import hashlib

    digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    if not text:
        return f"error-{digest}"
    head = text[: SLUG_LENGTH - len(digest)].rpartition("-")[0] or text[: SLUG_LENGTH - len(digest) - 1]
    return f"{head}-{digest}"


def _message_parts(message: str) -> Iterator[Part]:
    """Yield the parts of an `errorMessage`; nesting and quotes inside a hole are respected."""
    literal_from = at = 0
    while (start := message.find("{", at)) >= 0:
        end = _hole_end(message, start)
        expr = message[start + 1 : end].strip() if end is not None else ""
        if end is None or not expr:
            at = start + 1
            continue
        yield message[literal_from:start]
        yield Hole(expr)
        literal_from = at = end + 1
    yield message[literal_from:]


def _hole_end(message: str, start: int) -> int | None:
    """Return the index of the brace that closes the one at `start`; None where a line ends or the text does first."""
    depth = 0
    quote = ""
    for index in range(start, len(message)):
        char = message[index]
        if char == "\n":
            return None
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'" and depth:
            quote = char
        elif char in "{[(":
            depth += 1
        elif char in "}])":
            depth -= 1
            if depth == 0:
                return index if char == "}" else None
    return None


_PATTERN_HOLES: Final = re.compile(r"\((?:\?:)?\.[+*]\??\)|\.[+*]\??")
_PATTERN_RUN: Final = re.compile(r"[^\\()\[\]{}|*+?^$.]+")
_PATTERN_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}
_PATTERN_HOSTILE: Final = frozenset("()[]{}|*+?^$")


def _pattern_parts(pattern: str) -> Iterator[Part]:
    at, count = 0, 0
    end = len(pattern)
    if pattern.startswith("^"):
        at = 1
    if pattern.endswith("$") and not pattern.endswith("\\$"):
        end -= 1
    while at < end:
        hole = _PATTERN_HOLES.match(pattern, at, end)
        if hole is not None:
            count += 1
            yield Hole(str(count))
            at = hole.end()
            continue
        run = _PATTERN_RUN.match(pattern, at, end)
        if run is not None:
            yield run[0]
            at = run.end()
            continue
        char = pattern[at]
        if char == "\\":
            yield _unescaped(pattern, at)
            at += 2
            continue
        if char in _PATTERN_HOSTILE:
            raise _hostile(pattern, at, f"`{char}` is neither escaped nor part of a hole `(.+?)`")
        yield char
        at += 1


def _unescaped(pattern: str, at: int) -> str:
    if at + 1 >= len(pattern):
        raise _hostile(pattern, at, "it ends in a lone backslash")
    char = pattern[at + 1]
    if char in _PATTERN_ESCAPES:
        return _PATTERN_ESCAPES[char]
    if char.isalnum():
        raise _hostile(pattern, at, f"`\\{char}` is a class or a reference, not a literal")
    return char


def _hostile(pattern: str, at: int, why: str) -> CatalogError:
    shown = pattern if len(pattern) <= 60 else pattern[:57] + "…"
    return CatalogError(
        f"messagePattern `{shown}` is refused: {why} (column {at + 1})",
        remedy="write escaped literals and holes `(.+?)` only",
    )
