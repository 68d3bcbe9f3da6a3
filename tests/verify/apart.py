"""Run a verification's stage in a fork of this process: torch is imported once for all of them."""

from __future__ import annotations

import json
import os
import traceback
from typing import Any


def call_stage(request: dict[str, Any]) -> dict[str, Any]:
    """The answer of the stage that runs a call, on the CPU."""
    from raiselens_kernel.stages import calling

    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            answer = calling.run({**request, "device": "cpu", "seed": 0})
        except BaseException:  # noqa: BLE001 -- the parent shows it
            answer = {"crashed": traceback.format_exc()}
        with os.fdopen(write, "w", encoding="utf-8") as pipe:
            json.dump(answer, pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    parsed = json.loads(text)
    assert isinstance(parsed, dict)
    assert "crashed" not in parsed, parsed["crashed"]
    return parsed
