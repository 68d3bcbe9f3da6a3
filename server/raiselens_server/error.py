"""`RaisedError`: what both ways in produce, and what everything after them takes.

A *foreseen* error comes from running source on abstract values, an *observed* one from reading text that a run
printed. Matching, explaining, repairing, verifying and rendering take either and never ask which of the two it was,
so one rule id fires before the run and is recognised in the log after it.

All lines and columns are 1-based; columns count characters (code points), not bytes and not UTF-16 units.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of text; `end_column` is the column after the last character."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Place:
    """A range in a named file."""

    file: str
    span: Span


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a traceback; frames are listed outermost first.

    `place` is where the frame itself was printed, in the text that was read, and `source` the first line of source that
    was printed with it, without its indentation; a foreseen frame has neither.
    """

    file: str
    line: int
    function: str
    place: Span | None = None
    source: str = ""


class Severity(enum.Enum):
    """How sure a finding is: see the certainty rules in ARCHITECTURE.md."""

    ERROR = "error"
    WARNING = "warning"


class Role(enum.Enum):
    """What an error is to the others of its text."""

    ROOT = "root"
    CAUSE = "cause"
    CONTEXT = "context"
    GROUP_MEMBER = "group-member"
    SUMMARY = "summary"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Hole:
    """A part of a message that is not known: `message[start:end]` is `{expr}`."""

    start: int
    end: int
    expr: str


@dataclass(frozen=True, slots=True)
class Related:
    """A place that explains the finding, with one line of text: the allocation, the guard."""

    place: Place
    message: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace `place` by `text`."""

    place: Place
    text: str


class RepairKind(enum.Enum):
    """The kinds of repair that INTERFACE names."""

    CHANGE_DTYPE_AT_ALLOCATION = "change-dtype-at-allocation"
    CAST_AT_CALL = "cast-at-call"
    MOVE_DEVICE = "move-device"
    CONTIGUOUS = "contiguous"
    RESHAPE = "reshape"
    CHANGE_SHAPE_AT_ALLOCATION = "change-shape-at-allocation"
    CHANGE_ARGUMENT = "change-argument"


@dataclass(frozen=True, slots=True)
class Repair:
    """Edits that make a finding go away, re-checked on the edited text before being offered.

    `safe`: every other consumer of the changed value is known and still passes. `preferred`: the one to take without
    asking; at most one repair of a finding is, and only a safe one.
    """

    title: str
    kind: RepairKind
    safe: bool
    preferred: bool
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What only an error that has not happened yet carries.

    `place` is the user's statement that calls; `condition` the guard's condition as written; `rule` the rule id where
    no record has one. `when` names the condition of the branch that the statement stands on. With `message_certain`
    false an earlier guard was not decided, so that another message may come first.
    """

    place: Place
    severity: Severity
    rule: str
    condition: str
    callee: str
    param: str | None
    holes: tuple[Hole, ...] = ()
    when: str | None = None
    message_certain: bool = True
    related: tuple[Related, ...] = ()


@dataclass(frozen=True, slots=True)
class Observed:
    r"""What only an error read from text carries.

    `line` is where the message's first line stands in the original text (lines end at `\n` only), `column` that of
    the class. `ranks` are the ranks, workers or processes that logged the same error, folded into this one, `count`
    how often it was logged.
    """

    line: int
    column: int
    role: Role
    ranks: tuple[str, ...] = ()
    prefix: str = ""
    count: int = 1


@dataclass(frozen=True, slots=True)
class RaisedError:
    """An exception that was raised, or will be.

    `class_name` is the class as Python prints it (`torch.OutOfMemoryError`), empty where the text names none.
    `message` is `str(exception)`; unknown parts of a foreseen one are written `{expr}` and listed in its holes.
    """

    class_name: str
    message: str
    frames: tuple[Frame, ...]
    origin: Foreseen | Observed


@dataclass(frozen=True, slots=True)
class RecordMatch:
    """The catalog's answer for an error. `how` is `exact`, `template` or `fuzzy`."""

    record_id: str
    slug: str
    how: str
    captures: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """An error with all that is known about it: what every surface shows."""

    error: RaisedError
    record: RecordMatch | None
    repairs: tuple[Repair, ...] = ()

    @property
    def rule(self) -> str:
        """The rule id: the record's slug, else the one that foreseeing derived, else empty."""
        if self.record is not None and self.record.how != "fuzzy":
            return self.record.slug
        match self.error.origin:
            case Foreseen(rule=rule):
                return rule
            case Observed():
                return ""
