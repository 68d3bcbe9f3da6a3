"""The user's call: as it stands it must raise what was predicted, repaired it must run.

With `bundled` in the request the scatter's launcher is this package's own, whatever is installed; else the functions are
the user's. What the scatter wrote is compared with the reference.
"""

from __future__ import annotations

import contextlib
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from raiselens_kernel.facts import numbers_for, scatter_given
from raiselens_kernel.messages import printed_class, same_class, same_message
from raiselens_kernel.programs import Program, UnbuildableError, devices_named, guesses, program
from raiselens_kernel.resolve import Found, NotFound, import_into, resolve
from raiselens_kernel.scatter.guards import plan_raising
from raiselens_kernel.standins import OnCpu, Watched, put_in_place, with_bundled_launcher

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_GPU_WORDS = ("cuda", "nvidia", "gpu", "driver", "triton")
_ANY_TEXT = 500
_FAULT = "CUDA error"


@dataclass(frozen=True, slots=True)
class Raised:
    """What a program raised; an empty class where it ran through.

    `imported`: it came as far as its imports; `own`: the program defines the class itself.
    """

    class_name: str
    message: str
    imported: bool = True
    own: bool = False

    def __str__(self) -> str:
        """As a traceback's last line."""
        return f"{self.class_name}: {self.message}" if self.class_name else "no error"


def run(request: dict[str, Any]) -> dict[str, Any]:
    """`before` and `after` of the call, the programs that were run, and `notes`."""
    target = request["target"]
    sys.path[:0] = request.get("extra_paths", [])
    callee = target["callee"]
    watched: Watched | None = None
    notes: list[str] = []
    try:
        if request.get("bundled"):
            watched = with_bundled_launcher(callee, target["call"]["imports"])
        else:
            notes += [note for statement in target["call"]["imports"] for note in _tried(statement)]
            watched = _watched(callee) if target["scatter"] else None
        answer = _before_and_after(request, watched)
    except UnbuildableError as error:
        return {"notes": [*notes, f"{callee} was not run: {error}"]}
    return {**answer, "notes": [*notes, *answer.get("notes", [])]}


def _watched(callee: str) -> Watched:
    match resolve(callee):
        case Found() as found:
            return put_in_place(found)
        case NotFound(reason=reason):
            raise UnbuildableError(reason)


def _tried(statement: str) -> list[str]:
    """Notes on an import that had to be helped."""
    match import_into({}, statement):
        case NotFound(reason=reason):
            raise UnbuildableError(reason)
        case str() as note:
            return [note]
        case None:
            return []


def _before_and_after(request: dict[str, Any], watched: Watched | None) -> dict[str, Any]:
    target, device = request["target"], request["device"]
    call = _completed(target)
    kinds = devices_named(call)
    if device == "cpu" and {"cpu", "cuda"} <= kinds:
        raise UnbuildableError("its tensors are on a GPU and on the CPU, and there is no GPU")
    tried = list(guesses(call["bindings"]))
    title = f"Raises {Raised(target['predicted']['class'], target['predicted']['message'])}"
    first: tuple[Program, Raised] | None = None
    unlike: tuple[dict[str, Any], Raised] | None = None
    for guess in tried:
        text = program(call, call["before"], guess, device=device, title=title)
        raised = _executed(text, device)
        if not raised.imported:
            raise UnbuildableError(str(raised))
        first = first or (text, raised)
        if not _as_predicted(raised, target):
            continue
        answer = {"before": _before(raised, target), "programs": {"before": text.text}}
        if call["after"] is None:
            return answer
        if _FAULT in raised.message:
            return {**answer, "notes": ["the repaired call was not run: the GPU takes no more work in this process"]}
        repaired = program(call, call["after"], guess, device=device, title=f"Runs, once repaired: {target['repair']}")
        answer["programs"]["after"] = repaired.text
        outcome = _executed(repaired, device, watched)
        if not outcome.class_name:
            return {**answer, "after": _ran(watched)}
        if device == "cpu" and _wants_gpu(outcome):
            return {**answer, "notes": [f"the repaired call needs a GPU, and there is none: {outcome}"[:_ANY_TEXT]]}
        if outcome.class_name == raised.class_name and (len(tried) == 1 or _as_predicted(outcome, target)):
            return {**answer, "after": _failed(f"the repaired call raised {outcome}")}
        # Another error may lie in what was made up, so it proves nothing.
        unlike = unlike or (answer, outcome)
    if unlike is not None:
        answer, outcome = unlike
        note = f"the repaired call was not shown to run: with made-up values it raised {str(outcome).partition(chr(10))[0]}"
        return {**answer, "notes": [note[:_ANY_TEXT]]}
    if first is None:
        raise UnbuildableError("no call could be made from what is known")
    text, raised = first
    if device == "cpu" and ("cuda" in {*kinds, *_words(call["before"])} or _wants_gpu(raised)):
        raise UnbuildableError(f"it needs a GPU, and there is none (on the CPU: {raised})"[:_ANY_TEXT])
    if len(tried) > 1 and raised.class_name:
        raise UnbuildableError(
            f"too little is known of what it reads: with {len(tried)} guesses it raised other errors, first {raised}"[
                :_ANY_TEXT
            ]
        )
    return {"before": _before(raised, target), "programs": {"before": text.text}}


