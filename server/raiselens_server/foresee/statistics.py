"""How far foreseeing reached, in counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Statistics:
    """How far foreseeing reached: calls seen, callees resolved, guards reached and decided, the rest by cause."""

    calls: int = 0
    resolved: int = 0
    guards_reached: int = 0
    guards_decided: int = 0
    undecided: Counter[str] = field(default_factory=Counter)

    def add(self, other: Statistics) -> None:
        """Add `other`'s counts to these."""
        self.calls += other.calls
        self.resolved += other.resolved
        self.guards_reached += other.guards_reached
        self.guards_decided += other.guards_decided
        for cause, times in other.undecided.items():
            self.undecided[cause] += times
