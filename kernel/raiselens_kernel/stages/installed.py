"""The user's installed function. Nothing of it is run yet."""

from __future__ import annotations

from typing import Any


def run(request: dict[str, Any]) -> dict[str, Any]:
    """One note: it was not run."""
    return {"notes": [f"{request['target']['callee']} was not run"]}
