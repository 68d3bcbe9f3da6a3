"""Syntax nodes → IR expressions. Total: what is not understood becomes OPAQUE."""

# ruff: noqa: SLF001 - the dispatch table below the class is a part of it

from __future__ import annotations

import ast
from sys import intern
from typing import TYPE_CHECKING, Any, Final

from raiselens_server.source import field, ir
from raiselens_server.source.syntax import LANGUAGE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    from raiselens_server.source.ir import Expr
    from raiselens_server.source.syntax import Text
    from raiselens_server.source.units import FunctionUnit

EXTRAS: Final = frozenset({"comment", "line_continuation"})
"""Nodes that may stand anywhere and mean nothing."""
MAX_NESTING: Final = 100
"""How deep expressions and blocks may nest, together; what is deeper is not read. CPython itself stops at 100 blocks."""
_TRIPLE: Final = frozenset({'"""', "'''"})
_QUOTES: Final = _TRIPLE | frozenset({'"', "'"})
_LONGEST_INT: Final = 4000


def literal_text(raw: str) -> str | bytes | None:
    """The value of one string literal without interpolations, None where it is malformed."""
    quote = raw[:3] if raw[:3] in _TRIPLE else raw[:1]
    if quote in _QUOTES and "\\" not in raw and len(raw) >= 2 * len(quote) and raw.endswith(quote):
        return raw[len(quote) : -len(quote)]
    try:
        value = ast.literal_eval(raw)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, (str, bytes)) else None


def _postfix(kind: int, start: int, end: int, inner: Expr, *rest: object) -> Expr:
    """`inner.name`, `inner(…)` or `inner[…]`. The grammar reads `*x.shape` as `(*x).shape`: the star goes outside."""
    if inner[0] == ir.STAR:
        operand = inner[3]
        return (ir.STAR, start, end, (kind, operand[1], end, operand, *rest))
    return (kind, start, end, inner, *rest)


