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

A diagnosis's request is `VerifyRequest(target_of(project, diagnosis))`: the facts at the call come from the run on
abstract values that foresaw it, and what is not known is left out.
"""

from __future__ import annotations

from raiselens_server.verify.from_finding import arguments_of, target_of
from raiselens_server.verify.from_values import arguments_from, fact_from
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
    Argument,
    ConstantFact,
    Dim,
    Fact,
    FindingTarget,
    NameFact,
    ObjectFact,
    Predicted,
    ScatterTarget,
    SequenceFact,
    Target,
    TensorFact,
    UnknownFact,
    VerifyRequest,
    finding_target,
)
from raiselens_server.verify.run import Cancel, Progress, run_verify

__all__ = [
    "After",
    "Argument",
    "Before",
    "Cancel",
    "ConstantFact",
    "DeviceKind",
    "Dim",
    "Fact",
    "FailureKind",
    "FindingTarget",
    "NameFact",
    "ObjectFact",
    "Predicted",
    "Progress",
    "ScatterTarget",
    "SequenceFact",
    "Target",
    "TensorFact",
    "Timing",
    "UnknownFact",
    "VerifyFailure",
    "VerifyReport",
    "VerifyRequest",
    "arguments_from",
    "arguments_of",
    "fact_from",
    "finding_target",
    "run_verify",
    "target_of",
]
