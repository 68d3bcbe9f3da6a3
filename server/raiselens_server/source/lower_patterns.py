"""`case` patterns → IR patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raiselens_server.source import ir
from raiselens_server.source.lower_expressions import MAX_NESTING

if TYPE_CHECKING:
    from tree_sitter import Node

    from raiselens_server.source.lower import Lowering

Pattern = tuple[Any, ...]


def lower_pattern(lowering: Lowering, node: Node) -> Pattern:
    """Lower one pattern; names that it binds are noted in `lowering`."""
    if lowering.depth >= MAX_NESTING:
        return _opaque(lowering, node, node.start_byte - lowering.base, node.end_byte - lowering.base)
    lowering.depth += 1
    try:
        return _pattern(lowering, node)
    finally:
        lowering.depth -= 1


def _pattern(lowering: Lowering, node: Node) -> Pattern:
    start, end = node.start_byte - lowering.base, node.end_byte - lowering.base
    children = [child for child in node.named_children if child.type != "comment"]
    match node.type:
        case "case_pattern":
            if not children:
                return (ir.P_CAPTURE, start, end, None)
            return lower_pattern(lowering, children[0])
        case "dotted_name":
            return _dotted(lowering, node, children, start, end)
        case "identifier":
            lowering.assigned.add(lowering.text(node))
            return (ir.P_CAPTURE, start, end, lowering.text(node))
        case "union_pattern":
            return (ir.P_OR, start, end, tuple(lower_pattern(lowering, child) for child in children))
        case "as_pattern":
            alias = lowering.text(children[-1])
            lowering.assigned.add(alias)
            return (ir.P_AS, start, end, lower_pattern(lowering, children[0]), alias)
        case "tuple_pattern" if len(children) == 1 and not any(child.type == "," for child in node.children):
            return lower_pattern(lowering, children[0])
        case "list_pattern" | "tuple_pattern":
            return (ir.P_SEQUENCE, start, end, tuple(lower_pattern(lowering, child) for child in children))
        case "splat_pattern":
            name = lowering.text(children[0]) if children else None
            if name is not None:
                lowering.assigned.add(name)
            return (ir.P_STAR, start, end, name)
        case "none":
            return (ir.P_SINGLETON, start, end, None)
        case "true":
            return (ir.P_SINGLETON, start, end, True)
        case "false":
            return (ir.P_SINGLETON, start, end, False)
        case "integer" | "float" | "string" | "concatenated_string":
            if node.start_byte and lowering.source[node.start_byte - 1 : node.start_byte] == b"-":
                return _opaque(lowering, node, start, end)
            return (ir.P_VALUE, start, end, lowering.expression(node))
        case "class_pattern":
            return _class(lowering, children, start, end)
        case _:
            return _opaque(lowering, node, start, end)


def _opaque(lowering: Lowering, node: Node, start: int, end: int) -> Pattern:
    return (ir.P_OPAQUE, start, end, lowering.names_in(node))


def _dotted(lowering: Lowering, node: Node, parts: list[Node], start: int, end: int) -> Pattern:
    if len(parts) == 1:
        name = lowering.text(parts[0])
        lowering.assigned.add(name)
        return (ir.P_CAPTURE, start, end, name)
    return (ir.P_VALUE, start, end, _path(lowering, node, parts))


def _path(lowering: Lowering, node: Node, parts: list[Node]) -> tuple[Any, ...]:
    start = node.start_byte - lowering.base
    value: tuple[Any, ...] = (ir.NAME, start, parts[0].end_byte - lowering.base, lowering.text(parts[0]))
    for part in parts[1:]:
        value = (ir.ATTRIBUTE, start, part.end_byte - lowering.base, value, lowering.text(part))
    return value


def _class(lowering: Lowering, children: list[Node], start: int, end: int) -> Pattern:
    name = children[0]
    cls = _path(lowering, name, [child for child in name.named_children if child.type == "identifier"] or [name])
    positional: list[Pattern] = []
    keywords: list[tuple[str, Pattern]] = []
    for child in children[1:]:
        inner = child.named_children[0] if child.type == "case_pattern" and child.named_children else child
        if inner.type == "keyword_pattern":
            key, value = inner.named_children[0], inner.named_children[-1]
            keywords.append((lowering.text(key), lower_pattern(lowering, value)))
        else:
            positional.append(lower_pattern(lowering, child))
    return (ir.P_CLASS, start, end, cls, tuple(positional), tuple(keywords))
