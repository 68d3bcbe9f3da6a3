"""Repairs of rank and size: reshape at the call, brackets around a scalar, the missing `+ 1` of a size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raiselens_server.error import RepairKind
from raiselens_server.repair.locate import needs_parentheses
from raiselens_server.repair.proposal import Change, Changed, Proposal
from raiselens_server.repair.subject import allocation
from raiselens_server.repair.uses import NewShape
from raiselens_server.source import ir
from raiselens_server.values.lattice import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raiselens_server.foresee import Project
    from raiselens_server.repair.locate import Located
    from raiselens_server.repair.subject import Subject
    from raiselens_server.repair.wants import WantSize
    from raiselens_server.source.ir import Expr
    from raiselens_server.values.dims import Dim

_BY_SIZES = frozenset({"zeros", "ones", "empty", "rand", "randn", "new_zeros", "new_ones", "new_empty"})
_BY_SHAPE = frozenset({"full", "new_full", "zeros", "ones", "empty", "rand", "randn", "randint"})


def rank_proposals(project: Project, subject: Subject, rank: int) -> Iterator[Proposal]:
    """Edits that give `subject` the rank wanted."""
    value = subject.value
    if not isinstance(value, Tensor) or value.shape is None:
        return
    have = len(value.shape)
    if have == 0 and rank == 1:
        yield from _bracketed(project, subject)
    if rank == 1 and have == 0:
        yield from at_call(subject, ".reshape(1)", f"Pass `{subject.shown}` as a 1-D tensor of one element")
    elif rank == 1:
        yield from at_call(subject, ".reshape(-1)", f"Flatten `{subject.shown}` to 1-D")
    elif have == rank - 1:
        yield from at_call(subject, ".unsqueeze(0)", f"Add a leading dimension to `{subject.shown}`")
        yield from at_call(subject, ".unsqueeze(-1)", f"Add a trailing dimension to `{subject.shown}`")
    elif have < rank:
        dots = ", ".join(["...", *["None"] * (rank - have)])
        yield from at_call(subject, f"[{dots}]", f"Add {rank - have} trailing dimensions to `{subject.shown}`")
    elif have == rank + 1 and 1 in value.shape:
        axis = value.shape.index(1)
        yield from at_call(subject, f".squeeze({axis})", f"Drop dimension {axis} of `{subject.shown}`")
    elif rank == 2 and have > 2:
        yield from at_call(subject, ".flatten(0, -2)", f"Flatten the leading dimensions of `{subject.shown}`")


def same_shape_proposals(subject: Subject, other: Subject) -> Iterator[Proposal]:
    """Edits that give `subject` the shape of another argument, where it has as many elements."""
    if not isinstance(subject.value, Tensor) or not isinstance(other.value, Tensor) or other.argument is None:
        return
    if not same_elements(subject.value.shape, other.value.shape):
        return
    if other.argument[0] == ir.NAME:
        yield from at_call(
            subject, f".view_as({other.text()})", f"Pass `{subject.shown}` in the shape of `{other.shown}`"
        )


def same_elements(ours: tuple[Dim | None, ...] | None, theirs: tuple[Dim | None, ...] | None) -> bool:
    """Whether two shapes differ in dimensions of size one alone."""
    if ours is None or theirs is None or None in ours or None in theirs:
        return False
    return [size for size in ours if size != 1] == [size for size in theirs if size != 1]


def _bracketed(project: Project, subject: Subject) -> Iterator[Proposal]:
    assert isinstance(subject.value, Tensor)  # noqa: S101 states what the caller has checked
    located = allocation(project, subject, subject.value.shape_site)
    if located is None or located.expr[0] != ir.CALL or not located.expr[4]:
        return
    function, first = located.expr[3], located.expr[4][0]
    if function[0] == ir.ATTRIBUTE and function[4] in {"tensor", "as_tensor"} and first[0] in {ir.CONST, ir.NAME}:
        start, end = located.base + first[1], located.base + first[2]
        text = located.module.text(start, end)
        yield Proposal(
            f"Allocate `{subject.shown}` as a 1-D tensor of one element",
            RepairKind.CHANGE_SHAPE_AT_ALLOCATION,
            (Change(located.module, start, end, f"[{text}]"),),
            Changed(located.module, located.base, located.expr, NewShape()),
        )


def at_call(subject: Subject, suffix: str, title: str, kind: RepairKind = RepairKind.RESHAPE) -> Iterator[Proposal]:
    """Put a method call behind the argument."""
    if subject.argument is None:
        return
    text = subject.text()
    if needs_parentheses(subject.argument):
        text = f"({text})"
    start, end = subject.base + subject.argument[1], subject.base + subject.argument[2]
    # A copy would lose what the callee writes.
    doubtful = kind is RepairKind.RESHAPE or subject.written
    yield Proposal(title, kind, (Change(subject.module, start, end, f"{text}{suffix}"),), doubtful=doubtful)


def size_proposals(project: Project, subject: Subject, want: WantSize) -> Iterator[Proposal]:
    """Edits that make one dimension of `subject` longer or shorter where it is allocated."""
    axis, more = want.axis, want.more
    if not isinstance(subject.value, Tensor):
        return
    located = allocation(project, subject, subject.value.shape_site)
    size = None if located is None else _size_expression(located, axis, subject.value)
    if located is None or size is None:
        return
    start, end = located.base + size[1], located.base + size[2]
    text = located.module.text(start, end)
    sign, amount = ("+", more) if more > 0 else ("-", -more)
    if size[0] == ir.CONST and isinstance(size[3], int):
        replacement = str(size[3] + more)
    elif needs_parentheses(size) and size[0] != ir.BINARY:
        replacement = f"({text}) {sign} {amount}"
    else:
        replacement = f"{text} {sign} {amount}"
    yield Proposal(
        f"Allocate `{subject.shown}` with `{replacement}` elements",
        RepairKind.CHANGE_SHAPE_AT_ALLOCATION,
        (Change(located.module, start, end, replacement),),
        Changed(located.module, located.base, located.expr, NewShape()),
        # One too few is a slip that the guard names; a size that is wholly another may be meant otherwise.
        doubtful=want.nearest or abs(more) != 1,
    )


def _size_expression(located: Located, axis: int, value: Tensor) -> Expr | None:
    expr = located.expr
    if expr[0] != ir.CALL or not expr[4] or value.shape is None:
        return None
    function, arguments = expr[3], expr[4]
    name = function[4] if function[0] == ir.ATTRIBUTE else function[3] if function[0] == ir.NAME else ""
    rank = len(value.shape)
    axis = axis + rank if axis < 0 else axis
    first = arguments[0]
    if name in _BY_SHAPE and first[0] in {ir.TUPLE, ir.LIST} and axis < len(first[3]):
        return first[3][axis]  # type: ignore[no-any-return]
    if name in _BY_SIZES and len(arguments) == rank and axis < rank:
        return arguments[axis]  # type: ignore[no-any-return]
    if name == "arange" and len(arguments) == 1 and axis == 0:
        return first  # type: ignore[no-any-return]
    return None
