"""Names in a syntax tree: which an expression reads, which a statement binds or may change."""

from __future__ import annotations

from bisect import bisect_left
from functools import cache
from typing import TYPE_CHECKING, Final

from raiselens_catalog.expression import python_language, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node, Query, QueryCursor


def read_names(node: Node) -> set[str]:
    """The names that an expression takes from outside of itself: not attributes, keywords or its own variables."""
    read: set[str] = set()
    own: set[str] = set()
    pending = [node]
    while pending:
        at = pending.pop()
        match at.type:
            case "identifier":
                read.add(written(at))
            case "attribute":
                pending += _field(at, "object")
            case "keyword_argument":
                pending += _field(at, "value")
            case "lambda_parameters" | "type":
                own.update(name for _, name in _identifiers(at))
            case "for_in_clause":
                for target in _field(at, "left"):
                    own.update(name for _, name in _identifiers(target))
                pending += _field(at, "right")
            case _:
                pending += at.named_children
    return read - own


class Effects:
    """What the statements of a function do to names, asked for by place.

    One query over the whole function finds it all: walking the tree in Python for each statement costs many times more.
    What nested functions do counts as well.
    """

    def __init__(self, body: Node, until: int | None = None) -> None:
        """Look at `body`, up to the byte `until`."""
        cursor = _cursor()
        cursor.set_byte_range(body.start_byte, body.end_byte if until is None else until)
        found = cursor.captures(body)
        bound = [(node.start_byte, written(node)) for node in found.get("bound", ())]
        touched = [(node.start_byte, written(node)) for node in found.get("touched", ())]
        for target in found.get("target", ()):
            if target.type in {"attribute", "subscript"}:
                touched.append((target.start_byte, root_name(target)))
            else:
                bound += [(node.start_byte, name) for node, name in _identifiers(target)]
        touched += [(call.start_byte, root_name(call)) for call in found.get("called", ())]
        for statement in found.get("import", ()):
            bound += [(statement.start_byte, local) for local, _, _ in imported_names(statement)]
        for pattern in found.get("pattern", ()):
            bound += [(node.start_byte, name) for node, name in _identifiers(pattern)]
        self._bound = sorted(bound)
        self._touched = sorted(touched)
        self._leaves = sorted(node.start_byte for node in found.get("leaves", ()))
        self._raises = sorted(node.start_byte for node in found.get("raises", ()))

    def bound(self, node: Node) -> set[str]:
        """The names that a statement binds, whichever way it goes."""
        return _between(self._bound, node)

    def touched(self, node: Node) -> set[str]:
        """The names whose objects a statement may change: given to calls, or assigned into."""
        return _between(self._touched, node) - {""}

    def leaves(self, node: Node) -> bool:
        """Whether a statement may leave the function, or the loop that it stands in, without raising."""
        return _count(self._leaves, node) > 0

    def raises(self, node: Node) -> int:
        """The number of statements in it that raise."""
        return _count(self._raises, node)


def _between(places: list[tuple[int, str]], node: Node) -> set[str]:
    begin, end = bisect_left(places, (node.start_byte, "")), bisect_left(places, (node.end_byte, ""))
    return {name for _, name in places[begin:end]}


def _count(places: list[int], node: Node) -> int:
    return bisect_left(places, node.end_byte) - bisect_left(places, node.start_byte)


@cache
def _query() -> Query:
    from tree_sitter import Query

    query: Query = Query(python_language(), _EFFECTS)
    return query


def _cursor() -> QueryCursor:
    from tree_sitter import QueryCursor

    return QueryCursor(_query())


_EFFECTS: Final = """
(assignment left: (_) @target)
(augmented_assignment left: (_) @target)
(for_statement left: (_) @target)
(named_expression name: (identifier) @bound)
(function_definition name: (identifier) @bound)
(class_definition name: (identifier) @bound)
[(as_pattern_target) (case_pattern) (global_statement) (nonlocal_statement) (delete_statement)] @pattern
[(import_statement) (import_from_statement)] @import
(call arguments: (argument_list (identifier) @touched))
(call arguments: (argument_list (keyword_argument value: (identifier) @touched)))
(expression_statement (call function: (_) @called))
[(return_statement) (break_statement) (continue_statement) (yield)] @leaves
[(raise_statement) (assert_statement)] @raises
"""


def root_name(node: Node | None) -> str:
    """The name that a chain of attributes, items and calls begins with; empty where it begins otherwise."""
    while node is not None and node.type in _CHAINS:
        node = node.child_by_field_name(_CHAINS[node.type])
    return text_of(node) if node is not None and node.type == "identifier" else ""


_CHAINS: Final = {"attribute": "object", "subscript": "value", "call": "function"}


def imported_names(node: Node) -> Iterator[tuple[str, str, str]]:
    """Yield what an import statement binds: the local name, the module, and what is taken from it (empty: itself)."""
    sources = [text_of(module) for module in _field(node, "module_name")]
    for child in node.children_by_field_name("name"):
        aliased = child.type == "aliased_import"
        name = text_of(child.named_children[0]) if aliased else text_of(child)
        local = text_of(child.named_children[-1]) if aliased else name
        if sources:
            yield local, sources[0], name
        else:
            yield local.partition(".")[0], name, ""


def _identifiers(node: Node) -> Iterator[tuple[Node, str]]:
    pending = [node]
    while pending:
        at = pending.pop()
        if at.type == "identifier":
            yield at, written(at)
        pending += at.named_children


def written(node: Node) -> str:
    """The source text of a node as it stands, line ends and all."""
    return (node.text or b"").decode("utf-8", "replace")


def _field(node: Node, name: str) -> list[Node]:
    child = node.child_by_field_name(name)
    return [child] if child is not None else []
