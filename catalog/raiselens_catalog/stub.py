"""A module → its guard stub: signatures, guards, and the constants and imports that these need.

A stub is read as source where the library is not installed, and is never run. What it does not hold is `UNKNOWN` (see
`skeleton`). Functions and classes are kept only where leaving out the rest cannot make a call of them look wrong: no
decorators that change the signature, no bases that bring guards or signatures of their own, no generators.
"""

from __future__ import annotations

import builtins
import re
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from raiselens_catalog.expression import text_of
from raiselens_catalog.names import Effects, imported_names, read_names, written
from raiselens_catalog.skeleton import (
    CALLS,
    GUARD_WORDS,
    LITERALS,
    OPERATORS,
    UNKNOWN,
    Skeleton,
    guard_places,
    skeleton,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class Stub:
    """The text of a module's stub, empty where it has no guard to keep; and how many guards it keeps and leaves out."""

    text: str = ""
    functions: int = 0
    kept: int = 0
    left_out: int = 0


def stub_of_module(root: Node, source: bytes, module: str) -> Stub:
    """The stub of a module from its syntax tree and text; `module` is its import path."""
    made = _Module(module, guard_places(source))
    if not made.places:
        return Stub()
    for statement in root.named_children:
        made.bind(statement)
    parts: list[str] = []
    functions = kept = left_out = 0
    for statement in root.named_children:
        for part, found in made.definition(statement):
            functions += 1
            kept += found.kept
            left_out += found.left_out
            parts.append(part)
        left_out += made.missed
        made.missed = 0
    if not parts:
        return Stub(left_out=left_out)
    return Stub("\n\n".join((*made.head(), *parts)) + "\n", functions, kept, left_out)


def package_stub(root: Node, module: str) -> str:
    """The stub of a package's `__init__.py`: what it hands on from modules of its own."""
    lines = []
    for statement in root.named_children:
        for local, source, name in imported_names(statement):
            if name and _is_own(source, module):
                lines.append(_import(local, source, name))
        if any(child.type == "wildcard_import" for child in statement.named_children):
            source = next((text_of(child) for child in statement.children_by_field_name("module_name")), "")
            if _is_own(source, module):
                lines.append(f"from {source} import *")
    return "\n".join((f'"""{_TITLE} `{module}`."""', *lines)) + "\n"


_TITLE: Final = "Guard stub of"


@dataclass(slots=True)
class _Module:
    """The names that a module's top level binds, each by the statement that binds it, and those that stubs need."""

    name: str
    places: list[int]
    statements: dict[str, Node] = field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    doubtful: set[str] = field(default_factory=set)
    constants: dict[str, str | None] = field(default_factory=dict)
    needed: set[str] = field(default_factory=set)
    missed: int = 0

    def bind(self, statement: Node) -> None:
        """Note what a statement binds; what is bound twice, or on a branch, may be anything."""
        plain = statement.type not in _BRANCHES
        bound: Iterable[str]
        if statement.type in _IMPORTS:
            imported = {local: (source, name) for local, source, name in imported_names(statement)}
            self.imports = imported | self.imports
            bound = imported
        else:
            bound = _bound_on_top(statement)
        for name in bound:
            if not plain or name in self.statements:
                self.doubtful.add(name)
            self.statements.setdefault(name, statement)

    def knows(self, name: str) -> bool:
        """Whether a name of the module or a builtin can be kept."""
        if name not in self.statements:
            return name in _BUILTIN_NAMES
        if name in self.doubtful:
            return False
        return name in self.imports or self._constant(name) is not None or self._exception(name) is not None

    def is_guard(self, name: str) -> bool:
        """Whether calls of a function are kept: it is of this package and named as one that only checks."""
        if name in self.doubtful or not name.lstrip("_").startswith(GUARD_WORDS):
            return False
        if name in self.imports:
            return _is_own(self.imports[name][0], self.name)
        return name in self.statements and _inner(self.statements[name]).type == "function_definition"

    def definition(self, statement: Node) -> Iterator[tuple[str, Skeleton]]:
        """Yield the stub of a function or class at the top level, where it has one."""
        node = _inner(statement)
        name = _name(node)
        if name in self.doubtful or self._last_guard(node) is None:
            return
        if node.type == "function_definition":
            found = self._function(statement, "")
            if found is not None and found[1].lines:
                self.needed |= found[1].reads
                yield found
        elif node.type == "class_definition" and node is statement:
            yield from self._class(node)

    def head(self) -> Iterator[str]:
        """The module's docstring, then the imports and constants that its definitions need."""
        imports: list[str] = []
        pending, seen = list(self.needed), set[str]()
        while pending:
            name = pending.pop()
            if name in seen or name not in self.statements:
                continue
            seen.add(name)
            if name in self.imports:
                imports.append(_import(name, *self.imports[name]))
            else:
                pending += read_names(self.statements[name])
        # In the module's own order, so that each comes after those it is made of.
        values = [
            self._constant(name) or self._exception(name) or ""
            for name in self.statements
            if name in seen and name not in self.imports
        ]
        yield "\n".join(
            (f'"""{_TITLE} `{self.name}`: `{UNKNOWN}` is all that it does not hold."""', "", *sorted(imports))
        )
        yield from filter(None, ["\n".join(filter(None, values))])

    def _last_guard(self, node: Node) -> int | None:
        """Where the last guard of a definition may stand."""
        at = bisect_left(self.places, node.end_byte)
        return self.places[at - 1] if at and self.places[at - 1] >= node.start_byte else None

    def _function(self, statement: Node, owner: str) -> tuple[str, Skeleton] | None:
        """The stub of a function and its skeleton; None for a function that cannot be kept."""
        node = _inner(statement)
        body, parameters = node.child_by_field_name("body"), node.child_by_field_name("parameters")
        decorators = [text_of(child) for child in statement.named_children if child.type == "decorator"]
        kept = [text for text in decorators if text in _KEPT_DECORATORS]
        if body is None or parameters is None or node.children[0].type != "def" or _yields(body):
            self.missed += _count(node)
            return None
        if any(text not in _KEPT_DECORATORS and not text.startswith(_SILENT_DECORATORS) for text in decorators):
            self.missed += _count(node)
            return None
        signature = [self._parameter(child) for child in parameters.named_children if child.type != "comment"]
        names = [name for name, _ in signature if name]
        deciding = names[1:] if owner and "@staticmethod" not in kept else names
        if not deciding and _name(node) not in _CONSTRUCTORS:
            return None
        last = self._last_guard(body)
        found = skeleton(body, -1 if last is None else last, names, deciding, knows=self.knows, is_guard=self.is_guard)
        lines = found.lines or (f"return {UNKNOWN}" if _name(node) != "__init__" else "pass",)
        if _name(node) == "__init__":
            lines = (*lines[:-1], "return") if found.lines else lines
        head = f"def {_name(node)}({', '.join(text for _, text in signature)}):"
        indent = "    " if owner else ""
        text = "\n".join((*(f"{indent}{line}" for line in (*kept, head)), *(f"{indent}    {line}" for line in lines)))
        return text, found

    def _class(self, node: Node) -> Iterator[tuple[str, Skeleton]]:
        bases = node.child_by_field_name("superclasses")
        body = node.child_by_field_name("body")
        given = [text_of(child) for child in bases.named_children] if bases is not None else []
        if body is None or any(base not in _KEPT_BASES or not self.knows(base.partition(".")[0]) for base in given):
            self.missed += _count(node)
            return
        members = [child for child in body.named_children if _inner(child).type == "function_definition"]
        names = [_name(_inner(member)) for member in members]
        texts: list[str] = []
        results: list[Skeleton] = []
        for member in members:
            name = _name(_inner(member))
            found = self._function(member, _name(node)) if names.count(name) == 1 else None
            if found is None and name in _CONSTRUCTORS:
                return
            if found is not None and (found[1].lines or name in _CONSTRUCTORS):
                texts.append(found[0])
                results.append(found[1])
        if any(result.lines for result in results):
            for result in results:
                self.needed |= result.reads
            self.needed |= {base.partition(".")[0] for base in given}
            head = f"class {_name(node)}({', '.join(given)}):"
            reads = frozenset[str]()
            kept, left_out = (sum(getattr(result, part) for result in results) for part in ("kept", "left_out"))
            yield "\n\n".join((f"{head}\n{texts[0]}", *texts[1:])), Skeleton(("",), reads, kept, left_out)

    def _parameter(self, node: Node) -> tuple[str, str]:
        """A parameter's name (empty for `*` and `/`) and its text, without its type."""
        default = node.child_by_field_name("value")
        named = node.child_by_field_name("name") or node
        if named.type == "typed_parameter":
            named = named.named_children[0]
        text = text_of(named)
        if default is None:
            return text.lstrip("*") if named.type not in _SEPARATORS else "", text
        keeps = _is_value(default) and all(map(self.knows, read_names(default)))
        if keeps:
            self.needed |= read_names(default)
        return text, f"{text}={written(default) if keeps else UNKNOWN}"

    def _constant(self, name: str) -> str | None:
        """The assignment of a module constant that is a plain value; None where it is not."""
        if name not in self.constants:
            self.constants[name] = None  # a name that is made of itself is none
            statement = self.statements[name]
            inner = statement.named_children[0] if statement.type == "expression_statement" else None
            if inner is not None and inner.type == "assignment":
                target, value = inner.child_by_field_name("left"), inner.child_by_field_name("right")
                named = target is not None and target.type == "identifier"
                if named and value is not None and _is_value(value) and all(map(self.knows, read_names(value))):
                    self.constants[name] = f"{name} = {written(value)}"
        return self.constants[name]

    def _exception(self, name: str) -> str | None:
        """The definition of an exception class that adds nothing to its bases; None for any other name."""
        node = self.statements[name]
        bases, body = node.child_by_field_name("superclasses"), node.child_by_field_name("body")
        if node.type != "class_definition" or bases is None or body is None:
            return None
        given = [text_of(child) for child in bases.named_children]
        plain = all(
            child.type in {"pass_statement", "expression_statement", "comment"} for child in body.named_children
        )
        if not plain or not given or not all(_is_exception(base) for base in given):
            return None
        return f"class {name}({', '.join(given)}):\n    pass\n"


_BUILTIN_NAMES: Final = frozenset(dir(builtins))
_BRANCHES: Final = frozenset(
    {"if_statement", "try_statement", "with_statement", "for_statement", "while_statement", "match_statement"}
)
_IMPORTS: Final = frozenset({"import_statement", "import_from_statement"})
_SEPARATORS: Final = frozenset({"keyword_separator", "positional_separator"})
_CONSTRUCTORS: Final = frozenset({"__init__", "__new__"})
_KEPT_DECORATORS: Final = frozenset({"@staticmethod", "@classmethod"})
_SILENT_DECORATORS: Final = ("@torch.no_grad", "@torch.inference_mode", "@functools.lru_cache", "@functools.cache")
"""Decorators that change neither signature nor guards: left out."""

_KEPT_BASES: Final = frozenset({"object", "nn.Module", "torch.nn.Module"})
_VALUES: Final = frozenset({"dictionary", "pair"} | LITERALS | OPERATORS | CALLS)
_VALUE_CALLS: Final = frozenset({"frozenset", "tuple", "set", "int", "float", "len", "max", "min", "range"})
_LONGEST_VALUE: Final = 2000


def _is_value(node: Node) -> bool:
    """Whether an expression is a plain value: literals, names and arithmetic, without calls that do anything."""
    if node.end_byte - node.start_byte > _LONGEST_VALUE:
        return False
    pending = [node]
    while pending:
        at = pending.pop()
        function = at.child_by_field_name("function") if at.type == "call" else None
        if at.type not in _VALUES or (function is not None and text_of(function) not in _VALUE_CALLS):
            return False
        pending += at.named_children
    return True


def _is_exception(name: str) -> bool:
    found = getattr(builtins, name, None)
    return isinstance(found, type) and issubclass(found, BaseException)


def _is_own(source: str, module: str) -> bool:
    return source.startswith(".") or source.partition(".")[0] == module.partition(".")[0]


def _import(local: str, source: str, name: str) -> str:
    if not name:
        return f"import {source}" if local == source.partition(".")[0] else f"import {source} as {local}"
    return f"from {source} import {name}" + (f" as {local}" if local != name else "")


def _inner(statement: Node) -> Node:
    definition = statement.child_by_field_name("definition")
    return definition if definition is not None else statement


def _name(node: Node) -> str:
    name = node.child_by_field_name("name")
    return text_of(name) if name is not None else ""


def _bound_on_top(statement: Node) -> Iterable[str]:
    """What a statement at the top level binds; what is bound inside of a value is no name that a stub keeps."""
    node = _inner(statement)
    if node.type in {"function_definition", "class_definition"}:
        return (_name(node),)
    inner = node.named_children[0] if node.type == "expression_statement" and node.named_child_count else node
    target = inner.child_by_field_name("left") if inner.type in {"assignment", "augmented_assignment"} else None
    if target is not None and target.type == "identifier":
        return (text_of(target),)
    return Effects(statement).bound(statement) if inner.type not in {"string", "call"} else ()


def _count(node: Node) -> int:
    """The statements of a definition that may raise."""
    return len(_STATEMENT.findall(node.text or b""))


_STATEMENT: Final = re.compile(rb"^[ \t]*(?:raise|assert)\b", re.MULTILINE)


def _yields(body: Node) -> bool:
    pending = [body] if b"yield" in (body.text or b"") else []
    while pending:
        at = pending.pop()
        if at.type == "yield":
            return True
        if at.type not in {"function_definition", "class_definition", "lambda"}:
            pending += at.named_children
    return False
