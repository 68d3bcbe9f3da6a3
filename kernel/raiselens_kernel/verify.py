r"""Verify one request in this interpreter and print one JSON report.

    python -m raiselens_kernel.verify < request.json

The request is what `raiselens verify` sends:

    {"target": {"kind": "scatter"} | {"kind": "finding", "callee": "pkg.mod.function", "scatter": true,
                "predicted": {"class": "TypeError", "message": "…", "holes": [[start, end]]},
                "call": null | {"imports": ["from lib import f"], "bindings": [{"name": "x", "fact": {…}, "param": "x"}],
                                "before": "f(x)\n", "after": null | "f(x.long())\n"},
                "repair": null | "its title", "notes": ["what could not be built, and why"]},
     "devices": ["auto"], "extra_paths": [], "seed": null}

This process imports no torch: each stage runs in one of its own, so that a fault in one is an answer here. Exit
status 0 where all went well, 1 where something did not, 2 where it could not be run (`{"error": {"kind", "reason"}}`).
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from raiselens_kernel.processes import Answered, Died, Stage, start
from raiselens_kernel.seeds import fresh_seed

if TYPE_CHECKING:
    from collections.abc import Iterable

BUNDLED = "raiselens_kernel.scatter.launch.launch_scatter_req_token_ids_kernel"
INTERPRETER_NAME = "CPU interpreter, not a GPU run"


class CannotRunError(Exception):
    """The request could not be run at all; `kind` is one of the server's failure kinds."""

    def __init__(self, kind: str, reason: str) -> None:
        """Keep the kind beside the one line that is the message."""
        super().__init__(reason)
        self.kind = kind


def main() -> int:
    """Read the request on stdin (or as the only argument), print the report."""
    try:
        request = json.loads(sys.argv[1] if len(sys.argv) > 1 else sys.stdin.read())
        report = verify(request)
    except ValueError as error:
        report = _failure("bad-answer", f"the request is not JSON: {error}")
    except CannotRunError as error:
        report = _failure(error.kind, str(error))
    sys.stdout.write(json.dumps(report) + "\n")
    if "error" in report:
        return 2
    return 0 if report["ok"] else 1


def verify(request: dict[str, Any]) -> dict[str, Any]:
    """The report for a request; raises `CannotRunError` where nothing of it can be run."""
    _say("looking for torch, triton and devices")
    probe = _answer(start("probe", request, device="cpu", interpreted=False))
    if "missing" in probe:
        raise CannotRunError("no-torch", f"{sys.executable}: {probe['missing']}")
    devices = _devices(request.get("devices") or ["auto"], probe["devices"])
    on_gpu = devices[0] != "cpu"
    request = {**request, "seed": request["seed"] if request.get("seed") is not None else fresh_seed()}
    target = request["target"]
    is_scatter = target["kind"] == "scatter" or target["scatter"]
    where = [_info(device, probe["devices"]) for device in devices] if on_gpu else []
    notes: list[str] = list(target.get("notes", []))
    compiling = start("compile", request, device="cpu", interpreted=False) if is_scatter and not on_gpu else None
    runs: list[dict[str, Any]] = []
    if target.get("call") is not None:
        runs += _runs_of_call(request, devices[0], interpreted=not on_gpu, notes=notes)
    if is_scatter and not any(run["target"] == BUNDLED for run in runs):
        runs.append(
            {"target": BUNDLED, **_answer(start("scatter-before", request, device=devices[0], interpreted=not on_gpu))}
        )
    if not runs:
        raise CannotRunError("not-possible", "; ".join(notes) or "the finding names no function to run")
    scatter = None
    if is_scatter:
        _say(f"running the bundled scatter on {', '.join(info['name'] for info in where) or INTERPRETER_NAME}")
        scatter = _scatter_cases(request, devices)
    compiled: list[str] = []
    timing = None
    if compiling is not None:
        _say("compiling for GPUs that are not here")
        answer = _answer(compiling)
        compiled = answer["compiled"]
        notes += answer["errors"]
    elif is_scatter:
        compiled = sorted({info["arch"] for info in where})
        _say("timing")
        timing = _answer(start("timing", request, device=devices[0], interpreted=False))["timing"]
    before, after = _before(runs), after_of(runs, scatter, alone=target["kind"] == "scatter")
    parts = [before and before["as_predicted"], after and after["ok"], scatter and scatter["ok"]]
    known = [part for part in parts if part is not None]
    programs: dict[str, str] = next((run["programs"] for run in runs if run.get("programs")), {})
    return {
        "schema": 1,
        "ok": bool(known) and all(known) and (compiling is None or bool(compiled)),
        "device": _device(where),
        "versions": probe["versions"],
        "before": before,
        "after": after,
        "repair": target.get("repair") if after is not None else None,
        "scatter": scatter,
        "compiled": compiled,
        "timing": timing,
        "target": [run["target"] for run in runs],
        "runs": [{key: value for key, value in run.items() if key != "programs"} for run in runs],
        "notes": list(dict.fromkeys(notes)),
        "seed": request["seed"],
        **({"programs": programs} if programs else {}),
    }


