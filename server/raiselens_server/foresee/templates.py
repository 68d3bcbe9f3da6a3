"""The template of a guard's message, from the source of its `raise` or `assert`: literals, and holes by expression."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raiselens_server.source import ir
from raiselens_server.source.module import expression_text

if TYPE_CHECKING:
    from raiselens_server.source.ir import Expr, Stmt
    from raiselens_server.source.module import Module


def message_template(module: Module, base: int, statement: Stmt) -> str | None:
    """The message as written, holes as `{expr}`; None where it is built elsewhere."""
    match statement[0]:
        case ir.RAISE if statement[3] is not None and statement[3][0] == ir.CALL:
            _, _, _, _, positional, _ = statement[3]
            return _text(module, base, positional[0]) if positional else None
        case ir.ASSERT if statement[4] is not None:
            return _text(module, base, statement[4])
        case ir.EXPRESSION if statement[3][0] == ir.CALL:
            # torch._check takes its message as a function.
            _, _, _, _, positional, _ = statement[3]
            if len(positional) > 1 and positional[1][0] == ir.LAMBDA:
                body = positional[1][3].code.block
                return _text(module, base, body[0][3]) if body and body[0][3] is not None else None
            return None
        case _:
            return None


def _text(module: Module, base: int, expr: Expr) -> str | None:
    match expr[0]:
        case ir.CONST if isinstance(expr[3], str):
            return expr[3]
        case ir.FSTRING:
            return "".join(
                part if isinstance(part, str) else f"{{{expression_text(module, base, part[0])}}}" for part in expr[3]
            )
        case ir.BINARY if expr[3] == "+":
            left, right = _text(module, base, expr[4]), _text(module, base, expr[5])
            if left is None and right is None:
                return None
            shown = [
                text if text is not None else f"{{{expression_text(module, base, side)}}}"
                for text, side in ((left, expr[4]), (right, expr[5]))
            ]
            return "".join(shown)
        case ir.BINARY if expr[3] == "%":
            return _text(module, base, expr[4])
        case ir.CALL if expr[3][0] == ir.ATTRIBUTE and expr[3][4] == "format":
            return _text(module, base, expr[3][3])
        case _:
            return None
