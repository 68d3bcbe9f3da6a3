"""`torch.einsum`: subscripts against the operands' dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from raiselens_server.values import dims
from raiselens_server.values.dtypes import FLOATING
from raiselens_server.values.lattice import Const, HolePart, Seq, Tensor
from raiselens_server.values.ops import reading
from raiselens_server.values.ops.building import error, ok

if TYPE_CHECKING:
    from raiselens_server.values.dims import Dim
    from raiselens_server.values.ops.outcome import Outcome, Raise
    from raiselens_server.values.ops.table import Bound, Row


def _einsum(b: Bound) -> Outcome:
    if b.named or len(b.args) < 2 or not isinstance(b.args[0], Const) or not isinstance(b.args[0].value, str):
        return ok(Tensor(), may_raise=True)
    listed = b.args[1].items if len(b.args) == 2 and isinstance(b.args[1], Seq) else b.args[1:]
    operands = [tensor for tensor in map(reading.tensor_of, listed) if tensor is not None]
    equation = b.args[0].value.replace(" ", "")
    inputs, arrow, output = equation.partition("->")
    terms = inputs.split(",")
    plain = all(term.isalpha() or not term for term in (*terms, output))
    if len(operands) != len(listed) or not plain or len(terms) != len(operands):
        return ok(Tensor(), may_raise=True)
    if not arrow:
        letters = sorted(set(inputs) - {","})
        output = "".join(letter for letter in letters if inputs.count(letter) == 1)
    return _checked(terms, operands, output)


def _checked(terms: list[str], operands: list[Tensor], output: str) -> Outcome:
    sizes: dict[str, Dim | None] = {}
    for place, (term, operand) in enumerate(zip(terms, operands, strict=True)):
        shape = operand.shape
        if shape is None:
            sizes.update(dict.fromkeys(term))
            continue
        if len(shape) != len(term):
            text = (
                f"einsum(): the number of subscripts in the equation ({len(term)}) does not match the number of"
                f" dimensions ({len(shape)}) for operand {place} and no ellipsis was given"
            )
            return error("RuntimeError", "operands", "one subscript for each dimension", text)
    missing = next((letter for letter in output if not any(letter in term for term in terms)), None)
    if missing is not None:
        text = f"einsum(): output subscript {missing} does not appear in the equation for any input operand"
        return error("RuntimeError", "equation", "output subscripts appear in the inputs", text)
    broken = _size_error(terms, operands, sizes)
    if broken is not None:
        return broken
    names = operands[0].dtypes
    same = names <= FLOATING and all(operand.dtypes == names for operand in operands)
    device = operands[0].device if all(operand.device == operands[0].device for operand in operands) else None
    made = Tensor(shape=tuple(sizes.get(letter) for letter in output), device=device)
    return ok(made if not same else Tensor(names, made.shape, device), may_raise=True)


def _size_error(terms: list[str], operands: list[Tensor], sizes: dict[str, Dim | None]) -> Raise | None:
    for place, (term, operand) in enumerate(zip(terms, operands, strict=True)):
        for letter, size in zip(term, operand.shape or (None,) * len(term), strict=True):
            seen = sizes.get(letter, 1)
            if letter not in sizes or seen == 1:
                sizes[letter] = size
            elif size == 1 or seen is None or size is None:
                sizes[letter] = seen if size == 1 else None
            elif dims.equal(seen, size) is False and dims.equal(seen, 1) is False and dims.equal(size, 1) is False:
                if len(set(term)) != len(term):
                    return error("RuntimeError", "operands", "the sizes of a subscript agree", HolePart("message"))
                parts = (
                    f"einsum(): subscript {letter} has size ",
                    size,
                    f" for operand {place} which does not broadcast",
                )
                return error(
                    "RuntimeError",
                    "operands",
                    "the sizes of a subscript agree",
                    *parts,
                    " with previously seen size ",
                    seen,
                )
            elif size != seen:
                sizes[letter] = None
    return None


ROWS: Final[tuple[Row, ...]] = (("t", "einsum", None, _einsum),)
