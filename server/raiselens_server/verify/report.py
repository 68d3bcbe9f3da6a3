"""What a verification came to: a report of what ran, or one line that says why nothing did."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any


class DeviceKind(enum.Enum):
    """Where the values were computed. A run in the CPU interpreter is never called a GPU run."""

    CUDA = "cuda"
    INTERPRETER = "interpreter"


@dataclass(frozen=True, slots=True)
class Before:
    """What the call as it stands raised; `class_name` is empty where it raised nothing."""

    class_name: str
    message: str
    as_predicted: bool

    def to_json(self) -> dict[str, Any]:
        """The object INTERFACE names `before`."""
        return {"class": self.class_name, "message": self.message, "as_predicted": self.as_predicted}


@dataclass(frozen=True, slots=True)
class After:
    """How the repaired call went, or the scatter over its cases; `worst` describes the worst mismatch in one line.

    With `compared`, what it wrote was held against a reference; without, that it runs is all that was seen.
    """

    ok: bool
    cases: int
    mismatches: int
    worst: str | None = None
    compared: bool = True

    def to_json(self) -> dict[str, Any]:
        """The object INTERFACE names `after`."""
        shown: dict[str, Any] = {
            "ok": self.ok,
            "cases": self.cases,
            "mismatches": self.mismatches,
            "compared": self.compared,
        }
        return shown | ({} if self.worst is None else {"worst": self.worst})


@dataclass(frozen=True, slots=True)
class Timing:
    """Microseconds on the device (`us`, `copy_us`) and of the host for one call (`launch_us`); medians."""

    us: float
    copy_us: float
    share: float
    launch_us: float

    def to_json(self) -> dict[str, Any]:
        """The object INTERFACE names `timing`."""
        return {"us": self.us, "copy_us": self.copy_us, "share": self.share, "launch_us": self.launch_us}


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """A verification that ran; with `ok`, everything went as predicted and something did.

    `repair` names the repair that `after` ran; `scatter` is the bundled scatter over its own cases, where it ran.
    `before` is `None` where there is no prediction to hold it against, `after` where nothing repaired could be run;
    `notes` says in one line each what was not run, and why. `programs` are the generated programs by name; `seed` repeats the run's inputs.
    """

    ok: bool
    device_kind: DeviceKind
    device_name: str
    versions: dict[str, str]
    before: Before | None
    after: After | None
    compiled: tuple[str, ...]
    timing: Timing | None
    target: tuple[str, ...]
    notes: tuple[str, ...] = ()
    programs: dict[str, str] = field(default_factory=dict)
    seed: int | None = None
    scatter: After | None = None
    repair: str | None = None

    @property
    def exit_code(self) -> int:
        """0 where all is well, 1 where *before* did not raise as predicted or *after* is not right."""
        return 0 if self.ok else 1

    @property
    def summary(self) -> str:
        """One line for people: where the values were checked, and where nothing was run."""
        compared = any(part is not None and part.compared for part in (self.after, self.scatter))
        match self.device_kind:
            case DeviceKind.CUDA:
                return f"{'checked' if compared else 'run'} on {self.device_name}"
            case DeviceKind.INTERPRETER:
                compiled = f"compiles for {', '.join(self.compiled)}; " if self.compiled else ""
                return f"{'values checked' if compared else 'run'} in the CPU interpreter; {compiled}not run on a GPU"

    def to_json(self) -> dict[str, Any]:
        """The object INTERFACE promises."""
        shown: dict[str, Any] = {
            "schema": 1,
            "ok": self.ok,
            "device": {"kind": self.device_kind.value, "name": self.device_name},
            "versions": dict(self.versions),
            "before": self.before and self.before.to_json(),
            "after": self.after and self.after.to_json(),
            "compiled": list(self.compiled),
            "timing": self.timing and self.timing.to_json(),
            "target": list(self.target),
            "notes": list(self.notes),
            "seed": self.seed,
            "repair": self.repair,
            "scatter": self.scatter and self.scatter.to_json(),
        }
        return shown | ({"programs": dict(self.programs)} if self.programs else {})


class FailureKind(enum.Enum):
    """Why a verification did not run to its end."""

    NOT_STARTED = "not-started"
    NO_TORCH = "no-torch"
    NOT_POSSIBLE = "not-possible"
    TIMED_OUT = "timed-out"
    KILLED = "killed"
    BAD_ANSWER = "bad-answer"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class VerifyFailure:
    """A verification that could not be run; `reason` is one line for people, `output` the end of what it printed."""

    kind: FailureKind
    reason: str
    output: str = ""

    @property
    def exit_code(self) -> int:
        """Always 2: it could not be run."""
        return 2

    def to_json(self) -> dict[str, Any]:
        """The object printed in place of a report."""
        return {"schema": 1, "ok": False, "error": {"kind": self.kind.value, "reason": self.reason}}
