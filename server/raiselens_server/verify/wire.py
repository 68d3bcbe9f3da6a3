"""Requests and reports as the JSON that goes to the other side and comes back."""

from __future__ import annotations

from typing import Any

from typing_extensions import assert_never

from raiselens_server.verify.report import After, Before, DeviceKind, FailureKind, Timing, VerifyFailure, VerifyReport
from raiselens_server.verify.request import (
    Call,
    ConstantFact,
    Fact,
    FindingTarget,
    MappingFact,
    NameFact,
    NamespaceFact,
    ScatterTarget,
    SequenceFact,
    SizeFact,
    Target,
    TensorFact,
    UnknownFact,
    VerifyRequest,
)


def encode_request(request: VerifyRequest, *, time_limit: float) -> dict[str, Any]:
    """What `raiselens_kernel.verify` reads."""
    return {
        "target": _target(request.target),
        "devices": list(request.devices),
        "extra_paths": [*request.extra_paths, *_own_paths(request.target)],
        "seed": request.seed,
        "memory_limit": request.memory_limit,
        "time_limit": time_limit,
    }


def decode_report(answer: dict[str, Any]) -> VerifyReport | VerifyFailure:
    """The report that came back; raises `KeyError`, `TypeError` or `ValueError` where it is none."""
    if "error" in answer:
        return VerifyFailure(FailureKind(answer["error"]["kind"]), str(answer["error"]["reason"]))
    before, after, timing = answer["before"], answer["after"], answer["timing"]
    return VerifyReport(
        ok=bool(answer["ok"]),
        device_kind=DeviceKind(answer["device"]["kind"]),
        device_name=str(answer["device"]["name"]),
        versions={str(name): str(version) for name, version in answer["versions"].items()},
        before=before and Before(before["class"], before["message"], before["as_predicted"]),
        after=_after(after),
        scatter=_after(answer.get("scatter")),
        repair=answer.get("repair"),
        compiled=tuple(answer["compiled"]),
        timing=timing and Timing(timing["us"], timing["copy_us"], timing["share"], timing["launch_us"]),
        target=tuple(answer["target"]),
        notes=tuple(answer["notes"]),
        programs=dict(answer.get("programs", {})),
        seed=answer["seed"],
    )


def _own_paths(target: Target) -> tuple[str, ...]:
    return target.paths if isinstance(target, FindingTarget) else ()


def _after(after: dict[str, Any] | None) -> After | None:
    return (
        None
        if after is None
        else After(after["ok"], after["cases"], after["mismatches"], after.get("worst"), after["compared"])
    )


def _target(target: Target) -> dict[str, Any]:
    match target:
        case ScatterTarget():
            return {"kind": "scatter"}
        case FindingTarget(callee=callee, predicted=predicted, call=call, repair=repair, notes=notes):
            return {
                "kind": "finding",
                "callee": callee,
                "scatter": target.is_scatter,
                "predicted": {
                    "class": predicted.class_name,
                    "message": predicted.message,
                    "holes": [[hole.start, hole.end] for hole in predicted.holes],
                },
                "call": None if call is None else encode_call(call),
                "repair": repair,
                "notes": list(notes),
            }


def encode_call(call: Call) -> dict[str, Any]:
    """A call as `raiselens_kernel.programs` takes it; `raiselens_kernel.facts` says what each fact looks like."""
    return {
        "imports": list(call.imports),
        "bindings": [{"name": b.name, "fact": _fact(b.fact), "param": b.param} for b in call.bindings],
        "before": call.before,
        "after": call.after,
    }


def _fact(fact: Fact) -> dict[str, Any]:
    match fact:
        case TensorFact():
            return {
                "kind": "tensor",
                "dtype": fact.dtype,
                "shape": None if fact.shape is None else list(fact.shape),
                "device": fact.device,
                "contiguous": fact.contiguous,
                "strides": None if fact.strides is None else list(fact.strides),
                "requires_grad": fact.requires_grad,
            }
        case ConstantFact(value=value):
            return {"kind": "constant", "value": value}
        case SizeFact(form=form):
            return {"kind": "size", "form": form}
        case NameFact(name=name):
            return {"kind": "name", "name": name}
        case SequenceFact(items=items, is_tuple=is_tuple):
            return {"kind": "sequence", "items": [_fact(item) for item in items], "is_tuple": is_tuple}
        case MappingFact(items=pairs):
            return {"kind": "mapping", "items": [[key, _fact(item)] for key, item in pairs]}
        case NamespaceFact(attributes=attributes):
            return {"kind": "namespace", "items": [[name, _fact(item)] for name, item in attributes]}
        case UnknownFact():
            return {"kind": "unknown"}
        case _:
            assert_never(fact)
