"""Source → the places where it raises: each `raise`, `assert` and `torch._check…` of Python text.

`mine_python` is pure and total: broken code gives what can be read of it. What does not become a `Site` is counted by
cause, so that sites and causes together account for every statement.
"""

from __future__ import annotations

import enum
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from raiselens_catalog.expression import python_parser, template_of_node, text_of, unwrapped
from raiselens_catalog.template import Hole, Part, Template

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tree_sitter import Node, Parser


class Kind(enum.Enum):
    """How a site raises."""

    RAISE = "raise"
    ASSERT = "assert"
    CHECK = "check"


class LeftOut(enum.Enum):
    """Why a statement did not become a site."""

    NO_MESSAGE = "no message"
    RERAISE = "raises a value that was made elsewhere"
    MESSAGE_ELSEWHERE = "message is made elsewhere"
    NOT_UNDERSTOOD = "class is not a name"


@dataclass(frozen=True, slots=True)
class Site:
    """A place that raises. `condition` is as written: the test that leads to a raise, or that an assert demands.

    `line` is 1-based, `qualname` as Python prints it, empty at module level.
    """

    kind: Kind
    line: int
    class_name: str
    template: Template
    qualname: str
    condition: str


@dataclass(slots=True)
class Mined:
    """What one source gave."""

    sites: list[Site] = field(default_factory=list)
    raises: int = 0
    asserts: int = 0
    checks: int = 0
    left_out: Counter[LeftOut] = field(default_factory=Counter)


def may_raise(source: bytes) -> bool:
    """Whether `source` can hold a site at all: a cheap test that spares most parses."""
    return b"raise" in source or b"assert" in source or b"._check" in source


def mine_python(source: bytes, parser: Parser | None = None) -> Mined:
    """Mine Python text. `parser` may be shared by calls from one thread."""
    if not may_raise(source):
        return Mined()
    return mine_tree((parser or python_parser()).parse(source).root_node, source)


def mine_tree(root: Node, source: bytes) -> Mined:
    """Mine Python text that is parsed already."""
    mined = Mined()
    for begin, end in _words(source):
        node = root.descendant_for_byte_range(begin, end)
        statement = node.parent if node is not None else None
        if node is None or statement is None:
            continue
        if node.type == "raise" and statement.type == "raise_statement":
            if statement.named_child_count and statement.named_children[0].type != "comment":
                mined.raises += 1
                _keep(mined, _raise_site(statement))
        elif node.type == "assert" and statement.type == "assert_statement":
            mined.asserts += 1
            _keep(mined, _assert_site(statement))
        elif statement.type == "attribute" and statement.parent is not None and statement.parent.type == "call":
            result = _check_site(statement.parent)
            if result is not None:
                mined.checks += 1
                _keep(mined, result)
    mined.sites.sort(key=lambda site: site.line)
    return mined


def _words(source: bytes) -> Iterator[tuple[int, int]]:
    """Where a statement may be, in order of the words; what stands in strings and comments is told by the tree.

    `bytes.find` for each word is many times faster than one regular expression for all.
    """
    for word in (b"raise", b"assert", b"_check"):
        at = source.find(word)
        while at >= 0:
            end = at + len(word)
            before = source[at - 1 : at]
            if word == b"_check":
                while source[end : end + 1] in _NAME_BYTES:
                    end += 1
                if before == b".":
                    yield at, end
            elif before not in _NAME_BYTES and source[end : end + 1] not in _NAME_BYTES:
                yield at, end
            at = source.find(word, end)


_NAME_BYTES: Final = frozenset(
    bytes([byte]) for byte in b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
)


def _keep(mined: Mined, result: Site | LeftOut) -> None:
    if isinstance(result, Site):
        mined.sites.append(result)
    else:
        mined.left_out[result] += 1


def _raise_site(node: Node) -> Site | LeftOut:
    raised = node.named_children[0]
    if raised.type in {"identifier", "attribute"}:
        name = text_of(raised).rpartition(".")[2]
        return LeftOut.NO_MESSAGE if name[:1].isupper() else LeftOut.RERAISE
    if raised.type != "call":
        return LeftOut.NOT_UNDERSTOOD
    function, arguments = raised.child_by_field_name("function"), raised.child_by_field_name("arguments")
    if function is None or arguments is None or function.type not in {"identifier", "attribute"}:
        return LeftOut.NOT_UNDERSTOOD
    class_name = text_of(function)
    message = _message(node, class_name, _arguments(arguments))
    if isinstance(message, LeftOut):
        return message
    return _site(Kind.RAISE, node, class_name, message, _condition(node))


def _assert_site(node: Node) -> Site | LeftOut:
    given = [child for child in node.named_children if child.type != "comment"]
    if len(given) < 2:
        return LeftOut.NO_MESSAGE
    message = _made(node, given[1])
    if message is None:
        return LeftOut.MESSAGE_ELSEWHERE
    return _site(Kind.ASSERT, node, "AssertionError", message, text_of(given[0]))


_CHECKS: Final = {
    "_check": "RuntimeError",
    "_check_is_size": "RuntimeError",
    "_check_index": "IndexError",
    "_check_value": "ValueError",
    "_check_type": "TypeError",
    "_check_not_implemented": "NotImplementedError",
    "_check_tensor_all": "RuntimeError",
    "_check_with": "",
}
"""torch's checks and the classes they raise; `_check_with` names its class first."""


