"""One source file, parsed: its top-level statements, what its names are bound to, and where offsets are."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from raiselens_server.error import Span
from raiselens_server.source import ir
from raiselens_server.source.bindings import bound_by
from raiselens_server.source.edits import regions_of
from raiselens_server.source.layout import Layout
from raiselens_server.source.lower import Lowering
from raiselens_server.source.patches import replaced_names
from raiselens_server.source.searched import assigned_attributes, changes_metadata, declared_global, stores_globals
from raiselens_server.source.syntax import HeldTree, Text, parse
from raiselens_server.source.units import ClassUnit, FunctionUnit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raiselens_server.source.edits import Edit, Region
    from raiselens_server.source.ir import Block, Expr, Stmt


class Module:
    """A parsed file.

    `name` is the dotted name that it is imported by (`__main__`-less: a script has its stem), `is_package` whether it
    is an `__init__.py`. `source` is the whole text as it is now; places in it are known by address (see `Layout`), which
    is the byte offset until one of its functions is edited. `keep_tree`: the module is about to be run as a whole, so its tree is kept until then. Never
    fails: text that is no Python gives a module with few names.
    """

    def __init__(self, path: str, name: str, source: bytes, *, is_package: bool, keep_tree: bool = False) -> None:
        self.path = path
        self.name = name
        self.source = source
        self.layout = Layout(source)
        self.is_package = is_package
        self._held = HeldTree()
        text = Text.of(source)
        lowering = Lowering(text, 0, "", scope="module", held=self._held)
        root = parse(source).root_node
        self.broken = root.has_error
        self.block: Block = lowering.block(root)
        self.functions: tuple[FunctionUnit, ...] = tuple(lowering.nested)
        if keep_tree:
            self._held.hold(root, text)

    @cached_property
    def regions(self) -> list[Region]:
        """Where each function can be edited by itself."""
        return regions_of(self, self.layout.first)

    def apply(self, edit: Edit) -> None:
        """Take an edit of one function that `find_edit` found."""
        self.layout.replace(edit.region.start, edit.region.end, edit.text)
        self.source = edit.source
        edit.region.unit.become(edit.after)

    @contextmanager
    def tree_held(self) -> Iterator[None]:
        """While most functions are lowered: parsing the file once is cheaper than each of them by itself."""
        waiting = any(not unit.lowered for unit in self.functions)
        if waiting and self._held.root is None and not self.layout.edited:
            self._held.hold(parse(self.source).root_node, Text.of(self.source))
        try:
            yield
        finally:
            self._held.drop()

    @cached_property
    def bindings(self) -> dict[str, list[Stmt]]:
        """Name → the statements that bind it at the top level, in order; those on branches included.

        What is bound for type checkers only (`if TYPE_CHECKING:`) counts where nothing else binds the name.
        """
        found: dict[str, list[Stmt]] = {}
        typing_only: dict[str, list[Stmt]] = {}
        _collect(self.block, found, typing_only)
        for name, statements in typing_only.items():
            found.setdefault(name, [s for s in statements if s[0] in {ir.IMPORT, ir.FROM, ir.FUNCTION, ir.CLASS}])
        return found

    @cached_property
    def _top(self) -> frozenset[int]:
        return frozenset(id(statement) for statement in self.block)

    def unconditional(self, statement: Stmt) -> bool:
        """Whether a statement stands at the top level itself, on no branch."""
        return id(statement) in self._top

    @cached_property
    def stars(self) -> tuple[Stmt, ...]:
        """The `from m import *` statements of the top level."""
        return tuple(s for s in flatten(self.block) if s[0] == ir.FROM and s[5] is None)

    @cached_property
    def rebound(self) -> frozenset[str]:
        """Names that some function declares `global`: their value can change at any time.

        Read from the text, for a look into one name must not lower every function of its module.
        """
        return declared_global(self.source)

    @cached_property
    def imported(self) -> frozenset[str]:
        """Names bound by imports anywhere at the top level: what is assigned to their attributes may be a module's."""
        return frozenset(
            name
            for name, statements in self.bindings.items()
            if any(statement[0] in {ir.IMPORT, ir.FROM} for statement in statements)
        )

    @cached_property
    def rewritten(self) -> bool:
        """Whether some code stores to its globals as a dict: any name bound by an assignment may have another value."""
        return stores_globals(self.source)

    @cached_property
    def reshapes(self) -> bool:
        """Whether some code may change the metadata of tensors in place."""
        return changes_metadata(self.source)

    @cached_property
    def patched(self) -> frozenset[str]:
        """Names that something in this file replaces on other objects: `monkeypatch.setattr(m, "f", …)`, `m.f = …`."""
        return replaced_names(self)

    @cached_property
    def assigned_attributes(self) -> frozenset[str]:
        """Names of attributes that some line assigns, of whatever object; an edit that changes them is none of one function."""
        return assigned_attributes(self.source)

    def release(self) -> None:
        """Free the bodies of functions: few are looked at again once the module was run."""
        for unit in self.functions:
            unit.release()

    def all_functions(self) -> Iterator[FunctionUnit]:
        """Functions and methods, outermost ones only; lambdas of the top level included."""
        yield from self.functions

    def line_of(self, address: int) -> int:
        """The 1-based line of an address."""
        return self.source.count(b"\n", 0, self.layout.offset(address)) + 1

    def position(self, address: int) -> tuple[int, int]:
        """1-based line and column (in characters) of an address."""
        # Counting is quick, and asked for a few places: a table of lines would be made anew at every keystroke.
        offset = self.layout.offset(address)
        start = self.source.rfind(b"\n", 0, offset) + 1
        column = len(self.source[start:offset].decode("utf-8", "replace")) + 1
        return self.source.count(b"\n", 0, start) + 1, column

    def span(self, start: int, end: int) -> Span:
        """The span of a half-open range of addresses."""
        return Span(*self.position(start), *self.position(end))

    def offset_of_line(self, line: int) -> int:
        """The byte offset at which a 1-based line begins; the end of the file where there is no such line."""
        offset = 0
        for _ in range(line - 1):
            offset = self.source.find(b"\n", offset) + 1
            if not offset:
                return len(self.source)
        return offset

    def text(self, start: int, end: int) -> str:
        """The text of a half-open range of addresses."""
        return self.slice(start, end).decode("utf-8", "replace")

    def slice(self, start: int, end: int) -> bytes:
        """The bytes of a half-open range of addresses within one function, or outside of all."""
        return self.layout.slice(start, end)


