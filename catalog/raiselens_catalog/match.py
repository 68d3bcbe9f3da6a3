"""From an error to the records that may be its own, best first.

`exact`: the record's template is the whole message and the class agrees; `template`: the template is the whole message
but the class differs or is not known; `fuzzy`: neither, but nearly all the words that matter are there in order.
Fuzzy candidates are given only where there is no other. Among `exact` and `template` those whose frame agrees (file,
function, line) come first, then those with more literal text. Candidates that nothing tells apart have the same `rank`.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

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
class Candidate:
    """A record that may be the error's own. `captures` holds the values of its template's holes, as far as known.

    `rank` counts from 0; candidates of one rank are equal on all that was given.
    """

    id: str
    slug: str
    how: How
    captures: Mapping[str, str]
    rank: int
    load: Callable[[], Entry] = field(repr=False, compare=False)

    @property
    def entry(self) -> Entry:
        """The whole entry; read from disk on first use where it is stored there."""
        return self.load()


@dataclass(frozen=True, slots=True)
class Hit:
    """A target that was compared with an error, before ranking."""

    target: Target
    how: How
    score: tuple[int, ...]
    captures: Mapping[str, str]


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


def compare(
    target: Target, class_name: str, message: str, frames: Sequence[FrameLike], holes: Sequence[HoleLike]
) -> Hit | None:
    """Compare one target with an error; None unless its template is the whole message."""
    captures = target.template.match(message)
    if captures is None:
        return None
    weight = target.template.weight
    agreement = _frame_agreement(target, frames)
    known = _known(captures, holes)
    if class_name and target.class_names and _class_agrees(target.class_names, class_name):
        if weight < EXACT_WEIGHT and agreement < _SAME_FUNCTION:
            return None
        return Hit(target, How.EXACT, _score(target, agreement, weight), known)
    if weight < TEMPLATE_WEIGHT and agreement < _SAME_FUNCTION:
        return None
    return Hit(target, How.TEMPLATE, _score(target, agreement, weight), known)


def _score(target: Target, agreement: int, weight: int) -> tuple[int, ...]:
    """What orders hits of one `How`, the most telling first: the function, the literal text, who wrote it, the line."""
    return (min(agreement, _SAME_FUNCTION), weight, int(not target.mined), agreement, target.layer)


def compare_fuzzily(target: Target, class_name: str, message_words: Sequence[str]) -> Hit | None:
    """Compare one target with an error whose message no template is; None unless it is close."""
    if class_name and not _class_agrees(target.class_names, class_name):
        return None
    words = [word for literal in target.template.literals for word in words_of(literal)]
    if len(words) < FUZZY_WORDS:
        return None
    total = sum(map(_word_weight, words))
    shared = _common(words, message_words)
    per_mille = 1000 * shared // total
    if shared < FUZZY_SHARE * total or 2 * shared < sum(map(_word_weight, message_words)):
        return None
    return Hit(target, How.FUZZY, (per_mille, total, target.layer), {})


def ranked(hits: Iterable[Hit]) -> list[tuple[Hit, int]]:
    """Sort hits best first and give each its rank; equal scores share one."""
    order = list(How)
    ordered = sorted(hits, key=lambda hit: (order.index(hit.how), *(-part for part in hit.score), hit.target.id))
    result: list[tuple[Hit, int]] = []
    for at, hit in enumerate(ordered):
        same = at > 0 and (hit.how, hit.score) == (ordered[at - 1].how, ordered[at - 1].score)
        result.append((hit, result[-1][1] if same else at))
    return result


def words_of(text: str) -> list[str]:
    """The words of a message, case folded, without braces' contents being treated apart."""
    return [word.lower() for word in _WORD.findall(text)]


_WORD: Final = re.compile(r"[\w.]*\w")
_PLAIN_WORD: Final = re.compile(r"[a-z]+")
_LONGEST_FUZZY: Final = 200
_SAME_FILE: Final = 1
_SAME_FUNCTION: Final = 2
_NEAR_LINE: Final = 3


def _class_agrees(names: Sequence[str], class_name: str) -> bool:
    """Whether a class is one of `names`, module paths aside: `torch.OutOfMemoryError` is `OutOfMemoryError`."""
    last = class_name.rpartition(".")[2]
    return not names or any(name.rpartition(".")[2] == last for name in names)


def _frame_agreement(target: Target, frames: Sequence[FrameLike]) -> int:
    """How well the raising frame is the record's own place: 0, or one of the three constants."""
    if not frames or not target.file:
        return 0
    frame = frames[-1]
    if not _same_file(target.file, frame.file):
        return 0
    if not target.function or target.function != frame.function.rpartition(".")[2]:
        return _SAME_FILE
    return _NEAR_LINE if abs(target.line - frame.line) <= _LINE_SLACK else _SAME_FUNCTION


def _same_file(recorded: str, printed: str) -> bool:
    """Whether two paths end alike: a repository's `python/pkg/mod.py` and `…/site-packages/pkg/mod.py`."""
    ours = recorded.split("/")
    theirs = printed.replace("\\", "/").split("/")
    if ours[-1] != theirs[-1]:
        return False
    return len(ours) == 1 or len(theirs) == 1 or ours[-2] == theirs[-2]


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
