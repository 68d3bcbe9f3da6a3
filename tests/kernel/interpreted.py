"""Run in a process of its own with TRITON_INTERPRET set: launches the kernel and prints what came out as JSON.

`interpreted.py cases SEED`: for every case, under every launch setting, the mismatch, or null.
`interpreted.py some SEED`: the first few of them.
`interpreted.py first-wrong SEED`: the name of the first case that is wrong, or null.
`interpreted.py wild SEED`: for every launch setting how many elements around the pool were changed by launches whose
offsets and rows mean nothing.
`interpreted.py calls`: for each call on stdin, given as `[{parameter: shape}, batch_block]`, its error or null.
`interpreted.py checks`: for each `[flat_in, offsets, req_pool_indices, rows]` on stdin, what the checked mode says of it,
or null.
"""

from __future__ import annotations

import functools
import itertools
import json
import sys
from typing import TYPE_CHECKING

import torch

from raiselens_kernel.scatter.cases import Draw, ScatterInputs, all_cases, check, draw, poisoned
from raiselens_kernel.scatter.launch import LaunchSettings, all_settings, launch_scatter_req_token_ids_kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

SOME = 60
"""Ten cases under six settings."""


def named(settings: LaunchSettings) -> str:
    return f"{settings.tile} tokens a program{', a lane for each request' * settings.short}"


def cases(seed: int) -> Iterator[tuple[str, str | None]]:
    for case in all_cases(large=False):
        for settings in all_settings():
            inputs = case.make(draw(seed, case.name, torch.device("cpu")))
            wrong = check(inputs, functools.partial(launch_scatter_req_token_ids_kernel, settings=settings))
            yield f"{case.name}, {named(settings)}", None if wrong is None else str(wrong)


def wild(seed: int) -> dict[str, int]:
    return {named(settings): _changed_around(seed, settings) for settings in all_settings()}


def _changed_around(seed: int, settings: LaunchSettings) -> int:
    source = draw(seed, "wild", torch.device("cpu"))
    rows, width, margin = 40, 64, 3_000
    changed = 0
    for requests in (1, 3, 70, 300):
        around = poisoned(source, 1, rows * width + 2 * margin)[0]
        before = around.clone()
        pool = around[margin : margin + rows * width].view(rows, width)
        launch_scatter_req_token_ids_kernel(**_meaningless(source, requests, pool).arguments(), settings=settings)
        same = around == before
        changed += int((~same[:margin]).sum() + (~same[margin + rows * width :]).sum())
    return changed


def _meaningless(source: Draw, requests: int, pool: torch.Tensor) -> ScatterInputs:
    tokens = 1_500
    return ScatterInputs(
        source.integers(0, 1 << 31, tokens),
        source.integers(-tokens, 2 * tokens, requests + 1),
        source.integers(-3, pool.shape[0] + 3, requests),
        pool,
    )


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


def checks() -> list[str | None]:
    errors: list[str | None] = []
    for flat_in, offsets, req_pool_indices, rows in json.load(sys.stdin):
        try:
            launch_scatter_req_token_ids_kernel(
                flat_in=torch.tensor(flat_in, dtype=torch.int64),
                offsets=torch.tensor(offsets),
                req_pool_indices=torch.tensor(req_pool_indices, dtype=torch.int64),
                pool_out=torch.zeros(rows, 4, dtype=torch.int32),
                checked=True,
            )
        except ValueError as error:
            errors.append(str(error).removeprefix("kv-canary: scatter_req_token_ids "))
        else:
            errors.append(None)
    return errors


def main() -> None:
    match sys.argv[1:]:
        case ["cases", seed]:
            answer: object = dict(cases(int(seed)))
        case ["first-wrong", seed]:
            answer = next((name for name, wrong in cases(int(seed)) if wrong), None)
        case ["some", seed]:
            answer = dict(itertools.islice(cases(int(seed)), SOME))
        case ["wild", seed]:
            answer = wild(int(seed))
        case ["checks"]:
            answer = checks()
        case _:
            answer = calls()
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
