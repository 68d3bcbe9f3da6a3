"""The bundled scatter after a repair: every element of a poisoned pool must equal the reference, over the cases."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import torch

from raiselens_kernel.scatter.cases import all_cases, check, draw
from raiselens_kernel.scatter.launch import all_settings, launch_scatter_req_token_ids_kernel


def run(request: dict[str, Any]) -> dict[str, Any]:
    """`after` over every `of`-th case from `share` on.

    Off the GPU no case is so large that the launcher would choose its settings for many tokens, so all settings take
    turns there, from another one on in each run.
    """
    device = torch.device(request["device"])
    on_gpu = device.type == "cuda"
    settings = itertools.cycle([None] if on_gpu else all_settings())
    turns = itertools.islice(settings, request["seed"] % len(all_settings()), None)
    cases = all_cases(large=on_gpu)[request["share"] :: request["of"]]
    worst: tuple[int, str] | None = None
    mismatches = 0
    for case, chosen in zip(cases, turns, strict=False):
        launch = functools.partial(launch_scatter_req_token_ids_kernel, checked=True, settings=chosen)
        try:
            found = check(case.make(draw(request["seed"], case.name, device)), launch)
        except Exception as error:  # noqa: BLE001 -- a case that cannot be run is a failed one
            lines = str(error).strip().splitlines() or [""]
            return {"after": _after(len(cases), mismatches + 1, f"{case.name}: {type(error).__name__}: {lines[0]}")}
        if found is not None:
            mismatches += 1
            if worst is None or found.count > worst[0]:
                worst = (found.count, f"{case.name}: {found}")
    return {"after": _after(len(cases), mismatches, worst[1] if worst else None)}


def _after(cases: int, mismatches: int, worst: str | None) -> dict[str, Any]:
    return {"ok": mismatches == 0, "cases": cases, "mismatches": mismatches, "worst": worst}
