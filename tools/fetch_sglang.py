"""Fetch the sources that the real-input tests read: sglang's wheel, unpacked, never installed and never committed.

python tools/fetch_sglang.py .cache/sglang-0.5.23
"""

from __future__ import annotations

import sys
from pathlib import Path

from fetch_wheel import fetch

VERSION = "0.5.23"

if __name__ == "__main__":
    sys.exit(0 if fetch("sglang", VERSION, Path(sys.argv[1]), megabytes=39) else 1)
