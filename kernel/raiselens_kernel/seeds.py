"""Where a run's randomness comes from."""

from __future__ import annotations

import random


def fresh_seed() -> int:
    """A seed for one run, small enough to be typed again."""
    return random.SystemRandom().getrandbits(32)
