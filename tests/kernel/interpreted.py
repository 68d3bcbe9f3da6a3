"""Run in a process of its own with TRITON_INTERPRET set: launches the kernel and prints what came out as JSON.

interpreted.py cases SEED            every case: name → the mismatch, or null
interpreted.py calls < CALLS         calls given as [[{parameter: shape}, batch_block]]: each one's error, or null
"""

from __future__ import annotations

import json
import sys

import torch

from raiselens_kernel.scatter.cases import check, drawn
from raiselens_kernel.scatter.launch import launch_scatter_req_token_ids_kernel


def cases(seed: int) -> dict[str, str | None]:
    results = {}
    for case, inputs in drawn(seed=seed, device=torch.device("cpu"), large=False):
        wrong = check(inputs, launch_scatter_req_token_ids_kernel)
        results[case.name] = None if wrong is None else str(wrong)
    return results


def calls() -> list[str | None]:
    errors: list[str | None] = []
    for shapes, batch_block in json.load(sys.stdin):
        arguments = {
            name: torch.zeros(shape, dtype=torch.int32 if name == "pool_out" else torch.int64)
            for name, shape in shapes.items()
        }
        try:
            launch_scatter_req_token_ids_kernel(**arguments, batch_block=batch_block)
        except (TypeError, ValueError) as error:
            errors.append(f"{type(error).__name__}: {error}")
        else:
            errors.append(None)
    return errors


if __name__ == "__main__":
    json.dump(cases(int(sys.argv[2])) if sys.argv[1] == "cases" else calls(), sys.stdout)
