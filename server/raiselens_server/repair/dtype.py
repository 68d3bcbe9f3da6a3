"""Repairs of a dtype: change or add it at the allocation, or cast the argument at the call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from raiselens_server.error import RepairKind
from raiselens_server.repair.consumers import other_consumers
from raiselens_server.repair.content import bound_once, called, holds, overflows, widens
from raiselens_server.repair.locate import Located, needs_parentheses, torch_name
from raiselens_server.repair.proposal import Change, Changed, Proposal
from raiselens_server.repair.subject import allocation
from raiselens_server.repair.uses import NewDType, Stored
from raiselens_server.source import ir
from raiselens_server.source.module import flatten
from raiselens_server.values import dtypes
from raiselens_server.values.lattice import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raiselens_server.foresee import Project
    from raiselens_server.repair.subject import Subject
    from raiselens_server.source.ir import Expr

_FACTORIES: Final = frozenset(
    {
        "zeros", "ones", "empty", "full", "arange", "tensor", "as_tensor", "rand", "randn", "randint", "randperm",
        "eye", "linspace", "logspace", "zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like",
        "randint_like", "new_zeros", "new_ones", "new_empty", "new_full", "new_tensor", "empty_strided",
    }
)  # fmt: skip
_REDUCTIONS: Final = frozenset({"cumsum", "sum", "cumprod", "prod", "mean", "softmax", "log_softmax", "nansum"})
_INHERITING: Final = frozenset({"clone", *(n for n in _FACTORIES if n.endswith("_like") or n.startswith("new_"))})
_FLOATING_ALONE: Final = frozenset({"rand", "randn", "rand_like", "randn_like", "mean", "softmax", "log_softmax", "nansum"})  # fmt: skip
_ANYWHERE: Final = frozenset({"int8", "int16", "int32", "int64", "uint8"}) | dtypes.FLOATING
_ANY_DTYPE: Final = frozenset({"zeros", "ones", "empty", "full", "tensor", "zeros_like", "ones_like", "empty_like", "full_like", "new_zeros", "new_ones", "new_empty", "new_full", "to", "type", "clone", *dtypes.CAST_METHODS})  # fmt: skip
_LOST = "values that do not fit are lost"
_CAST_BY_DTYPE: Final = {dtype: name for name, dtype in dtypes.CAST_METHODS.items()}
_LEGACY: Final = {dtype: f"{name}Tensor" for name, dtype in dtypes.LEGACY.items()}


def proposals(project: Project, subject: Subject, wanted: str, call: Expr | None) -> Iterator[Proposal]:
    """Edits that give `subject`, an argument of `call`, the dtype `wanted`."""
    if not isinstance(subject.value, Tensor):
        return
    have = dtypes.only(subject.value.dtypes)
    source = allocation(project, subject, subject.value.dtype_site)
    for located in _where_decided(project, subject, source):
        yield from at_allocation(subject, located, have, wanted)
    kept = widens(have, wanted)
    if not kept and source is not None and holds(source, wanted):
        # What was allocated is what arrives, unless something writes into it on the way.
        kept = not other_consumers(
            project, Changed(source.module, source.base, source.expr, Stored()), () if call is None else (call,)
        )
    yield from _at_call(subject, wanted, kept=kept)


def _where_decided(project: Project, subject: Subject, source: Located | None) -> Iterator[Located]:
    """The expressions that may be given a dtype: where the tensor is made from another one's, before that other one."""
    assert isinstance(subject.value, Tensor)  # noqa: S101 states what the caller has checked
    made = allocation(project, subject, subject.value.shape_site) or _bound(subject)
    if made is not None and called(made.expr) not in _INHERITING:
        made = _bound(subject)
    if made is not None and called(made.expr) in _INHERITING and (source is None or made.expr is not source.expr):
        yield made
    if source is not None:
        yield source


def _bound(subject: Subject) -> Located | None:
    """What the name that is passed is bound to: a shape that is taken over with the dtype was decided elsewhere."""
    argument = subject.argument
    if argument is None or argument[0] != ir.NAME:
        return None
    block = subject.module.block if subject.unit is None else subject.unit.body.block
    expr = bound_once(argument[3], [block])
    for statement in flatten(block):
        if expr is not None and statement[0] == ir.ASSIGN and statement[4] is expr:
            return Located(subject.module, subject.base, expr, statement, subject.unit)
    return None


def spelled(located: Located, wanted: str) -> str | None:
    """`torch.int32` as the file would write it."""
    name = torch_name(located.module, located.unit)
    return None if name is None else f"{name}.{wanted}"


def at_allocation(subject: Subject, located: Located, have: str | None, wanted: str) -> Iterator[Proposal]:
    """An edit that gives the tensor the dtype `wanted` where it is made."""
    expr = located.expr
    text = spelled(located, wanted)
    name = called(expr)
    if text is None or name is None or not _makes(expr, name, wanted) or overflows(located, wanted):
        return
    if name == "clone":
        change: Change | None = Change(located.module, located.end, located.end, f".to({text})")
    else:
        change = _cast_change(located, name, wanted, text) or _dtype_keyword(located, name, text)
    if change is None:
        return
    cast = name in dtypes.CAST_METHODS or name in {"to", "type", "clone"}
    title = (
        f"Convert to torch.{wanted} here" if cast else f"Allocate `{_allocated(subject, located)}` as torch.{wanted}"
    )
    kept = widens(have, wanted) or holds(located, wanted)
    yield Proposal(
        title if kept else f"{title} ({_LOST})",
        RepairKind.CAST_AT_CALL if cast and _is_argument(subject, located) else RepairKind.CHANGE_DTYPE_AT_ALLOCATION,
        (change,),
        Changed(located.module, located.base, expr, NewDType(have, wanted)),
        doubtful=not kept,
    )


