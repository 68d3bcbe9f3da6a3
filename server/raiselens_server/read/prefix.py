"""What loggers, launchers and collectors put before a line, recognised by shape.

Prefixes stack (`2026-…Z [rank0]: `), their times differ from line to line, and some of their parts name the process
that speaks. `split_prefix` takes the known pieces off a line's start, one after the other, each bounded in length. A
prefix of an unknown shape is learned from the structure behind it: see `learned`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_DATE = r"(?:\d{4}[-/]\d\d[-/]\d\d|\d\d[-/]\d\d(?:[-/]\d{2,4})?)"
_CLOCK = r"\d\d?:\d\d:\d\d(?:[.,]\d{1,9})?"
_ZONE = r"(?:Z|[ ]?[+-]\d\d:?\d\d|[ ]UTC|[ ]GMT)?"
_TIME = rf"(?:{_DATE}[T _]{_CLOCK}{_ZONE})"
_LEVEL = r"(?:DEBUG|INFO|NOTICE|WARNING|WARN|ERROR|CRITICAL|FATAL|TRACE|SUCCESS)"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_CODE = r"[\w./<>\\-]{1,200}\.(?:pyx?|cpp|cc|cuh?|hpp?|c|rs)"

# Order matters: the first that matches at a place is taken. Each eats at most one blank behind it, for what follows
# may be indented. `tag` is the part that names who speaks, `level` how loud, `src` the place in the code that logs.
_PIECES = tuple(
    re.compile(pattern)
    for pattern in (
        # sglang: [2026-06-11 03:02:29 DP0 TP2] and [2026-06-11 03:02:29.816 TP0]
        rf"\[{_TIME}(?P<tag>(?: [A-Z]{{2,4}}\d{{1,5}}){{0,6}})\](?: |(?=\[)|$)",
        # NeMo: [NeMo I 2026-08-22 03:11:09 exp_manager:396]
        rf"\[NeMo (?P<level>[IWE]) {_TIME} (?P<src>[\w./-]{{1,80}}:\d{{1,6}})\] ?",
        # transformers: [INFO|trainer.py:123] 2026-01-01 00:00:00,000 >>
        rf"\[(?P<level>{_LEVEL})\|(?P<src>[\w./-]{{1,80}}:\d{{1,6}})\] {_TIME} >> ?",
        # glog, bare and in brackets: E0801 13:23:20.000000 1234 path.cpp:874]
        rf"\[?(?P<level>[IWEFCV])\d{{3,4}} {_CLOCK}(?: +\d{{1,9}})? (?P<src>{_CODE}:\d{{1,6}})\] ?(?:\[\d{{1,5}}/\d{{1,5}}(?:_\d{{1,4}})?\] ?)?",
        # syslog: Sep 05 11:48:04 host process[20364]:
        rf"{_MONTH} [ \d]\d {_CLOCK} (?P<tag>[\w.-]{{1,80}} [\w./@-]{{1,80}}(?:\[\d{{1,9}}\])?:) ?",
        # celery: [2026-01-01 00:00:00,000: ERROR/ForkPoolWorker-1]
        rf"\[{_TIME}: (?P<level>{_LEVEL})/(?P<tag>[\w.-]{{1,80}})\] ?",
        # airflow: [2026-01-01, 00:00:00 UTC] {taskinstance.py:1937} ERROR -
        rf"\[{_DATE}, {_CLOCK}{_ZONE}\] {{{{(?P<src>[\w./-]{{1,80}}:\d{{1,6}})}}}} (?P<level>{_LEVEL}) - ?",
        # CRI: 2026-01-01T00:00:00.000000000Z stderr F
        rf"{_TIME} (?P<cri>stdout|stderr) (?P<part>[FP])(?: |$)",
        # logging: 2026-01-01 00:00:00,000 - name - INFO - ; and hydra: [2026-…][name][INFO] -
        rf"{_TIME} - (?P<src>[\w.<>-]{{1,120}}) - (?P<level>{_LEVEL}) - ?",
        rf"\[{_TIME}\]\[(?P<src>[\w.<>-]{{1,120}})\]\[(?P<level>{_LEVEL})\] - ?",
        rf"{_TIME} - (?P<level>{_LEVEL}) - (?:(?P<src>[\w.<>-]{{1,120}}) - ?)?",
        rf"(?P<src>[A-Za-z_][\w.<>-]{{1,120}}) - (?P<level>{_LEVEL}) - ?",
        # loguru: 2026-01-12 06:30:01.204 | ERROR    | serve.worker:handle:52 -
        rf"{_TIME} \| (?P<level>{_LEVEL}) *\| (?P<src>[^|\n]{{1,160}}?:\d{{1,6}})(?: -(?: |$))",
        # Ray: 2026-01-01 00:00:00,000<tab>ERROR worker.py:980 --
        rf"{_TIME}\t(?P<level>{_LEVEL}) (?P<src>[\w./-]{{1,120}}:\d{{1,6}}) -- ?",
        rf"\[?{_TIME}\]?(?:[ \t]|$)",
        rf"(?P<clock>{_CLOCK})(?: |$)(?!\|)",
        # rank and worker tags
        r"\[?(?P<tag>rank ?\d{1,6})\]:(?P<blank> )?",
        r"\[(?P<tag>default\d{1,6})\]:",
        r"\[(?P<tag>(?:default|local_rank|Rank|RANK|node|worker|gpu|GPU)[ _]?\d{1,6})\]:? ?",
        r"\[(?P<tag>\d{1,5},\d{1,6})\]<(?:stdout|stderr)>: ?",
        r"\((?P<tag>[\w.:/@ -]{0,80}pid=\d{1,9})(?:, ip=[\w.:-]{1,60})?(?:, [^()\n]{1,80})?\) ?",
        r"\[(?P<tag>gw\d{1,4})\] ?",
        # grep over log files, with or without numbers
        r"(?P<tag>[\w./@+-]{1,200}\.(?:log|txt|out|err|stderr|stdout))(?:[:-]\d{1,9})?[:-]",
        # levels and places on their own
        rf"(?P<level>{_LEVEL}):(?P<src>[\w.]{{1,120}}):",
        rf"\[(?P<level>{_LEVEL})\] ?(?:\[(?P<src>[\w./:-]{{1,120}})\] ?)?",
        r"\[(?P<level>debug|info|warning|error|critical) *\] ?",
        rf"(?P<level>{_LEVEL})(?: {{0,4}}: ?| {{1,4}}(?=[\d(\[|]))",
        rf"\[?(?P<src>{_CODE}:\d{{1,6}})\](?: |$)",
    )
)

_LONGEST = 400
_GREPPED = re.compile(r"\.(?:log|txt|out|err|stderr|stdout)-\d")


def _by_opener() -> dict[str, tuple[int, ...]]:
    """For each character that a piece may begin with, the pieces that may: most lines are turned away by it."""
    openers: dict[str, list[int]] = {}
    for index, piece in enumerate(_PIECES):
        for character in map(chr, range(33, 127)):
            if _may_begin(piece.pattern, character):
                openers.setdefault(character, []).append(index)
    return {character: tuple(indexes) for character, indexes in openers.items()}


def _may_begin(pattern: str, character: str) -> bool:
    """Whether text that matches the pattern may begin with the character, erring on the side of yes."""
    bracket = pattern.startswith("\\[")
    if character == "[":
        return bracket
    if bracket and not pattern.startswith("\\[?"):
        return False
    if pattern.startswith("\\("):
        return character == "("
    rest = pattern.removeprefix("\\[?").removeprefix("(?P<level>").removeprefix("(?P<clock>").removeprefix("(?P<tag>")
    if rest.startswith((_TIME, _CLOCK)):
        return character.isdigit()
    if rest.startswith(_MONTH):
        return character in "JFMASOND"
    if rest.startswith(_LEVEL):
        return character in "DINWECFTS"
    if rest.startswith("[IWEFCV]"):
        return character in "IWEFCV"
    if rest.startswith("rank"):
        return character == "r"
    return character not in "(["


_OPENERS = _by_opener()
# Begins a record, also within that of another logger: how loud that one was says nothing of it.
_SGLANG = 0
# The pieces that hold a time or a level: what they begin is a record of its own.
_RECORDS = frozenset(
    index for index, piece in enumerate(_PIECES) if _CLOCK in piece.pattern or "level" in piece.groupindex
)


class Prefix(NamedTuple):
    """What stands before a line's text.

    `cut` characters long; `key` names the speaker, empty where none is named; `shape` is what lines of one record have
    in common; `level` is the logger's. `bound` says that only the lines of one record carry this very prefix, so that
    it shows where a message ends. `part` says that the collector cut the line and the next one goes on.
    """

    cut: int
    key: str
    shape: str
    level: str
    bound: bool
    part: bool = False
    ends: tuple[int, ...] = ()
    """Where each piece of the shape ends."""

    def extends(self, shape: str) -> bool:
        """Whether the prefix is one of that shape, and then more that looks like a prefix but begins no record."""
        return self.shape.startswith(f"{shape}|") and "|t" not in self.shape[len(shape) :]

    def length_of(self, shape: str) -> int:
        """How long the part of that shape is; `extends(shape)` must hold."""
        return self.ends[shape.count("|")]


NONE = Prefix(0, "", "", "", bound=False)


def split_prefix(text: str) -> Prefix:
    """Take the known pieces off the start of a line."""
    if not text or text[0] not in _OPENERS:
        return NONE
    if text[0].isalpha() and not (
        text[0] == "r"
        or "]" in text[:_LONGEST]
        or ":" in text[:40]
        or " | " in text[:40]
        or _GREPPED.search(text[:240])
    ):
        return NONE
    window = text if len(text) <= _LONGEST else text[:_LONGEST]
    at = 0
    tags: list[str] = []
    shape: list[str] = []
    ends: list[int] = []
    level = ""
    bound = part = False
    searching = True
    while searching and len(shape) < 12:
        searching = False
        for index in _OPENERS.get(window[at : at + 1], ()):
            match = _PIECES[index].match(window, at)
            if match is None or match.end() == at:
                continue
            groups = match.groupdict()
            tag, src = groups.get("tag"), groups.get("src")
            level = groups.get("level") or ("" if index == _SGLANG else level)
            if tag:
                tags.append(tag.strip())
            if "blank" in groups:
                bound = groups["blank"] is not None
            if src:
                bound = True
            part = groups.get("part") == "P"
            shape.append(
                f"{'t' if index in _RECORDS else 'p'}{index}{groups.get('level') or ''}{src or ''}{groups.get('cri') or ''}{'b' if groups.get('blank') else ''}"
            )
            at = match.end()
            ends.append(at)
            searching = True
            break
    if not at:
        return NONE
    return Prefix(at, " ".join(tags), "|".join(shape), _LEVEL_NAMES.get(level, level), bound, part, tuple(ends))


_LEVEL_NAMES = {
    "I": "INFO", "W": "WARNING", "E": "ERROR", "F": "FATAL", "C": "CRITICAL", "V": "DEBUG", "WARN": "WARNING",
    "info": "INFO", "warning": "WARNING", "error": "ERROR", "critical": "CRITICAL", "debug": "DEBUG",
}  # fmt: skip
