"""Run one stage: request on stdin, answer on stdout."""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any

STAGES = {
    "probe": "raiselens_kernel.stages.probe",
    "scatter-before": "raiselens_kernel.stages.scatter_before",
    "scatter-after": "raiselens_kernel.stages.scatter_after",
    "call": "raiselens_kernel.stages.calling",
    "compile": "raiselens_kernel.stages.compiling",
    "timing": "raiselens_kernel.stages.timing",
}


def main() -> int:
    """Run the stage named on the command line."""
    # The libraries under test print where they like; only the answer may reach stdout.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    request = json.load(sys.stdin)
    _limit_memory(request)
    sys.path.extend(request.get("extra_paths", []))
    answer = importlib.import_module(STAGES[sys.argv[1]]).run(request)
    json.dump(answer, answers)
    answers.close()
    return 0


def _limit_memory(request: dict[str, Any]) -> None:
    """Bound what the process may write to, where it runs on the CPU: CUDA maps more than it uses."""
    limit = request.get("memory_limit")
    if limit is None or request["device"] != "cpu" or sys.platform != "linux":
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    bound = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (bound, hard))


if __name__ == "__main__":
    sys.exit(main())