def _makes(expr: Expr, name: str, wanted: str) -> bool:
    """Whether a factory takes the dtype: torch draws no integers from a normal distribution, and has no gradient of them."""
    needs_floating = name in _FLOATING_ALONE or any(
        keyword == "requires_grad" and value[3:] != (False,) for keyword, value in expr[5]
    )
    if needs_floating:
        return wanted in dtypes.FLOATING
    return wanted in _ANYWHERE or name in _ANY_DTYPE


def _allocated(subject: Subject, located: Located) -> str:
    """What to call the value that is allocated: the variable it is bound to, else what is passed."""
    statement = located.statement
    if statement[0] == ir.ASSIGN and statement[4] == located.expr and statement[3][0][0] == ir.NAME:
        return str(statement[3][0][3])
    return subject.shown


def _is_argument(subject: Subject, located: Located) -> bool:
    argument = subject.argument
    return argument is not None and subject.module.path == located.module.path and argument[1:3] == located.expr[1:3]


def _dtype_keyword(located: Located, name: str, text: str) -> Change | None:
    expr, module, base = located.expr, located.module, located.base
    for keyword, value in expr[5]:
        if keyword == "dtype":
            return Change(module, base + value[1], base + value[2], text)
    if name not in _FACTORIES | _REDUCTIONS or any(keyword is None for keyword, _ in expr[5]):
        return None
    return insert_argument(located, f"dtype={text}")


def insert_argument(located: Located, text: str) -> Change:
    """Add one more argument at the end of a call, before a trailing comma and its blanks."""
    module, end = located.module, located.end - 1
    last = max(
        (part[2] for part in (*located.expr[4], *(value for _, value in located.expr[5]))),
        default=None,
    )
    if last is None:
        return Change(module, end, end, text)
    position = located.base + last
    tail = module.text(position, end)
    closers = len(tail) - len(tail.lstrip(") \t\n"))
    position += tail.rfind(")", 0, closers) + 1 if ")" in tail[:closers] else 0
    rest = module.text(position, end)
    if rest.strip() == "," and "\n" in rest:
        line_start = module.offset_of_line(module.line_of(position))
        line = module.text(line_start, position)
        indent = line[: len(line) - len(line.lstrip())]
        comma = position + rest.index(",") + 1
        return Change(module, comma, comma, f"\n{indent}{text},")
    return Change(module, position, position, f", {text}")


def _cast_change(located: Located, name: str, wanted: str, text: str) -> Change | None:
    expr, module, base = located.expr, located.module, located.base
    if expr[3][0] != ir.ATTRIBUTE:
        return None
    if name in dtypes.CAST_METHODS and not expr[4] and not expr[5]:
        method = _CAST_BY_DTYPE.get(wanted)
        start = base + expr[3][2] - len(name)
        replacement = f"{method}()" if method else f"to({text})"
        return Change(module, start, located.end, replacement)
    if name in {"to", "type", "view"} and expr[4]:
        first = expr[4][0]
        if first[0] == ir.CONST and isinstance(first[3], str) and first[3].endswith("Tensor") and wanted in _LEGACY:
            old = module.text(base + first[1], base + first[2])
            legacy = old.replace(first[3].rsplit(".", 1)[-1], _LEGACY[wanted])
            return Change(module, base + first[1], base + first[2], legacy)
        if first[0] in {ir.ATTRIBUTE, ir.NAME} and _names_dtype(first, located):
            return Change(module, base + first[1], base + first[2], text)
    return None


def _names_dtype(expr: tuple[object, ...], located: Located) -> bool:
    shown = located.module.text(located.base + int(expr[1]), located.base + int(expr[2]))  # type: ignore[call-overload]
    return "." in shown and not shown.endswith(".device")


def _at_call(subject: Subject, wanted: str, *, kept: bool) -> Iterator[Proposal]:
    argument = subject.argument
    if argument is None:
        return
    name = torch_name(subject.module, subject.unit)
    method = _CAST_BY_DTYPE.get(wanted)
    if name is None and method is None:
        return
    text = subject.text()
    if needs_parentheses(argument):
        text = f"({text})"
    cast = f".to({name}.{wanted})" if name is not None else f".{method}()"
    start, end = subject.base + argument[1], subject.base + argument[2]
    title = f"Cast `{subject.shown}` to torch.{wanted} for this call"
    if subject.written:
        title += " (what the call writes is lost with the copy)"
    elif not kept:
        title += f" ({_LOST})"
    yield Proposal(
        title,
        RepairKind.CAST_AT_CALL,
        (Change(subject.module, start, end, f"{text}{cast}"),),
        doubtful=subject.written or not kept,
    )
