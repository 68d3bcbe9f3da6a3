"""The user's installed function: the call as it stands must raise what was predicted, the repaired one must run."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from raiselens_kernel.facts import numbers_for, scatter_given
from raiselens_kernel.messages import printed_class, same_class, same_message
from raiselens_kernel.programs import Guess, UnbuildableError, devices_named, guesses, program
from raiselens_kernel.resolve import Found, NotFound, resolve
from raiselens_kernel.scatter.cases import ScatterInputs, check, drawn
from raiselens_kernel.scatter.guards import plan_raising
from raiselens_kernel.scatter.launch import SGLANG_BATCH_BLOCK

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_GPU_WORDS = ("cuda", "nvidia", "gpu", "driver", "triton")


@dataclass(frozen=True, slots=True)
class Raised:
    """What a program raised; an empty class where it ran through."""

    class_name: str
    message: str

    def __str__(self) -> str:
        """As a traceback's last line."""
        return f"{self.class_name}: {self.message}" if self.class_name else "no error"


def run(request: dict[str, Any]) -> dict[str, Any]:
    """`before` and `after` of the installed function, the programs that were run, and `notes`."""
    target = request["target"]
    sys.path[:0] = request.get("extra_paths", [])
    found = resolve(target["callee"])
    if isinstance(found, NotFound):
        return {"notes": [f"{target['callee']} was not run: {found.reason}"]}
    notes = [found.note] if found.note else []
    try:
        answer = _scatter(found, request) if target["scatter"] else _any(found, request)
    except UnbuildableError as error:
        return {"notes": [*notes, f"{target['callee']} was not run: {error}"]}
    return {**answer, "notes": [*notes, *answer.get("notes", [])]}


def _scatter(found: Found, request: dict[str, Any]) -> dict[str, Any]:
    target = request["target"]
    message = target["predicted"]["message"]
    arguments = _scatter_arguments(message, target["arguments"])
    text = _program(found, arguments, next(guesses(arguments)), request, f"Raises {_predicted_text(target)}")
    answer = {"before": _before(_executed(text), target), "after": _over_cases(found.value, request)}
    programs = {"before": text}
    if target["repaired"] is not None:
        repaired = _scatter_arguments("", target["repaired"])
        programs["after"] = _program(found, repaired, next(guesses(repaired)), request, "Runs, once repaired")
    return {**answer, "programs": programs}


