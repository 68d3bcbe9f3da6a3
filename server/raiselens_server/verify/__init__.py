"""Verify a finding by running it: *before* must raise what was predicted, *after* must run and be right.

The run takes place in the user's interpreter, in a process of its own that is killed whole on cancel, on this machine
or behind a launcher command (`ssh box`). Nothing here imports torch: the kernel package's sources travel to the other
side on stdin.

    report = run_verify(VerifyRequest(ScatterTarget()), interpreter="/usr/bin/python3")
    match report:
        case VerifyReport():
            print(report.summary, report.to_json())
        case VerifyFailure(reason=reason):
            print(reason)
    sys.exit(report.exit_code)

A diagnosis's request is `VerifyRequest(target_of(project, diagnosis))`: the call is cut out of the user's source as it is
written, and what it reads is made from what the run on abstract values knew.
"""

from __future__ import annotations

from raiselens_server.verify.from_finding import target_of
from raiselens_server.verify.from_values import fact_from
from raiselens_server.verify.report import (
    After,
    Before,
    DeviceKind,
    FailureKind,
    Timing,
    VerifyFailure,
    VerifyReport,
)
from raiselens_server.verify.request import (
    Binding,
    Call,
    ConstantFact,
    Dim,
    Fact,
    FindingTarget,
    MappingFact,
    NameFact,
    NamespaceFact,
    Predicted,
    ScatterTarget,
    SequenceFact,
    SizeFact,
    Target,
    TensorFact,
    UnknownFact,
    VerifyRequest,
    devices_of,
    predicted_by,
)
from raiselens_server.verify.run import Cancel, Progress, run_verify

__all__ = [
    "After",
    "Before",
    "Binding",
    "Call",
    "Cancel",
    "ConstantFact",
    "DeviceKind",
    "Dim",
    "Fact",
    "FailureKind",
    "FindingTarget",
    "MappingFact",
    "NameFact",
    "NamespaceFact",
    "Predicted",
    "Progress",
    "ScatterTarget",
    "SequenceFact",
    "SizeFact",
    "Target",
    "TensorFact",
    "Timing",
    "UnknownFact",
    "VerifyFailure",
    "VerifyReport",
    "VerifyRequest",
    "devices_of",
    "fact_from",
    "predicted_by",
    "run_verify",
    "target_of",
]
