"""Lets the tests of this folder import the helper beside them: pytest imports tests by path, not by folder."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