class ExpressionLowering:
    """Lowers the expressions of one unit; `base` is subtracted from every offset, `depth` is that of the unit.

    Notes what they do to the unit: a walrus binds one of `assigned`, a yield makes it a `generator`.
    """

    __slots__ = ("ascii", "assigned", "base", "depth", "generator", "qualname", "source")

    def __init__(self, text: Text, base: int, qualname: str, depth: int = 0) -> None:
        self.source = text.source
        self.ascii = text.ascii
        self.base = base
        self.qualname = qualname
        self.depth = depth
        self.assigned: set[str] = set()
        self.generator = False

    def make_lambda(self, node: Node) -> FunctionUnit:
        """The unit of a lambda; supplied by the statement lowering."""
        raise NotImplementedError

    def text(self, node: Node) -> str:
        """The node's text, interned: identifiers repeat."""
        if self.ascii is not None:
            return intern(self.ascii[node.start_byte : node.end_byte])
        return intern(self.source[node.start_byte : node.end_byte].decode("utf-8", "replace"))

    def expression(self, node: Node) -> Expr:
        """Lower any expression node."""
        handler = _BY_KIND.get(node.kind_id)
        if handler is None or self.depth >= MAX_NESTING:
            return (ir.OPAQUE, node.start_byte - self.base, node.end_byte - self.base)
        self.depth += 1
        expr = handler(self, node)
        self.depth -= 1
        return expr

    def optional(self, node: Node | None) -> Expr | None:
        """Lower a node that may be absent."""
        return None if node is None else self.expression(node)

    def items(self, node: Node) -> tuple[Expr, ...]:
        """Lower the named children, comments left out."""
        return tuple(self.expression(child) for child in node.named_children if child.type not in EXTRAS)

    def _name(self, node: Node) -> Expr:
        return (ir.NAME, node.start_byte - self.base, node.end_byte - self.base, self.text(node))

    def _attribute(self, node: Node) -> Expr:
        obj, name = node.child_by_field_id(field.OBJECT), node.child_by_field_id(field.ATTRIBUTE)
        if obj is None or name is None:
            return self.opaque(node)
        start, end = node.start_byte - self.base, node.end_byte - self.base
        return _postfix(ir.ATTRIBUTE, start, end, self.expression(obj), self.text(name))

    def opaque(self, node: Node) -> Expr:
        """What is not understood."""
        return (ir.OPAQUE, node.start_byte - self.base, node.end_byte - self.base)

    def _constant(self, node: Node, value: object) -> Expr:
        return (ir.CONST, node.start_byte - self.base, node.end_byte - self.base, value)

    def _number(self, node: Node) -> Expr:
        text = self.text(node)
        if text.isdecimal():
            # CPython refuses numbers of thousands of digits, and so does `int`.
            return self._constant(node, int(text)) if len(text) < _LONGEST_INT else self.opaque(node)
        try:
            return self._constant(node, ast.literal_eval(text))
        except (ValueError, SyntaxError):
            return self.opaque(node)

    def _call(self, node: Node) -> Expr:
        function, arguments = node.child_by_field_id(field.FUNCTION), node.child_by_field_id(field.ARGUMENTS)
        if function is None or arguments is None:
            return self.opaque(node)
        positional, keywords = self.arguments(arguments)
        start, end = node.start_byte - self.base, node.end_byte - self.base
        return _postfix(ir.CALL, start, end, self.expression(function), positional, keywords)

    def arguments(self, node: Node) -> tuple[tuple[Expr, ...], tuple[tuple[str | None, Expr], ...]]:
        """Lower an argument list: positional arguments, then keywords."""
        if node.type == "generator_expression":
            return (self.expression(node),), ()
        positional: list[Expr] = []
        keywords: list[tuple[str | None, Expr]] = []
        for child in node.named_children:
            match child.type:
                case "comment" | "line_continuation":
                    continue
                case "keyword_argument":
                    name, value = child.child_by_field_id(field.NAME), child.child_by_field_id(field.VALUE)
                    if name is not None and value is not None:
                        keywords.append((self.text(name), self.expression(value)))
                case "dictionary_splat":
                    keywords.append((None, self.expression(child.named_children[0])))
                case _:
                    positional.append(self.expression(child))
        return tuple(positional), tuple(keywords)

    def _subscript(self, node: Node) -> Expr:
        value = node.child_by_field_id(field.VALUE)
        indices = node.children_by_field_id(field.SUBSCRIPT)
        if value is None or not indices:
            return self.opaque(node)
        start, end = node.start_byte - self.base, node.end_byte - self.base
        comma = any(child.type == "," for child in node.children)
        if len(indices) == 1 and not comma:
            index = self.expression(indices[0])
        else:
            first, last = indices[0].start_byte - self.base, indices[-1].end_byte - self.base
            index = (ir.TUPLE, first, last, tuple(self.expression(item) for item in indices))
        return _postfix(ir.SUBSCRIPT, start, end, self.expression(value), index)

    def _binary(self, node: Node) -> Expr:
        left, right = node.child_by_field_id(field.LEFT), node.child_by_field_id(field.RIGHT)
        operator = node.child_by_field_id(field.OPERATOR)
        if left is None or right is None or operator is None:
            return self.opaque(node)
        start, end = node.start_byte - self.base, node.end_byte - self.base
        return (ir.BINARY, start, end, operator.type, self.expression(left), self.expression(right))

    def _unary(self, node: Node) -> Expr:
        operand, operator = node.child_by_field_id(field.ARGUMENT), node.child_by_field_id(field.OPERATOR)
        if operand is None:
            return self.opaque(node)
        start, end = node.start_byte - self.base, node.end_byte - self.base
        kind = "not" if operator is None else operator.type
        lowered = self.expression(operand)
        if kind == "-" and lowered[0] == ir.CONST and isinstance(lowered[3], (int, float)):
            return (ir.CONST, start, end, -lowered[3])
        return (ir.UNARY, start, end, kind, lowered)

    def _boolean(self, node: Node) -> Expr:
        left, right = node.child_by_field_id(field.LEFT), node.child_by_field_id(field.RIGHT)
        operator = node.child_by_field_id(field.OPERATOR)
        if left is None or right is None or operator is None:
            return self.opaque(node)
        start, end = node.start_byte - self.base, node.end_byte - self.base
        return (ir.BOOLEAN, start, end, operator.type, (self.expression(left), self.expression(right)))

    def _compare(self, node: Node) -> Expr:
        operands = [child for child in node.named_children if child.type not in EXTRAS]
        operators = [child.type for child in node.children_by_field_id(field.OPERATORS)]
        if len(operators) != len(operands) - 1:
            return self.opaque(node)
        pairs = tuple((op, self.expression(right)) for op, right in zip(operators, operands[1:], strict=True))
        start, end = node.start_byte - self.base, node.end_byte - self.base
        return (ir.COMPARE, start, end, self.expression(operands[0]), pairs)

    def _conditional(self, node: Node) -> Expr:
        parts = self.items(node)
        if len(parts) != 3:
            return self.opaque(node)
        body, test, orelse = parts
        return (ir.CONDITIONAL, node.start_byte - self.base, node.end_byte - self.base, test, body, orelse)

    def _dictionary(self, node: Node) -> Expr:
        pairs: list[tuple[Expr | None, Expr]] = []
        for child in node.named_children:
            if child.type == "pair":
                key, value = child.child_by_field_id(field.KEY), child.child_by_field_id(field.VALUE)
                if key is None or value is None:
                    return self.opaque(node)
                pairs.append((self.expression(key), self.expression(value)))
            elif child.type == "dictionary_splat":
                pairs.append((None, self.expression(child.named_children[0])))
            elif child.type not in EXTRAS:
                return self.opaque(node)
        return (ir.DICT, node.start_byte - self.base, node.end_byte - self.base, tuple(pairs))

    def _string(self, node: Node) -> Expr:
        parts = self._string_parts(node)
        return self._from_parts(node, parts)

    def _concatenated(self, node: Node) -> Expr:
        parts: list[Any] = []
        for child in node.named_children:
            if child.type == "comment":
                continue
            piece = self._string_parts(child)
            if piece is None:
                return self.opaque(node)
            parts.extend(piece)
        return self._from_parts(node, parts)

    def _from_parts(self, node: Node, parts: list[Any] | None) -> Expr:
        if parts is None:
            return self.opaque(node)
        if all(isinstance(part, bytes) for part in parts) and parts:
            return self._constant(node, b"".join(parts))
        if all(isinstance(part, str) for part in parts):
            return self._constant(node, "".join(parts))
        if any(isinstance(part, bytes) for part in parts):
            return self.opaque(node)
        merged: list[Any] = []
        for part in parts:
            if isinstance(part, str) and merged and isinstance(merged[-1], str):
                merged[-1] += part
            elif part != "":
                merged.append(part)
        return (ir.FSTRING, node.start_byte - self.base, node.end_byte - self.base, tuple(merged))

    def _string_parts(self, node: Node) -> list[Any] | None:
        """The parts of one string literal: text, or (expr, conversion, format parts)."""
        children = node.children
        if not children or children[0].type != "string_start":
            return None
        raw = self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")
        start = self.source[children[0].start_byte : children[0].end_byte].decode("utf-8", "replace")
        prefix = start.rstrip("\"'").lower()
        if "f" not in prefix and "t" not in prefix:
            value = literal_text(raw)
            return None if value is None else [value]
        quote = start[len(prefix) :]
        flags = "r" if "r" in prefix else ""
        parts: list[Any] = []
        position = children[0].end_byte
        end = children[-1].start_byte if children[-1].type == "string_end" else node.end_byte
        for child in node.named_children:
            if child.type != "interpolation":
                continue
            literal = self._format_literal(position, child.start_byte, flags, quote)
            if literal is None:
                return None
            parts.append(literal)
            parts.extend(self._interpolation(child))
            position = child.end_byte
        literal = self._format_literal(position, end, flags, quote)
        if literal is None:
            return None
        parts.append(literal)
        return parts

    def _format_literal(self, start: int, end: int, flags: str, quote: str) -> str | None:
        if start >= end:
            return ""
        raw = self.source[start:end].decode("utf-8", "replace").replace("{{", "{").replace("}}", "}")
        if "\\" not in raw:
            return raw
        value = literal_text(f"{flags}{quote}{raw}{quote}")
        return value if isinstance(value, str) else None

    def _interpolation(self, node: Node) -> list[Any]:
        expression = node.child_by_field_id(field.EXPRESSION)
        if expression is None:
            return [((ir.OPAQUE, node.start_byte - self.base, node.end_byte - self.base), "", None)]
        conversion = ""
        spec: tuple[Any, ...] | None = None
        parts: list[Any] = []
        for child in node.children:
            if child.type == "=":
                label_end = child.end_byte
                while self.source[label_end : label_end + 1].isspace():
                    label_end += 1
                parts.append(self.source[node.start_byte + 1 : label_end].decode("utf-8", "replace"))
                conversion = conversion or "r"
            elif child.type == "type_conversion":
                conversion = self.text(child)[1:]
            elif child.type == "format_specifier":
                spec = self._format_spec(child)
                if parts and conversion == "r":
                    conversion = ""
        parts.append((self.expression(expression), conversion, spec))
        return parts

    def _format_spec(self, node: Node) -> tuple[Any, ...]:
        nested = [child for child in node.named_children if child.type in {"interpolation", "format_expression"}]
        if nested:
            return (None,)
        return (self.source[node.start_byte + 1 : node.end_byte].decode("utf-8", "replace"),)

    def _lambda(self, node: Node) -> Expr:
        unit = self.make_lambda(node)
        return (ir.LAMBDA, node.start_byte - self.base, node.end_byte - self.base, unit)

    def _slice(self, node: Node) -> Expr:
        parts: list[Expr | None] = [None, None, None]
        index = 0
        for child in node.children:
            if child.type == ":":
                index += 1
            elif child.type not in EXTRAS and index < len(parts):
                parts[index] = self.expression(child)
        return (ir.SLICE, node.start_byte - self.base, node.end_byte - self.base, *parts)

    def _star(self, node: Node) -> Expr:
        children = node.named_children
        if not children:
            return self.opaque(node)
        return (ir.STAR, node.start_byte - self.base, node.end_byte - self.base, self.expression(children[0]))

    def _walrus(self, node: Node) -> Expr:
        name, value = node.child_by_field_id(field.NAME), node.child_by_field_id(field.VALUE)
        if name is None or value is None:
            return self.opaque(node)
        start, end = node.start_byte - self.base, node.end_byte - self.base
        bound = self.text(name)
        self.assigned.add(bound)
        return (ir.WALRUS, start, end, bound, self.expression(value))

    def _await(self, node: Node) -> Expr:
        return (
            ir.AWAIT,
            node.start_byte - self.base,
            node.end_byte - self.base,
            self.expression(node.named_children[0]),
        )

    def _yield(self, node: Node) -> Expr:
        self.generator = True
        children = node.named_children
        operand = self.expression(children[0]) if children else None
        return (ir.YIELD, node.start_byte - self.base, node.end_byte - self.base, operand)

    def _inner(self, node: Node) -> Expr:
        for child in node.named_children:
            if child.type not in EXTRAS:
                return self.expression(child)
        return self.opaque(node)

    def target(self, node: Node) -> Expr:
        """Lower an assignment target; patterns become TUPLE, LIST and STAR."""
        if self.depth >= MAX_NESTING:
            return self.opaque(node)
        self.depth += 1
        target = self._target(node)
        self.depth -= 1
        return target

    def _target(self, node: Node) -> Expr:
        start, end = node.start_byte - self.base, node.end_byte - self.base
        match node.type:
            case "tuple_pattern" if not any(child.type == "," for child in node.children) and node.named_children:
                # `(a) = b`: the grammar calls parentheses around one target a tuple too.
                return self.target(next(child for child in node.named_children if child.type not in EXTRAS))
            case "pattern_list" | "tuple_pattern" | "expression_list" | "tuple":
                return (
                    ir.TUPLE,
                    start,
                    end,
                    tuple(self.target(c) for c in node.named_children if c.type not in EXTRAS),
                )
            case "list_pattern" | "list":
                return (ir.LIST, start, end, tuple(self.target(c) for c in node.named_children if c.type not in EXTRAS))
            case "list_splat_pattern" | "list_splat":
                return (ir.STAR, start, end, self.target(node.named_children[0]))
            case "parenthesized_expression":
                return self.target(node.named_children[0])
            case _:
                return self.expression(node)

    def constant_none(self, node: Node) -> Expr:
        """`None`."""
        return self._constant(node, None)


