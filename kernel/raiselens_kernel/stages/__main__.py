"""Run one stage: request on stdin, answer on stdout."""

from __future__ import annotations

import importlib
import json
import os
import sys

STAGES = {
    "probe": "raiselens_kernel.stages.probe",
    "scatter-before": "raiselens_kernel.stages.scatter_before",
    "scatter-after": "raiselens_kernel.stages.scatter_after",
    "installed": "raiselens_kernel.stages.installed",
    "compile": "raiselens_kernel.stages.compiling",
    "timing": "raiselens_kernel.stages.timing",
}


def main() -> int:
    """Run the stage named on the command line."""
    # The libraries under test print where they like; only the answer may reach stdout.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    request = json.load(sys.stdin)
    sys.path.extend(request.get("extra_paths", []))
    answer = importlib.import_module(STAGES[sys.argv[1]]).run(request)
    json.dump(answer, answers)
    answers.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
