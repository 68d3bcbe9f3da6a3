"""From an error to the records that may be its own, best first.

`exact`: the record's template is the whole message and the class agrees; `template`: the template is the whole message
but the class differs or is not known; `fuzzy`: neither, but nearly all the words that matter are there in order.
Fuzzy candidates are given only where there is no other. Among `exact` and `template` those whose frame agrees (file,
function, line) come first, then those with more literal text. Candidates that nothing tells apart have the same `rank`.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from raiselens_catalog.entry import Entry
    from raiselens_catalog.template import Template


class FrameLike(Protocol):
    """A frame of a traceback; `raiselens_server.error.Frame` is one."""

    @property
    def file(self) -> str:
        """The path as printed."""

    @property
    def line(self) -> int:
        """1-based."""

    @property
    def function(self) -> str:
        """The name as printed."""


class HoleLike(Protocol):
    """An unknown part of a foreseen message: `message[start:end]` is `{expr}`."""

    @property
    def start(self) -> int:
        """Offset of the opening brace, in characters."""

    @property
    def end(self) -> int:
        """Offset behind the closing brace."""

    @property
    def expr(self) -> str:
        """The expression."""


class How(enum.Enum):
    """How a record matched, best first."""

    EXACT = "exact"
    TEMPLATE = "template"
    FUZZY = "fuzzy"


@dataclass(frozen=True, slots=True)
class Target:
    """What matching needs of a record. `class_names` are all that its error is seen with; empty: any class.

    `layer` is higher for layers that win. `function` is the name a frame carries, empty where not known. `mined`
    records, which only repeat the source, give way to those written by people.
    """

    id: str
    slug: str
    template: Template
    class_names: tuple[str, ...]
    file: str
    line: int
    function: str
    layer: int
    mined: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """An error as matching sees it."""

    class_name: str
    message: str
    frames: Sequence[FrameLike] = ()
    holes: Sequence[HoleLike] = ()

    @property
    def class_tail(self) -> str:
        """The class without its module path: `torch.OutOfMemoryError` and `OutOfMemoryError` are one class."""
        return self.class_name.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Hit:
    """Records of one layer that an error fits equally well. `rows` are the layer's own numbers of them."""

    how: How
    score: tuple[int, ...]
    rows: Sequence[int]


class Candidate:
    """A record that may be the error's own.

    `id` and `how` are at hand; the rest is read when it is first asked for. `rank` counts from 0; candidates of one
    rank are equal on all that was given.
    """

    __slots__ = ("_load", "_query", "_target", "how", "id", "rank")

    def __init__(
        self, target: Callable[[], Target], record_id: str, how: How, rank: int, query: Query, load: Callable[[], Entry]
    ) -> None:
        """`target` and `load` read what is not at hand."""
        self.id = record_id
        self.how = how
        self.rank = rank
        self._target = target
        self._query = query
        self._load = load

    def __repr__(self) -> str:
        return f"Candidate({self.id}, {self.how.value}, rank={self.rank})"

    @property
    def slug(self) -> str:
        """The record's slug."""
        return self._target().slug

    @property
    def captures(self) -> Mapping[str, str]:
        """The values of the template's holes, as far as known; empty for a fuzzy candidate."""
        if self.how is How.FUZZY:
            return {}
        return _known(self._target().template.match(self._query.message) or {}, self._query.holes)

    @property
    def entry(self) -> Entry:
        """The whole entry; read from disk where it is stored there."""
        return self._load()


EXACT_WEIGHT: Final = 6
"""Letters and digits a template needs to be told by message and class alone."""

TEMPLATE_WEIGHT: Final = 12
"""The same without the class."""

FUZZY_SHARE: Final = 0.85
"""The weighted share of a template's words that a fuzzy match must have, in order."""

FUZZY_WORDS: Final = 5
"""Templates of fewer words are never matched fuzzily."""

_LINE_SLACK: Final = 40
"""Lines that a raise may have moved between the record's version and the installed one and still count as near."""


SAME_FILE: Final = 1
SAME_FUNCTION: Final = 2
NEAR_LINE: Final = 3


