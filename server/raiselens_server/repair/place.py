"""Repairs of device, layout and plain arguments."""

from __future__ import annotations

import difflib
from dataclasses import replace
from typing import TYPE_CHECKING

from raiselens_server.error import RepairKind
from raiselens_server.foresee.strings import device_text
from raiselens_server.repair.locate import torch_name
from raiselens_server.repair.proposal import Change, Changed, Proposal
from raiselens_server.repair.shape import at_call
from raiselens_server.repair.subject import allocation
from raiselens_server.repair.uses import NewDevice
from raiselens_server.source import ir
from raiselens_server.values.lattice import Const, Device, Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raiselens_server.foresee import Project
    from raiselens_server.repair.subject import Subject
    from raiselens_server.repair.wants import WantDevice


def device_proposals(project: Project, subject: Subject, want: WantDevice, other: Subject | None) -> Iterator[Proposal]:
    """Edits that put `subject` on the device wanted."""
    shown = device_text(want.device)
    if want.device.type == "meta":
        # Its data would be gone.
        return
    if isinstance(subject.value, Tensor):
        located = allocation(project, subject, subject.value.device_site)
        if located is not None and located.expr[0] == ir.CALL:
            for keyword, value in located.expr[5]:
                if keyword == "device":
                    start, end = located.base + value[1], located.base + value[2]
                    yield Proposal(
                        f"Allocate `{subject.shown}` on {shown}",
                        RepairKind.MOVE_DEVICE,
                        (Change(located.module, start, end, f'"{shown}"'),),
                        Changed(located.module, located.base, located.expr, NewDevice()),
                        # What was put on a GPU was meant to be there: the other one may have to follow.
                        doubtful=want.device.type == "cpu" and subject.value.device != Device("meta"),
                    )
    if isinstance(subject.value, Tensor) and subject.value.device == Device("meta"):
        return
    named = other is not None and other.argument is not None and other.argument[0] == ir.NAME
    suffixes = [f".to({other.text()}.device)"] if other is not None and named else []
    for suffix in (*suffixes, f'.to("{shown}")'):
        for proposal in at_call(subject, suffix, f"Move `{subject.shown}` to {shown}", RepairKind.MOVE_DEVICE):
            yield replace(proposal, doubtful=proposal.doubtful or want.device.type == "cpu")


def contiguous_proposals(subject: Subject) -> Iterator[Proposal]:
    """A contiguous copy at the call."""
    yield from at_call(subject, ".contiguous()", f"Pass a contiguous copy of `{subject.shown}`", RepairKind.CONTIGUOUS)


def value_proposals(subject: Subject, allowed: tuple[str | int | float | bool, ...]) -> Iterator[Proposal]:
    """An argument replaced by an allowed literal, nearest first."""
    argument = subject.argument
    if argument is None or not isinstance(subject.value, Const):
        return
    have = subject.value.value
    options = [option for option in allowed if isinstance(option, type(have)) and option != have]
    if isinstance(have, str):
        texts = [str(option) for option in options]
        close = difflib.get_close_matches(have, texts, n=3, cutoff=0.0)
        options = [*close]
    else:
        # The sort is stable: of a sign and a limit that are as near, the sign comes first.
        options.sort(
            key=lambda option: abs(abs(float(option)) - abs(float(have))) if isinstance(have, (int, float)) else 0.0
        )
    for option in options[:3]:
        start, end = subject.base + argument[1], subject.base + argument[2]
        yield Proposal(
            f"Pass {option!r} as `{subject.name}`",
            RepairKind.CHANGE_ARGUMENT,
            (Change(subject.module, start, end, _literal(option, subject.text())),),
            doubtful=True,
        )


def tensor_proposals(subject: Subject) -> Iterator[Proposal]:
    """A list or a number made into a tensor."""
    argument, torch = subject.argument, torch_name(subject.module, subject.unit)
    if argument is None or torch is None or argument[0] not in {ir.LIST, ir.TUPLE, ir.CONST}:
        return
    start, end = subject.base + argument[1], subject.base + argument[2]
    yield Proposal(
        f"Make a tensor of `{subject.name}`",
        RepairKind.CHANGE_ARGUMENT,
        (Change(subject.module, start, end, f"{torch}.tensor({subject.text()})"),),
        doubtful=True,
    )


def _literal(value: object, old: str) -> str:
    """The value with the quotes of the literal that it stands for."""
    if not isinstance(value, str) or "\\" in value or '"' in value or "'" in value:
        return repr(value)
    quote = "'" if old.startswith("'") else '"'
    return f"{quote}{value}{quote}"