def _scatter_arguments(message: str, facts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Facts for a call that raises `message`, with valid offsets and rows: where no guard fires, a kernel runs."""
    plan = plan_raising(message, scatter_given(facts, numbers_for(facts)))
    rising_to = {
        "offsets": (plan["flat_in"][1] or (0,))[0],
        "req_pool_indices": max((plan["pool_out"][1] or (1,))[0] - 1, 0),
    }
    return [
        {
            "name": name,
            "fact": {"kind": "tensor", "dtype": dtype, "shape": list(shape), "rising_to": rising_to.get(name)},
        }
        for name, (dtype, shape) in plan.items()
    ]


def _over_cases(launch: Callable[..., None], request: dict[str, Any]) -> dict[str, Any]:
    """The installed launcher against the reference, on those cases that are within what it says it takes."""
    device = torch.device(request["device"])
    cases = mismatches = 0
    worst: str | None = None
    for case, inputs in drawn(seed=request["seed"], device=device, large=False):
        if not _takes(inputs):
            continue
        cases += 1
        try:
            wrong = check(inputs, launch)
        except Exception as error:  # noqa: BLE001 -- a case that cannot be run is a failed one
            wrong = None
            mismatches += 1
            worst = worst or f"{case.name}: {Raised(printed_class(error), str(error))}"[:500]
        if wrong is not None:
            mismatches += 1
            worst = worst or f"{case.name}: {wrong}"
    return {"ok": mismatches == 0, "cases": cases, "mismatches": mismatches, "worst": worst}


def _takes(inputs: ScatterInputs) -> bool:
    # It assumes contiguous inputs and unit column stride without checking.
    plain = (inputs.flat_in, inputs.offsets, inputs.req_pool_indices)
    requests = inputs.req_pool_indices.shape[0]
    steps = all(tensor.is_contiguous() for tensor in plain) and inputs.pool_out.stride(1) == 1
    return steps and 0 < requests < SGLANG_BATCH_BLOCK and inputs.pool_out.shape[1] > 0


def _any(found: Found, request: dict[str, Any]) -> dict[str, Any]:
    target, device = request["target"], request["device"]
    arguments = target["arguments"]
    if not arguments:
        raise UnbuildableError("nothing is known of its arguments")
    kinds = devices_named(arguments)
    if device == "cpu" and {"cpu", "cuda"} <= kinds:
        raise UnbuildableError("its tensors are on a GPU and on the CPU, and there is no GPU")
    first: tuple[str, Raised] | None = None
    tried = 0
    open_ended = False
    for guess in guesses(arguments):
        tried += 1
        text = _program(found, arguments, guess, request, f"Raises {_predicted_text(target)}")
        raised = _executed(text)
        first = first or (text, raised)
        if not _as_predicted(raised, target):
            continue
        answer = {"before": _before(raised, target), "programs": {"before": text}}
        if target["repaired"] is None:
            return {**answer, "notes": ["there is no repair, so nothing was run after it"]}
        repaired = _program(found, target["repaired"], guess, request, "Runs, once repaired")
        outcome = _executed(repaired)
        answer["programs"]["after"] = repaired
        if not outcome.class_name:
            return {**answer, "after": {"ok": True, "cases": 1, "mismatches": 0, "compared": False}}
        if device == "cpu" and _wants_gpu(outcome):
            return {**answer, "notes": [f"the repaired call needs a GPU, and there is none: {outcome}"[:500]]}
        open_ended = open_ended or sum(1 for _ in guesses(arguments)) > 1
        if not open_ended or _as_predicted(outcome, target):
            worst = f"the repaired call raised {outcome}"[:500]
            failed = {"ok": False, "cases": 1, "mismatches": 1, "worst": worst, "compared": False}
            return {**answer, "after": failed}
        first = (text, raised)
    if first is None:
        raise UnbuildableError("no call could be made from what is known")
    text, raised = first
    if _as_predicted(raised, target):
        note = f"the repaired call was not shown to run: with the {tried} sizes tried it raised something else"
        return {"before": _before(raised, target), "programs": {"before": text}, "notes": [note]}
    if device == "cpu" and ("cuda" in kinds or _wants_gpu(raised)):
        raise UnbuildableError(f"it needs a GPU, and there is none (on the CPU: {raised})"[:500])
    return {"before": _before(raised, target), "programs": {"before": text}}


def _program(
    found: Found, arguments: Sequence[Mapping[str, Any]], guess: Guess, request: dict[str, Any], title: str
) -> str:
    return program(found.module, found.qualname, arguments, guess, device=request["device"], title=title)


def _executed(text: str) -> Raised:
    """Run a program as a script of its own would be."""
    try:
        exec(compile(text, "<program>", "exec"), {"__name__": "__main__"})  # noqa: S102 -- it is what was asked for
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 -- what it raises is the answer
        return Raised(printed_class(error), str(error))
    return Raised("", "")


def _before(raised: Raised, target: dict[str, Any]) -> dict[str, Any]:
    return {"class": raised.class_name, "message": raised.message, "as_predicted": _as_predicted(raised, target)}


def _as_predicted(raised: Raised, target: dict[str, Any]) -> bool:
    predicted = target["predicted"]
    spans = [(start, end) for start, end, *_ in predicted["holes"]]
    return same_class(raised.class_name, predicted["class"]) and same_message(
        raised.message, predicted["message"], spans
    )


def _wants_gpu(raised: Raised) -> bool:
    text = str(raised).lower()
    return any(word in text for word in _GPU_WORDS)


def _predicted_text(target: dict[str, Any]) -> str:
    return str(Raised(target["predicted"]["class"], target["predicted"]["message"]))