def agreement(*, same_file: bool, same_function: bool, lines_apart: int) -> int:
    """How well the raising frame is a record's own place: 0, or one of the three constants."""
    if not same_file:
        return 0
    if not same_function:
        return SAME_FILE
    return NEAR_LINE if lines_apart <= _LINE_SLACK else SAME_FUNCTION


def verdict(query: Query, class_names: Sequence[str], weight: int, agreed: int) -> How | None:
    """How a record whose template is the whole message matches; None where too little was compared."""
    exact = bool(query.class_name) and bool(class_names) and class_agrees(class_names, query.class_tail)
    least = EXACT_WEIGHT if exact else TEMPLATE_WEIGHT
    if weight < least and agreed < SAME_FUNCTION:
        return None
    return How.EXACT if exact else How.TEMPLATE


def score(*, agreed: int, length: int, mined: bool, layer: int) -> tuple[int, ...]:
    """What orders hits of one `How`, the most telling first: the function, the literal text, who wrote it, the line."""
    return (min(agreed, SAME_FUNCTION), length, int(not mined), agreed, layer)


def fuzzy_score(target: Target, query: Query, message_words: Sequence[str]) -> tuple[int, ...] | None:
    """Compare a record with an error whose message no template is; None unless it is close."""
    if query.class_name and not class_agrees(target.class_names, query.class_tail):
        return None
    words, total = _template_words(target.template)
    if len(words) < FUZZY_WORDS:
        return None
    least = FUZZY_SHARE * total
    present = set(message_words)
    if sum(_word_weight(word) for word in words if word in present) < least:
        return None
    shared = _common(words, message_words)
    if shared < least or 2 * shared < sum(map(_word_weight, message_words)):
        return None
    return (1000 * shared // total, total, int(not target.mined), target.layer)


@lru_cache(maxsize=4096)
def _template_words(template: Template) -> tuple[tuple[str, ...], int]:
    """The words of a template's literals, and what they weigh together."""
    words = tuple(word for literal in template.literals for word in words_of(literal))
    return words, sum(map(_word_weight, words))


def class_agrees(names: Sequence[str], class_tail: str) -> bool:
    """Whether a class is one of `names`, module paths aside; no names stand for any class."""
    return not names or any(name.rpartition(".")[2] == class_tail for name in names)


_ORDER: Final = {how: at for at, how in enumerate(How)}


def best_first(hit: Hit) -> tuple[int, ...]:
    """The key that sorts hits."""
    return (_ORDER[hit.how], *(-part for part in hit.score))


def words_of(text: str) -> list[str]:
    """The words of a message, case folded, without braces' contents being treated apart."""
    return [word.lower() for word in _WORD.findall(text)]


_WORD: Final = re.compile(r"[\w.]*\w")
_PLAIN_WORD: Final = re.compile(r"[a-z]+")
_LONGEST_FUZZY: Final = 200


def _known(captures: dict[str, str], holes: Sequence[HoleLike]) -> Mapping[str, str]:
    """Captures whose value the run would show: those that hold an unknown part are left out."""
    if not holes:
        return captures
    unknown = {"{" + hole.expr + "}" for hole in holes}
    return {name: value for name, value in captures.items() if not any(part in value for part in unknown)}


def _word_weight(word: str) -> int:
    """What a word tells: an identifier, a dtype or a number three times what a plain word does."""
    return 1 if _PLAIN_WORD.fullmatch(word) else 3


def _common(words: Sequence[str], others: Sequence[str]) -> int:
    """The weight of the heaviest common subsequence of two word lists, of their first `_LONGEST_FUZZY` words."""
    row = [0] * (min(len(others), _LONGEST_FUZZY) + 1)
    for word in words[:_LONGEST_FUZZY]:
        diagonal = 0
        for at, other in enumerate(others[:_LONGEST_FUZZY], start=1):
            above = row[at]
            row[at] = diagonal + _word_weight(word) if word == other else max(above, row[at - 1])
            diagonal = above
    return row[-1]