def _check_site(node: Node) -> Site | LeftOut | None:
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or arguments is None:
        return None
    owner, name = function.child_by_field_name("object"), function.child_by_field_name("attribute")
    class_name = _CHECKS.get(text_of(name)) if name is not None else None
    if owner is None or owner.text != b"torch" or class_name is None:
        return None
    given = _arguments(arguments)
    if not class_name and given:
        class_name = text_of(given.pop(0))
    if len(given) < 2:
        return LeftOut.NO_MESSAGE
    message = given[1]
    if message.type == "lambda":
        body = message.child_by_field_name("body")
        message = body if body is not None else message
    made = _made(node, message)
    if made is None:
        return LeftOut.MESSAGE_ELSEWHERE
    return _site(Kind.CHECK, node, class_name, made, text_of(given[0]))


def _arguments(arguments: Node) -> list[Node]:
    return [child for child in arguments.named_children if child.type != "comment"]


_MESSAGE_KEYWORDS: Final = frozenset({"message", "msg", "detail", "reason", "text", "error_message", "description"})
_NUMBERS: Final = frozenset({"integer", "float", "unary_operator"})
"""A number that comes first is a code, not a message."""

_PRINTED_AS_TUPLE: Final = frozenset(
    {"ValueError", "TypeError", "RuntimeError", "AssertionError", "Exception", "IndexError", "AttributeError"}
)
"""Classes of Python's own whose message, given several arguments, is the tuple of their reprs."""


def _message(node: Node, class_name: str, arguments: list[Node]) -> Template | LeftOut:
    positional = [child for child in arguments if child.type not in {"keyword_argument", "dictionary_splat"}]
    if len(positional) > 1 and class_name in _PRINTED_AS_TUPLE:
        return Template.from_parts(_tuple_parts(positional))
    if positional:
        made = _made(node, positional[0]) if positional[0].type not in _NUMBERS else None
        if made is not None and made.literals:
            return made
        others = (_made(node, child) for child in positional[1:])
        texts = [other for other in others if other is not None and other.weight]
        if texts:
            return texts[0]
    for child in arguments:
        name, value = child.child_by_field_name("name"), child.child_by_field_name("value")
        if name is not None and value is not None and text_of(name) in _MESSAGE_KEYWORDS:
            made = _made(node, value)
            if made is not None:
                return made
    if not arguments:
        return LeftOut.NO_MESSAGE
    made = _made(node, positional[0]) if positional else None
    return made if made is not None else LeftOut.MESSAGE_ELSEWHERE


def _tuple_parts(values: Iterable[Node]) -> Iterator[Part]:
    separator = "("
    for value in values:
        yield separator
        template = template_of_node(value)
        if value.type in {"string", "concatenated_string"}:
            yield "'"
            yield from template.parts
            yield "'"
        else:
            yield from template.parts
        separator = ", "
    yield ")"


def _made(statement: Node, message: Node) -> Template | None:
    """The template of a message; of a name, that of the one string it was given just above; None where unknown."""
    if message.type == "identifier":
        value = _assigned_above(statement, message.text)
        if value is None:
            return None
        message = value
    template = template_of_node(message)
    return (
        None
        if template.parts
        and isinstance(template.parts[0], Hole)
        and len(template.parts) == 1
        and (message.type not in {"string", "concatenated_string"})
        else template
    )


def _assigned_above(statement: Node, name: bytes | None) -> Node | None:
    """The string that `name` was given by the statement's siblings above it, in its block or an enclosing one."""
    block: Node | None = statement
    for _ in range(_BLOCKS_UP):
        sibling = block.prev_named_sibling if block is not None else None
        while sibling is not None:
            inner = sibling.named_children[0] if sibling.type == "expression_statement" else None
            if inner is not None and inner.type == "assignment":
                left, right = inner.child_by_field_name("left"), inner.child_by_field_name("right")
                if left is not None and left.text == name:
                    return right if right is not None and right.type in _TEXTS else None
            sibling = sibling.prev_named_sibling
        block = block.parent if block is not None else None
        if block is None or block.type == "function_definition":
            return None
    return None


_BLOCKS_UP: Final = 6
_TEXTS: Final = frozenset({"string", "concatenated_string", "parenthesized_expression", "binary_operator", "call"})


def _site(kind: Kind, node: Node, class_name: str, message: Template, condition: str) -> Site:
    return Site(kind, node.start_point[0] + 1, class_name, message, _qualname(node), condition)


def _condition(node: Node) -> str:
    """The nearest test that leads to a statement, inside its function; empty where there is none."""
    at = node.parent
    while at is not None:
        kind = at.type
        if kind in {"if_statement", "elif_clause"}:
            return _field(at, "condition")
        if kind == "else_clause":
            owner = at.parent
            if owner is not None and owner.type == "if_statement":
                before = at.prev_named_sibling
                while before is not None and before.type == "comment":
                    before = before.prev_named_sibling
                test = _field(before if before is not None and before.type == "elif_clause" else owner, "condition")
                return f"not ({test})"
        elif kind == "case_clause":
            pattern = ", ".join(text_of(child) for child in at.named_children if child.type == "case_pattern")
            owner = at.parent.parent if at.parent is not None else None
            return f"match {_field(owner, 'subject')}: case {pattern}" if owner is not None else f"case {pattern}"
        elif kind == "except_clause":
            caught = [text_of(child) for child in at.named_children if child.type != "block"]
            return " ".join(["except", *caught])
        elif kind in {"function_definition", "class_definition"}:
            return ""
        at = at.parent
    return ""


def _field(node: Node, name: str) -> str:
    child = node.child_by_field_name(name)
    return text_of(unwrapped(child)) if child is not None else ""


def _qualname(node: Node) -> str:
    names: list[str] = []
    at = node.parent
    while at is not None:
        kind = at.type
        if kind in {"function_definition", "class_definition"}:
            if names and kind == "function_definition":
                names.append("<locals>")
            names.append(_field(at, "name"))
        at = at.parent
    return ".".join(reversed(names))
