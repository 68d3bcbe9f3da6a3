"""The tree-sitter grammar: parser, node kinds and field ids, looked up once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import tree_sitter_python
from tree_sitter import Language, Parser

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

LANGUAGE: Final = Language(tree_sitter_python.language())
_PARSER: Final = Parser(LANGUAGE)
ERROR_KIND: Final = 65535


def parse(source: bytes) -> Tree:
    """The syntax tree of any text; what is no Python becomes ERROR nodes."""
    return _PARSER.parse(source)


@dataclass(frozen=True, slots=True)
class Text:
    """The text of a file or of a part of one; `ascii` is the whole of it decoded, where all of it is ASCII.

    Most is, and then the text of a node is a slice, which costs less than decoding one.
    """

    source: bytes
    ascii: str | None

    @classmethod
    def of(cls, source: bytes) -> Text:
        """Decode once."""
        return cls(source, source.decode("ascii") if source.isascii() else None)


@dataclass(slots=True)
class HeldTree:
    """The syntax tree of a file, while it is held: it takes some twenty times the room of the text."""

    root: Node | None = None
    text: Text | None = None

    def hold(self, root: Node, text: Text) -> None:
        """Keep the tree of `text`."""
        self.root, self.text = root, text

    def drop(self) -> None:
        """Free the tree."""
        self.root = self.text = None

    def function(self, start: int, end: int) -> Node | None:
        """The `def` at a range of bytes, None where no tree is held."""
        node = None if self.root is None else self.root.descendant_for_byte_range(start, end)
        return node if node is not None and node.type == "function_definition" else None