def _sequence(kind: int) -> Callable[[ExpressionLowering, Node], Expr]:
    def lower(self: ExpressionLowering, node: Node) -> Expr:
        return (kind, node.start_byte - self.base, node.end_byte - self.base, self.items(node))

    return lower


def _comprehension(kind: str) -> Callable[[ExpressionLowering, Node], Expr]:
    def lower(self: ExpressionLowering, node: Node) -> Expr:
        body = node.child_by_field_id(field.BODY)
        if body is None:
            return self.opaque(node)
        element: Any
        if kind == "dict":
            key, value = body.child_by_field_id(field.KEY), body.child_by_field_id(field.VALUE)
            if key is None or value is None:
                return self.opaque(node)
            element = (self.expression(key), self.expression(value))
        else:
            element = self.expression(body)
        clauses: list[tuple[Any, ...]] = []
        for child in node.named_children:
            if child.type == "for_in_clause":
                left, right = child.child_by_field_id(field.LEFT), child.child_by_field_id(field.RIGHT)
                if left is None or right is None:
                    return self.opaque(node)
                clauses.append(("for", self.target(left), self.expression(right)))
            elif child.type == "if_clause":
                clauses.append(("if", self.expression(child.named_children[0])))
        return (
            ir.COMPREHENSION,
            node.start_byte - self.base,
            node.end_byte - self.base,
            kind,
            element,
            tuple(clauses),
        )

    return lower