def _completed(target: Mapping[str, Any]) -> dict[str, Any]:
    """The call; of the scatter, with offsets and rows that rise, and with what no fact says taken from the message."""
    call = dict(target["call"])
    if not target["scatter"]:
        return call
    bindings: Sequence[Mapping[str, Any]] = call["bindings"]
    plan = plan_raising(target["predicted"]["message"], scatter_given(bindings, numbers_for(bindings)))
    rising_to = {
        "offsets": (plan["flat_in"][1] or (0,))[0],
        "req_pool_indices": max((plan["pool_out"][1] or (1,))[0] - 1, 0),
    }
    call["bindings"] = [_planned(binding, plan, rising_to) for binding in bindings]
    return call


def _planned(
    binding: Mapping[str, Any], plan: Mapping[str, tuple[str, tuple[int, ...]]], rising_to: Mapping[str, int]
) -> Mapping[str, Any]:
    fact, param = binding["fact"], binding["param"]
    if param not in plan or fact["kind"] not in {"tensor", "unknown"}:
        return binding
    dtype, shape = plan[param]
    known = fact if fact["kind"] == "tensor" else {"kind": "tensor"}
    planned = {**known, "dtype": dtype, "shape": list(shape), "strides": None}
    if planned.get("contiguous") is not False:
        planned["rising_to"] = rising_to.get(param)
    return {**binding, "fact": planned}


def _executed(written: Program, device: str, watched: Watched | None = None) -> Raised:
    """Run a program as a script of its own would be."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    imported = False
    on_cpu = device == "cpu" and "cuda" in written.body
    with OnCpu() if on_cpu else contextlib.nullcontext(), watched or contextlib.nullcontext():
        try:
            for statement in written.imports:
                exec(statement, namespace)  # noqa: S102 -- it is what was asked for
            imported = True
            # The body has the flags of this module: its annotations are not evaluated either.
            exec(compile(written.body, "<program>", "exec"), namespace)  # noqa: S102 -- it is what was asked for
            # What a kernel did wrong is raised by whatever waits for it.
            if device != "cpu":
                torch.cuda.synchronize()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 -- what it raises is the answer
            return Raised(printed_class(error), str(error), imported, type(error).__module__ == "__main__")
    return Raised("", "")


def _ran(watched: Watched | None) -> dict[str, Any]:
    if watched is None or watched.mismatch is None:
        compared = watched is not None and watched.compared > 0
        return {"ok": True, "cases": 1, "mismatches": 0, "compared": compared}
    return _failed(f"the repaired call: {watched.mismatch}")


def _failed(worst: str) -> dict[str, Any]:
    return {"ok": False, "cases": 1, "mismatches": 1, "worst": worst[:_ANY_TEXT], "compared": False}


def _before(raised: Raised, target: Mapping[str, Any]) -> dict[str, Any]:
    return {"class": raised.class_name, "message": raised.message, "as_predicted": _as_predicted(raised, target)}


def _as_predicted(raised: Raised, target: Mapping[str, Any]) -> bool:
    predicted = target["predicted"]
    spans = [(start, end) for start, end, *_ in predicted["holes"]]
    return same_class(raised.class_name, predicted["class"], own=raised.own) and same_message(
        raised.message, predicted["message"], spans
    )


def _words(source: str) -> list[str]:
    return re.findall(r"\w+", source)


def _wants_gpu(raised: Raised) -> bool:
    text = str(raised).lower()
    return any(word in text for word in _GPU_WORDS)
