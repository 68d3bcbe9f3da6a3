"""Telling Python from other text, so that a file named by mistake is refused and broken code is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from raiselens_server.source.syntax import parse

if TYPE_CHECKING:
    from tree_sitter import Node

_STATEMENTS: Final = frozenset(
    {
        *("import_statement", "import_from_statement", "future_import_statement", "function_definition"),
        *("class_definition", "decorated_definition", "if_statement", "for_statement", "while_statement"),
        *("with_statement", "try_statement", "return_statement", "raise_statement", "assert_statement"),
    }
)
_EXPRESSIONS: Final = frozenset({"assignment", "call", "augmented_assignment"})
_TOKENS: Final = frozenset({"=", "def", "class", "import", "@"})


def holds_python(text: str) -> bool:
    """Whether any of `text` is Python: broken code, half a statement and newer syntax are; prose and logs are not."""
    root = parse(text.encode("utf-8", "surrogatepass")).root_node
    return not root.has_error or any(_is_code(node) for node in root.children)


def _is_code(node: Node) -> bool:
    if node.type == "ERROR":
        return any(_is_token_of_code(node, number) for number in range(len(node.children)))
    if node.type == "expression_statement":
        return any(part.type in _EXPRESSIONS and not part.has_error for part in node.children)
    return node.type in _STATEMENTS and not node.has_error


def _is_token_of_code(error: Node, number: int) -> bool:
    """Whether a piece of what could not be parsed is seen in code only: `=`, `def`, a name with `(` right behind it."""
    node = error.children[number]
    if node.type in _TOKENS:
        return True
    before = error.children[number - 1] if number else None
    return (
        node.type == "("
        and before is not None
        and before.type in {"identifier", "attribute"}
        and before.end_byte == node.start_byte
    )
