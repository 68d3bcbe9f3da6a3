"""Compile the kernel for GPUs that are not here."""

from __future__ import annotations

from typing import Any

from raiselens_kernel.scatter.compiling import TARGETS, compile_for


def run(request: dict[str, Any]) -> dict[str, Any]:
    """`compiled`: the targets it was compiled for; `errors`: one line for each of the others."""
    del request
    answers = [compile_for(architecture) for architecture in TARGETS]
    return {
        "compiled": [answer.target for answer in answers if answer.error is None],
        "errors": [f"does not compile for {answer.target}: {answer.error}" for answer in answers if answer.error],
    }