def _runs_of_call(request: dict[str, Any], device: str, *, interpreted: bool, notes: list[str]) -> list[dict[str, Any]]:
    """The user's call with the functions that are installed; of the scatter's launcher, with the bundled one too."""
    target = request["target"]
    stages = [(target["callee"], False), *([(BUNDLED, True)] if target["scatter"] else [])]
    runs = []
    for name, bundled in stages:
        _say(f"running {name}")
        asked = {**request, "bundled": bundled}
        result = start("call", asked, device=device, interpreted=interpreted).result()
        if isinstance(result, Died) and target["call"]["after"] is not None:
            # Which of the two it was: the call as it stands is asked for alone.
            notes.append(f"the repaired call was not shown to run: {result.reason}")
            alone = {**target, "call": {**target["call"], "after": None}}
            result = start("call", {**asked, "target": alone}, device=device, interpreted=interpreted).result()
        match result:
            case Died(reason):
                notes.append(f"{name} was not run: {reason}")
            case Answered(answer):
                notes += answer.pop("notes", [])
                if answer:
                    runs.append({"target": name, **answer})
    return runs


def _devices(asked: list[str], present: list[dict[str, str]]) -> list[str]:
    if asked == ["auto"]:
        return ["cuda:0"] if present else ["cpu"]
    if asked == ["cpu"]:
        return ["cpu"]
    if not present:
        raise CannotRunError("not-possible", f"torch in {sys.executable} sees no CUDA device")
    devices = ["cuda:0" if name == "cuda" else name for name in asked]
    for name in devices:
        kind, _, index = name.partition(":")
        if kind != "cuda" or not index.isdigit():
            raise CannotRunError(
                "not-possible", f"{name!r} is no device: auto, cpu, cuda, or cuda:N separated by commas"
            )
        if int(index) >= len(present):
            raise CannotRunError("not-possible", f"{name} is not here: torch sees {len(present)} CUDA device(s)")
    return list(dict.fromkeys(devices))


def _info(device: str, present: list[dict[str, str]]) -> dict[str, str]:
    return present[int(device.partition(":")[2])]


def _device(where: list[dict[str, str]]) -> dict[str, str]:
    if not where:
        return {"kind": "interpreter", "name": INTERPRETER_NAME}
    return {"kind": "cuda", "name": ", ".join(info["name"] for info in where)}


def _scatter_cases(request: dict[str, Any], devices: list[str]) -> dict[str, Any]:
    """The bundled scatter against the reference, its cases shared out over the devices."""
    shares = [
        start(
            "scatter-after",
            {**request, "share": share, "of": len(devices)},
            device=device,
            interpreted=devices == ["cpu"],
        )
        for share, device in enumerate(devices)
    ]
    parts = []
    for share in shares:
        match share.result():
            case Answered(answer):
                parts.append(answer["after"])
            case Died(reason):
                parts.append({"ok": False, "cases": 0, "mismatches": 1, "worst": reason})
    return _added(parts)


def _before(runs: list[dict[str, Any]]) -> dict[str, Any] | None:
    outcomes = [run["before"] for run in runs if run.get("before")]
    failed = [outcome for outcome in outcomes if not outcome["as_predicted"]]
    return (failed or outcomes or [None])[0]


def after_of(runs: list[dict[str, Any]], scatter: dict[str, Any] | None, *, alone: bool) -> dict[str, Any] | None:
    """The repaired call in every run of it; the scatter's own cases count where they are what was asked for, or beside it."""
    outcomes = [run["after"] for run in runs if run.get("after")]
    if alone or outcomes:
        outcomes += [scatter] if scatter is not None else []
    return _added(outcomes) if outcomes else None


def _added(parts: Iterable[dict[str, Any]]) -> dict[str, Any]:
    total: dict[str, Any] = {"ok": True, "cases": 0, "mismatches": 0, "compared": True}
    for part in parts:
        total["compared"] = total["compared"] and part.get("compared", True)
        total["ok"] = total["ok"] and part["ok"]
        total["cases"] += part["cases"]
        total["mismatches"] += part["mismatches"]
        if part.get("worst"):
            total.setdefault("worst", part["worst"])
    return total


def _answer(stage: Stage) -> dict[str, Any]:
    match stage.result():
        case Answered(answer):
            return answer
        case Died(reason):
            raise CannotRunError("killed", reason)


def _failure(kind: str, reason: str) -> dict[str, Any]:
    return {"schema": 1, "ok": False, "error": {"kind": kind, "reason": reason}}


def _say(step: str) -> None:
    sys.stderr.write(f"raiselens: step: {step}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