_HANDLERS: dict[str, Callable[[ExpressionLowering, Node], Expr]] = {
    "identifier": ExpressionLowering._name,
    "attribute": ExpressionLowering._attribute,
    "call": ExpressionLowering._call,
    "subscript": ExpressionLowering._subscript,
    "binary_operator": ExpressionLowering._binary,
    "unary_operator": ExpressionLowering._unary,
    "not_operator": ExpressionLowering._unary,
    "boolean_operator": ExpressionLowering._boolean,
    "comparison_operator": ExpressionLowering._compare,
    "conditional_expression": ExpressionLowering._conditional,
    "tuple": _sequence(ir.TUPLE),
    "expression_list": _sequence(ir.TUPLE),
    "pattern_list": _sequence(ir.TUPLE),
    "list": _sequence(ir.LIST),
    "set": _sequence(ir.SET),
    "dictionary": ExpressionLowering._dictionary,
    "string": ExpressionLowering._string,
    "concatenated_string": ExpressionLowering._concatenated,
    "integer": ExpressionLowering._number,
    "float": ExpressionLowering._number,
    "true": lambda self, node: self._constant(node, True),
    "false": lambda self, node: self._constant(node, False),
    "none": ExpressionLowering.constant_none,
    "ellipsis": lambda self, node: self._constant(node, ...),
    "lambda": ExpressionLowering._lambda,
    "list_comprehension": _comprehension("list"),
    "set_comprehension": _comprehension("set"),
    "dictionary_comprehension": _comprehension("dict"),
    "generator_expression": _comprehension("generator"),
    "slice": ExpressionLowering._slice,
    "list_splat": ExpressionLowering._star,
    "named_expression": ExpressionLowering._walrus,
    "await": ExpressionLowering._await,
    "yield": ExpressionLowering._yield,
    "parenthesized_expression": ExpressionLowering._inner,
    "type": ExpressionLowering._inner,
}

_BY_KIND: Final = {LANGUAGE.id_for_node_kind(kind, True): handler for kind, handler in _HANDLERS.items()}
"""By the grammar's number of a kind: comparing names for every node costs more than lowering it."""
