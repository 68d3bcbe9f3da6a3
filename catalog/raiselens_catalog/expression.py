"""Templates from the Python expressions that make messages: strings, f-strings, `%`, `.format`, `+`."""

from __future__ import annotations

import ast
import re
import string
from typing import TYPE_CHECKING, Final

from raiselens_catalog.template import Hole, Part, Template

if TYPE_CHECKING:
    from collections.abc import Iterator


def template_of_expression(source: str) -> Template | None:
    """Return the template of the message that `source`, one Python expression, makes; None where it is none.

    Understood are string literals, f-strings, `%`, `.format`, `+`, `str(…)` and their nesting; the rest is a hole.
    """
    try:
        tree = ast.parse(source.strip(), mode="eval")
        return Template.from_parts(_expression_parts(tree.body))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _expression_parts(node: ast.expr) -> Iterator[Part]:
    match node:
        case ast.Constant(value=str() as text):
            yield text
        case ast.Constant(value=bool() | int() | float() | None as value):
            yield str(value)
        case ast.JoinedStr(values=values):
            for value in values:
                yield from _expression_parts(value)
        case ast.FormattedValue(value=ast.Constant(value=str() as text), conversion=-1, format_spec=None):
            yield text
        case ast.FormattedValue(value=value):
            yield Hole(ast.unparse(value))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from _expression_parts(left)
            yield from _expression_parts(right)
        case ast.BinOp(left=ast.Constant(value=str() as text), op=ast.Mod(), right=right):
            yield from _percent_parts(text, right)
        case ast.BinOp(left=(ast.JoinedStr() | ast.BinOp()) as left, op=ast.Mod(), right=right):
            for part in _expression_parts(left):
                if isinstance(part, str):
                    yield from _percent_parts(part, right)
                else:
                    yield part
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str() as text), attr="format"), args=args):
            yield from _format_parts(text, args, node.keywords)
        case ast.Call(func=ast.Name(id="str"), args=[argument], keywords=[]):
            yield from _expression_parts(argument)
        case _:
            yield Hole(ast.unparse(node))


_PERCENT: Final = re.compile(
    r"%(?:\((?P<name>[^()]*)\))?[-#0 +]*(?:\*|\d+)?(?:\.(?:\*|\d+))?[hlL]?(?P<kind>[diouxXeEfFgGcrsa%])"
)


def _percent_parts(text: str, right: ast.expr) -> Iterator[Part]:
    values = list(right.elts) if isinstance(right, ast.Tuple) else [right]
    at = position = 0
    for spec in _PERCENT.finditer(text):
        yield text[at : spec.start()]
        at = spec.end()
        if spec["kind"] == "%":
            yield "%"
            continue
        if spec["name"] is not None:
            yield Hole(spec["name"])
            continue
        yield Hole(ast.unparse(values[position]) if position < len(values) else str(position))
        position += 1
    yield text[at:]


def _format_parts(text: str, args: list[ast.expr], keywords: list[ast.keyword]) -> Iterator[Part]:
    named = {keyword.arg: keyword.value for keyword in keywords if keyword.arg is not None}
    position = 0
    try:
        fields = list(string.Formatter().parse(text))
    except ValueError:
        yield text
        return
    for literal, field, _, _ in fields:
        yield literal
        if field is None:
            continue
        name = re.split(r"[.\[]", field, maxsplit=1)[0]
        if not name:
            name, position = str(position), position + 1
        rest = field[len(field) - len(field.lstrip("0123456789")) :] if name.isdigit() else field[len(name) :]
        value = args[int(name)] if name.isdigit() and int(name) < len(args) else named.get(name)
        yield Hole((ast.unparse(value) if value is not None else name) + rest)
