"""The tree-sitter grammar: parser, node kinds and field ids, looked up once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import tree_sitter_python
from tree_sitter import Language, Parser

if TYPE_CHECKING:
    from tree_sitter import Tree

LANGUAGE: Final = Language(tree_sitter_python.language())
_PARSER: Final = Parser(LANGUAGE)
ERROR_KIND: Final = 65535


def parse(source: bytes) -> Tree:
    """The syntax tree of any text; what is no Python becomes ERROR nodes."""
    return _PARSER.parse(source)
