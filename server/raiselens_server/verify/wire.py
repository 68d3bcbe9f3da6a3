"""Requests and reports as the JSON that goes to the other side and comes back."""

from __future__ import annotations

from typing import Any

from raiselens_server.verify.report import After, Before, DeviceKind, FailureKind, Timing, VerifyFailure, VerifyReport
from raiselens_server.verify.request import (
    Argument,
    ConstantFact,
    Fact,
    FindingTarget,
    NameFact,
    ObjectFact,
    ScatterTarget,
    SequenceFact,
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
        "extra_paths": list(request.extra_paths),
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
        after=after and After(after["ok"], after["cases"], after["mismatches"], after.get("worst"), after["compared"]),
        compiled=tuple(answer["compiled"]),
        timing=timing and Timing(timing["us"], timing["copy_us"], timing["share"], timing["launch_us"]),
        target=tuple(answer["target"]),
        notes=tuple(answer["notes"]),
        programs=dict(answer.get("programs", {})),
        seed=answer["seed"],
    )


def _target(target: Target) -> dict[str, Any]:
    match target:
        case ScatterTarget():
            return {"kind": "scatter"}
        case FindingTarget(callee=callee, predicted=predicted, arguments=arguments, repaired=repaired):
            return {
                "kind": "finding",
                "callee": callee,
                "scatter": target.is_scatter,
                "predicted": {
                    "class": predicted.class_name,
                    "message": predicted.message,
                    "holes": [[hole.start, hole.end] for hole in predicted.holes],
                },
                "arguments": encode_arguments(arguments),
                "repaired": None if repaired is None else encode_arguments(repaired),
            }


def encode_arguments(arguments: tuple[Argument, ...]) -> list[dict[str, Any]]:
    """The facts of a call's arguments; `raiselens_kernel.facts` says what each looks like."""
    return [{"name": argument.name, "fact": _fact(argument.fact)} for argument in arguments]


def _fact(fact: Fact) -> dict[str, Any]:
    match fact:
        case TensorFact(dtype=dtype, shape=shape, device=device, contiguous=contiguous):
            sizes = None if shape is None else list(shape)
            return {"kind": "tensor", "dtype": dtype, "shape": sizes, "device": device, "contiguous": contiguous}
        case ConstantFact(value=value):
            return {"kind": "constant", "value": value}
        case NameFact(name=name):
            return {"kind": "name", "name": name}
        case SequenceFact(items=items, is_tuple=is_tuple):
            return {"kind": "sequence", "items": [_fact(item) for item in items], "is_tuple": is_tuple}
        case ObjectFact(type_name=type_name, arguments=arguments):
            return {"kind": "object", "type": type_name, "arguments": encode_arguments(arguments)}
        case UnknownFact():
            return {"kind": "unknown"}
