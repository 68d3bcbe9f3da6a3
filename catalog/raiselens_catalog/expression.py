"""Templates from the Python expressions that make messages: strings, f-strings, `%`, `.format`, `+`, `str(…)`.

Works on tree-sitter nodes, so that broken code and newer syntax than the running interpreter's are no obstacle. Holes
carry the expression as written.
"""

from __future__ import annotations

import ast
import re
import string
from functools import cache
from typing import TYPE_CHECKING, Final

from raiselens_catalog.template import Hole, Part, Template

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tree_sitter import Language, Node, Parser

DEPTH: Final = 64
"""Nesting of an expression beyond which the rest is a hole."""


@cache
def python_language() -> Language:
    """The grammar, loaded on first use."""
    import tree_sitter_python
    from tree_sitter import Language

    return Language(tree_sitter_python.language())


def python_parser() -> Parser:
    """A parser of one's own: parsers are not for several threads at once."""
    from tree_sitter import Parser

    return Parser(python_language())


def template_of_expression(source: str) -> Template | None:
    """The template of the message that `source`, one Python expression, makes; None where it is no expression."""
    tree = python_parser().parse(f"({source.strip()}\n)".encode("utf-8", "surrogatepass"))
    root = tree.root_node
    if root.has_error or root.named_child_count != 1:
        return None
    outer = root.named_children[0]
    inner = outer.named_children[0] if outer.named_child_count == 1 else None
    if inner is None or inner.type != "parenthesized_expression" or inner.named_child_count != 1:
        return None
    return template_of_node(inner)


def template_of_node(node: Node) -> Template:
    """The template of the message that an expression's node makes."""
    return Template.from_parts(_parts(node, DEPTH))


def text_of(node: Node) -> str:
    """The source text of a node, on one line."""
    text = node.text or b""
    return " ".join(text.decode("utf-8", "replace").split())


def unwrapped(node: Node) -> Node:
    """The expression inside any parentheses."""
    while node.type == "parenthesized_expression" and node.named_child_count == 1:
        node = node.named_children[0]
    return node


def _parts(node: Node, depth: int) -> Iterator[Part]:
    kind = node.type
    if depth == 0:
        yield Hole(text_of(node))
    elif kind == "string":
        yield from _string(node)
    elif kind in {"concatenated_string", "parenthesized_expression"}:
        for child in node.named_children:
            if child.type != "comment":
                yield from _parts(child, depth - 1)
    elif kind == "binary_operator":
        yield from _operator(node, depth)
    elif kind == "call":
        yield from _call(node, depth)
    elif kind in {"integer", "float", "true", "false", "none"}:
        yield text_of(node)
    else:
        yield Hole(text_of(node))


def _string(node: Node) -> Iterator[Part]:
    children = node.children
    prefix = (children[0].text or b"").rstrip(b"\"'").lower()
    if b"b" in prefix:
        yield Hole(text_of(node))
        return
    for child in children[1:-1]:
        if child.type == "string_content":
            yield _content(child, raw=b"r" in prefix, formatted=b"f" in prefix)
        elif child.type == "interpolation":
            expression = child.child_by_field_name("expression")
            if expression is None:
                continue
            text = text_of(expression)
            if any(part.type == "=" for part in child.children):
                yield f"{text}="
            yield Hole(text)


def _content(node: Node, *, raw: bool, formatted: bool) -> str:
    text = (node.text or b"").decode("utf-8", "replace")
    if formatted and ("{{" in text or "}}" in text):
        text = text.replace("{{", "{").replace("}}", "}")
    if not raw and "\\" in text:
        text = _ESCAPE.sub(_unescape, text)
    return text


_ESCAPE: Final = re.compile(
    r"\\(?:\r?\n|[\\'\"abfnrtv]|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]*\})"
)


def _unescape(found: re.Match[str]) -> str:
    text = found[0]
    if text[1] in "\r\n":
        return ""
    try:
        value: str = ast.literal_eval(f'"{text}"')
    except (SyntaxError, ValueError):
        return text
    return value


def _operator(node: Node, depth: int) -> Iterator[Part]:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    operator = node.child_by_field_name("operator")
    kind = operator.type if operator is not None else ""
    if left is None or right is None or kind not in {"+", "%"}:
        yield Hole(text_of(node))
    elif kind == "+":
        yield from _parts(left, depth - 1)
        yield from _parts(right, depth - 1)
    elif unwrapped(left).type not in {"string", "concatenated_string", "binary_operator"}:
        yield Hole(text_of(node))
    else:
        yield from _percent(list(_parts(left, depth - 1)), right)


def _call(node: Node, depth: int) -> Iterator[Part]:
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or arguments is None or arguments.type != "argument_list":
        yield Hole(text_of(node))
        return
    given = [child for child in arguments.named_children if child.type != "comment"]
    if function.type == "identifier" and function.text == b"str" and len(given) == 1:
        yield from _parts(given[0], depth - 1)
        return
    owner, name = function.child_by_field_name("object"), function.child_by_field_name("attribute")
    if owner is None or name is None or name.text != b"format" or unwrapped(owner).type not in _STRINGS:
        yield Hole(text_of(node))
        return
    positional = [text_of(child) for child in given if child.type not in _SPREAD]
    keywords = {text_of(child.named_children[0]): text_of(child.named_children[1]) for child in given if _pair(child)}
    for part in Template.from_parts(_parts(owner, depth - 1)).parts:
        if isinstance(part, str):
            yield from _format(part, positional, keywords)
        else:
            yield part


_STRINGS: Final = frozenset({"string", "concatenated_string"})
_SPREAD: Final = frozenset({"keyword_argument", "list_splat", "dictionary_splat"})


def _pair(node: Node) -> bool:
    return node.type == "keyword_argument" and node.named_child_count >= 2


_PERCENT: Final = re.compile(
    r"%(?:\((?P<name>[^()]*)\))?[-#0 +]*(?:\*|\d+)?(?:\.(?:\*|\d+))?[hlL]?(?P<kind>[diouxXeEfFgGcrsa%])"
)


def _percent(parts: Sequence[Part], right: Node) -> Iterator[Part]:
    operand = unwrapped(right)
    values = [text_of(child) for child in operand.named_children] if operand.type == "tuple" else [text_of(operand)]
    position = 0
    for part in Template.from_parts(parts).parts:
        if isinstance(part, Hole):
            yield part
            continue
        at = 0
        for spec in _PERCENT.finditer(part):
            yield part[at : spec.start()]
            at = spec.end()
            if spec["kind"] == "%":
                yield "%"
            elif spec["name"] is not None:
                yield Hole(spec["name"])
            else:
                yield Hole(values[position] if position < len(values) else str(position))
                position += 1
        yield part[at:]


def _format(text: str, positional: Sequence[str], keywords: Mapping[str, str]) -> Iterator[Part]:
    try:
        fields = list(string.Formatter().parse(text))
    except ValueError:
        yield text
        return
    position = 0
    for literal, field, _, _ in fields:
        yield literal
        if field is None:
            continue
        name = _FIELD_NAME.match(field)
        key = name[0] if name else ""
        rest = field[len(key) :]
        if not key:
            key, position = str(position), position + 1
        value = positional[int(key)] if key.isdigit() and int(key) < len(positional) else keywords.get(key, key)
        yield Hole(value + rest)


_FIELD_NAME: Final = re.compile(r"[^.\[]*")