def expression_text(module: Module, base: int, expr: Expr) -> str:
    """The source of an expression, on one line."""
    return " ".join(module.text(base + expr[1], base + expr[2]).split())


def flatten(block: Block) -> Iterator[Stmt]:
    """The statements of a block and of the blocks nested in it, function and class bodies left out."""
    for statement in block:
        yield statement
        match statement[0]:
            case ir.IF | ir.WHILE:
                yield from flatten(statement[4])
                yield from flatten(statement[5])
            case ir.FOR:
                yield from flatten(statement[5])
                yield from flatten(statement[6])
            case ir.TRY:
                yield from flatten(statement[3])
                for _, _, body in statement[4]:
                    yield from flatten(body)
                yield from flatten(statement[5])
                yield from flatten(statement[6])
            case ir.WITH:
                yield from flatten(statement[4])
            case ir.MATCH:
                for _, _, body in statement[4]:
                    yield from flatten(body)
            case _:
                pass


def _collect(block: Block, found: dict[str, list[Stmt]], typing_only: dict[str, list[Stmt]]) -> None:
    for statement in block:
        for name in bound_by(statement):
            found.setdefault(name, []).append(statement)
        match statement[0]:
            case ir.IF:
                _collect(statement[4], typing_only if _for_type_checkers(statement[3]) else found, typing_only)
                _collect(statement[5], found, typing_only)
            case ir.WHILE:
                _collect(statement[4], found, typing_only)
            case ir.FOR:
                _collect(statement[5], found, typing_only)
            case ir.TRY:
                for inner in (statement[3], *(body for _, _, body in statement[4]), statement[5], statement[6]):
                    _collect(inner, found, typing_only)
            case ir.WITH:
                _collect(statement[4], found, typing_only)
            case ir.MATCH:
                for _, _, body in statement[4]:
                    _collect(body, found, typing_only)
            case _:
                pass


def _for_type_checkers(test: Expr) -> bool:
    name = test[3] if test[0] == ir.NAME else test[4] if test[0] == ir.ATTRIBUTE else None
    return bool(name == "TYPE_CHECKING")


__all__ = ["ClassUnit", "FunctionUnit", "Module", "expression_text", "flatten"]
