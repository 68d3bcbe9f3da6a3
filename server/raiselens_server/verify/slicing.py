"""A finding's call as a program of its own: the user's source, cut down to what the call and its repair need.

The call stands in it as written. What it reads is imported as the user's file imports it, defined as the file defines it,
or made up from what foreseeing knows of its value. An assignment comes along as source where the repair changes it, or
something that it reads; so one edit serves the file and the program.
"""

from __future__ import annotations

import builtins
import math
import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from raiselens_server.repair.content import called
from raiselens_server.repair.locate import argument_parameter, expressions, own_parts, torch_name
from raiselens_server.source import ir
from raiselens_server.source.bindings import bound_by, names_read
from raiselens_server.source.module import flatten
from raiselens_server.source.units import ClassUnit, FunctionUnit
from raiselens_server.values.lattice import Callable, Tensor
from raiselens_server.verify.from_values import fact_from
from raiselens_server.verify.request import Binding, Call, NamespaceFact, UnknownFact

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from raiselens_server.foresee import Project
    from raiselens_server.foresee.frames import Frame
    from raiselens_server.foresee.objects import HeapObject
    from raiselens_server.foresee.report import Finding
    from raiselens_server.source.ir import Block, Expr, Stmt
    from raiselens_server.source.module import Module
    from raiselens_server.values.lattice import Value

_PLAIN: Final = frozenset({"tensor", "as_tensor", "arange", "zeros", "ones", "full", "eye", "rand", "randn", "linspace", "randint"})  # fmt: skip
_LARGEST_PLAIN: Final = 1 << 24
_SIMPLE: Final = frozenset({ir.ASSIGN, ir.ANNOTATED})


class CannotSliceError(Exception):
    """The call cannot be taken out of its file; the message is one line."""


@dataclass(frozen=True, slots=True)
class SourceEdit:
    """Replace the bytes `start:end` of a file by `text`."""

    file: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class _Home:
    """Where names are bound: a function's body or a module's top level, and the values they have there."""

    module: Module
    base: int
    block: Block
    unit: FunctionUnit | None
    variables: Mapping[str, Value]

    def binds(self, name: str) -> bool:
        if self.unit is not None:
            return name in self.unit.body.assigned or name in self.variables
        return name in self.module.bindings

    def statements(self, name: str) -> list[Stmt]:
        if self.unit is None:
            return self.module.bindings.get(name, [])
        return [statement for statement in flatten(self.block) if name in bound_by(statement)]


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a file that the program holds as source; definitions come before statements."""

    module: Module
    start: int
    end: int
    definition: bool = False

    def holds(self, edit: SourceEdit) -> bool:
        return edit.file == self.module.path and self.start <= edit.start and edit.end <= self.end

    def text(self, edits: Sequence[SourceEdit]) -> str:
        source = self.module.source[self.start : self.end]
        for edit in sorted((edit for edit in edits if self.holds(edit)), key=lambda edit: edit.start, reverse=True):
            begin, end = edit.start - self.start, edit.end - self.start
            source = source[:begin] + edit.text.encode() + source[end:]
        text = source.decode("utf-8", "replace").replace("\r\n", "\n")
        # Lines of one statement, or of one definition, keep their places to each other.
        line_start = self.module.source.rfind(b"\n", 0, self.start) + 1
        line = self.module.source[line_start : self.start].decode("utf-8", "replace")
        return textwrap.dedent(line[: len(line) - len(line.lstrip())] + text)


def sliced(project: Project, finding: Finding, edits: Sequence[SourceEdit]) -> Call:
    """The call of a finding, and with `edits` the repaired one. Raises `CannotSliceError`.

    The program begins at the user's call, or at the call of the innermost function around it in which all edits lie.
    """
    reason = "the repair changes what stands apart from the call"
    for level in range(finding.level, -1, -1):
        if not project.is_named(finding.raising.levels[level].frame.module.path):
            break
        try:
            return _Slice(project, finding, level, tuple(edits)).call()
        except CannotSliceError as error:
            if not edits:
                raise
            reason = str(error) if level == finding.level else reason
    raise CannotSliceError(reason)


@dataclass(slots=True)
class _Slice:
    """What is taken so far."""

    project: Project
    finding: Finding
    level: int
    edits: tuple[SourceEdit, ...]
    imports: dict[str, None] = field(default_factory=dict)
    bindings: dict[str, Binding] = field(default_factory=dict)
    pieces: dict[_Piece, None] = field(default_factory=dict)
    taken: dict[str, tuple[str, int]] = field(default_factory=dict)

    def call(self) -> Call:
        level = self.finding.raising.levels[self.level]
        unpacks = self.finding.raising.implicit == "unpack" and self.level == len(self.finding.raising.levels) - 1
        node = level.statement if unpacks else _called(level.node, level.statement)
        if node is None or (unpacks and node[0] != ir.ASSIGN):
            raise CannotSliceError("the call is no expression that could be run by itself")
        base, module = level.frame.base, level.frame.module
        last = _Piece(module, base + node[1], base + node[2])
        homes = self._homes(level.frame)
        self._names(_reads(node), homes)
        self._mark_parameters(node)
        self._check_objects(node)
        for edit in self.edits:
            if not any(piece.holds(edit) for piece in (*self.pieces, last)):
                line = module.line_of(edit.start) if edit.file == module.path else 0
                raise CannotSliceError(
                    f"what the repair changes{f' in line {line}' if line else ''} stands apart from the call"
                )
        pieces = [
            *sorted((p for p in self.pieces if p.definition), key=lambda piece: (piece.module.path, piece.start)),
            *sorted((p for p in self.pieces if not p.definition), key=lambda piece: piece.start),
            last,
        ]
        after = _joined(pieces, self.edits) if self.edits else None
        return Call(tuple(self.imports), tuple(self.bindings.values()), _joined(pieces, ()), after)

    def _homes(self, frame: Frame) -> list[_Home]:
        variables = self.finding.variables[self.level] if self.level < len(self.finding.variables) else frame.variables
        homes: list[_Home] = []
        current: Frame | None = frame
        while current is not None:
            if current.function is not None:
                unit = current.function.unit
                homes.append(_Home(current.module, current.base, unit.body.block, unit, variables))
            current = current.closure
            variables = {} if current is None else current.variables
        top = self.finding.variables[self.level] if frame.function is None and self.finding.variables else {}
        homes.append(_Home(frame.module, 0, frame.module.block, None, top))
        return homes

    def _names(self, names: Iterable[str], homes: list[_Home], *, leniently: bool = False) -> None:
        for name in sorted(set(names)):
            self._name(name, homes, leniently=leniently)

    def _name(self, name: str, homes: list[_Home], *, leniently: bool) -> None:
        index = next((i for i, home in enumerate(homes) if home.binds(name)), None)
        if index is None:
            if not hasattr(builtins, name) and not leniently:
                raise CannotSliceError(f"nothing is known of `{name}`")
            return
        home = homes[index]
        origin = (home.module.path, home.base)
        if self.taken.setdefault(name, origin) != origin:
            raise CannotSliceError(f"`{name}` means two things in what the call needs")
        if name in self.bindings or any(name in _bound(piece) for piece in self.pieces):
            return
        self._take(name, homes[index:])

    def _take(self, name: str, homes: list[_Home]) -> None:
        home = homes[0]
        statements = home.statements(name)
        last = statements[-1] if statements else None
        if last is not None and last[0] in {ir.IMPORT, ir.FROM}:
            self._import(name, last, home)
            return
        if last is not None and last[0] in {ir.FUNCTION, ir.CLASS}:
            self._define(last, homes)
            return
        value = self._value(name, home)
        fact = UnknownFact() if value is None else fact_from(value, self._heap)
        here = self.finding.raising.levels[self.level]
        if here.statement is not None and here.frame.base == home.base and here.frame.module is home.module:
            # What the call's own statement binds is not what it reads.
            statements = [statement for statement in statements if statement is not here.statement]
        statement = _deciding(statements, value, home, self.edits)
        made_up = isinstance(fact, (UnknownFact, NamespaceFact)) or _is_plain(statement, value, home)
        if statement is not None and (made_up or self._is_touched(name, homes, set())):
            piece = _Piece(home.module, home.base + statement[1], home.base + statement[2])
            if piece not in self.pieces:
                self.pieces[piece] = None
                self._names(_reads(statement), homes)
            return
        self.bindings[name] = Binding(name, fact)

    @property
    def _heap(self) -> Mapping[int, HeapObject]:
        return {**self.project.scopes.heap, **self.finding.heap}

    def _value(self, name: str, home: _Home) -> Value | None:
        if name in home.variables:
            return home.variables[name]
        static = self.project.scopes.static
        return (
            None
            if home.unit is not None or static is None
            else self.project.scopes.attribute(home.module, name, static)
        )

    def _import(self, name: str, statement: Stmt, home: _Home) -> None:
        target = self._value(name, home)
        unit = target.target.unit if isinstance(target, Callable) and hasattr(target.target, "unit") else None
        if isinstance(unit, (FunctionUnit, ClassUnit)) and isinstance(target, Callable):
            module: Module = target.target.module
            if any(e.file == module.path and unit.start <= e.start and e.end <= unit.end for e in self.edits):
                # The file that it is imported from is not edited on disk.
                own = next((s for s in module.bindings.get(unit.name, []) if s[3] is unit), None)
                if own is None or unit.name != name:
                    raise CannotSliceError(f"`{name}` is not defined where it could be taken from")
                self._define(own, [_Home(module, 0, module.block, None, {})])
                return
        self.imports[_import_text(name, statement, home.module)] = None

    def _define(self, statement: Stmt, homes: list[_Home]) -> None:
        home, unit = homes[0], statement[3]
        piece = _Piece(home.module, home.base + statement[1], home.base + statement[2], definition=True)
        if piece in self.pieces:
            return
        self.pieces[piece] = None
        self._names(_free_names(unit), homes, leniently=True)

    def _is_touched(self, name: str, homes: list[_Home], seen: set[tuple[str, int, str]]) -> bool:
        """Whether an edit changes what a name is bound to, or something that is read for it."""
        index = next((i for i, home in enumerate(homes) if home.binds(name)), None)
        if index is None or not self.edits:
            return False
        home = homes[index]
        key = (home.module.path, home.base, name)
        if key in seen:
            return False
        seen.add(key)
        for statement in home.statements(name):
            start, end = home.base + statement[1], home.base + statement[2]
            if any(edit.file == home.module.path and start <= edit.start and edit.end <= end for edit in self.edits):
                return True
            unit = statement[3] if statement[0] in {ir.FUNCTION, ir.CLASS} else None
            if statement[0] in {ir.IMPORT, ir.FROM} and self._is_edited_elsewhere(name, home):
                return True
            names = _free_names(unit) if unit is not None else _reads(statement)
            if any(self._is_touched(inner, homes[index:], seen) for inner in names):
                return True
        return False

    def _is_edited_elsewhere(self, name: str, home: _Home) -> bool:
        value = self._value(name, home)
        if not isinstance(value, Callable) or not isinstance(getattr(value.target, "unit", None), FunctionUnit):
            return False
        unit, path = value.target.unit, value.target.module.path
        return any(edit.file == path and unit.start <= edit.start and edit.end <= unit.end for edit in self.edits)

    def _check_objects(self, node: Expr) -> None:
        """Refuse a call that asks more of an object than the attributes that are known: there is none to ask."""
        whole = {id(expr[3]) for expr in expressions(node) if expr[0] == ir.ATTRIBUTE and self._is_known(expr)}
        for expr in expressions(node):
            binding = self.bindings.get(expr[3]) if expr[0] == ir.NAME else None
            if binding is not None and isinstance(binding.fact, NamespaceFact) and id(expr) not in whole:
                raise CannotSliceError(f"how the object `{binding.name}` is made is not known")

    def _is_known(self, attribute: Expr) -> bool:
        binding = self.bindings.get(attribute[3][3]) if attribute[3][0] == ir.NAME else None
        fact = None if binding is None else binding.fact
        return isinstance(fact, NamespaceFact) and any(
            name == attribute[4] and not isinstance(value, (UnknownFact, NamespaceFact))
            for name, value in fact.attributes
        )

    def _mark_parameters(self, node: Expr) -> None:
        """Say of the made-up values what the called function calls them."""
        node = node[3] if node[0] == ir.EXPRESSION else node[4] if node[0] == ir.ASSIGN else node
        callee = self.finding.callee
        if node[0] != ir.CALL or callee is None or callee.frame.function is None or self.level != self.finding.level:
            return
        for argument in (*node[4], *(value for _, value in node[5])):
            param = argument_parameter(node, callee.frame.function.unit, argument)
            binding = self.bindings.get(argument[3]) if argument[0] == ir.NAME else None
            if binding is not None and param is not None:
                self.bindings[binding.name] = Binding(binding.name, binding.fact, param)


def _joined(pieces: Sequence[_Piece], edits: Sequence[SourceEdit]) -> str:
    text = ""
    for piece in pieces:
        text += piece.text(edits) + ("\n\n\n" if piece.definition else "\n")
    return text


def _called(node: Expr | None, statement: Stmt | None) -> Expr | None:
    """What to run: the whole statement where that binds plain names or stores, else the expression that raises."""
    if statement is not None and statement[0] in {ir.ASSIGN, ir.ANNOTATED}:
        targets = statement[3] if statement[0] == ir.ASSIGN else (statement[3],)
        value = statement[4] if statement[0] == ir.ASSIGN else statement[5]
        plain = all(target[0] in {ir.NAME, ir.TUPLE, ir.LIST} for target in targets)
        if node is None or (plain and value is node) or any(target is node for target in targets):
            return statement
        return node
    if statement is not None and statement[0] in {ir.AUGMENTED, ir.DELETE, ir.EXPRESSION}:
        return statement
    return node


def _reads(node: Expr | Stmt) -> set[str]:
    """The names that an expression or a simple statement reads; being bound is not being read."""
    match node[0]:
        case ir.ASSIGN:
            return set(names_read(node[4])) | {n for t in node[3] for n in _stored_through(t)}
        case ir.ANNOTATED:
            return set(names_read(node[5])) | set(_stored_through(node[3]))
        case _:
            return set(names_read(node))


def _stored_through(target: Expr) -> Iterator[str]:
    match target[0]:
        case ir.NAME:
            return
        case ir.TUPLE | ir.LIST | ir.STAR:
            for item in target[3] if target[0] != ir.STAR else (target[3],):
                yield from _stored_through(item)
        case _:
            yield from names_read(target)


def _bound(piece: _Piece) -> frozenset[str]:
    for statement in piece.module.bindings.values():
        for bound in statement:
            if bound[1] == piece.start and bound[2] == piece.end:
                return bound_by(bound)
    return frozenset()


def _deciding(statements: list[Stmt], value: Value | None, home: _Home, edits: Sequence[SourceEdit]) -> Stmt | None:
    """The one assignment that gave a name its value, None where that cannot be told."""
    simple = [s for s in statements if s[0] in _SIMPLE and (s[0] == ir.ASSIGN or s[5] is not None)]
    if len(simple) == len(statements) == 1:
        return simple[0]
    sites = [value.dtype_site, value.shape_site, value.device_site] if isinstance(value, Tensor) else []
    for statement in simple:
        start, end = home.base + statement[1], home.base + statement[2]
        decides = any(
            site is not None and site.file == home.module.path and start <= site.start and site.end <= end
            for site in sites
        )
        changed = any(edit.file == home.module.path and start <= edit.start and edit.end <= end for edit in edits)
        if decides and changed:
            return statement
    return None


def _is_plain(statement: Stmt | None, value: Value | None, home: _Home) -> bool:
    """Whether an assignment makes a tensor of literals alone: its values are better than any made-up ones."""
    if statement is None or statement[0] != ir.ASSIGN or not isinstance(value, Tensor) or value.shape is None:
        return False
    sizes = [size for size in value.shape if isinstance(size, int)]
    if len(sizes) != len(value.shape) or math.prod(sizes) > _LARGEST_PLAIN or called(statement[4]) not in _PLAIN:
        return False
    function = statement[4][3]
    root = function[3] if function[0] == ir.ATTRIBUTE else function
    if root[0] != ir.NAME or root[3] not in {"torch", torch_name(home.module, home.unit)}:
        return False
    return set(names_read(statement[4])) <= {root[3]}


def _free_names(unit: FunctionUnit | ClassUnit) -> set[str]:
    """The names that a definition reads from around it; annotations are not evaluated."""
    if isinstance(unit, ClassUnit):
        return set(names_read((unit.bases, unit.keywords, unit.decorators))) | _free_in(unit.block)
    body = unit.body
    defaults = [parameter.default for parameter in unit.parameters if parameter.default is not None]
    return (_free_in(body.block) - body.assigned) | set(names_read((unit.decorators, tuple(defaults))))


def _free_in(block: Block) -> set[str]:
    names: set[str] = set()
    for statement in flatten(block):
        if statement[0] in {ir.FUNCTION, ir.CLASS}:
            names |= _free_names(statement[3])
        else:
            names |= set(names_read(own_parts(statement), nested=True))
    return names


def _import_text(name: str, statement: Stmt, module: Module) -> str:
    """The import of one name, with a relative one written out."""
    if statement[0] == ir.IMPORT:
        for dotted, alias in statement[3]:
            if (alias or dotted.split(".", 1)[0]) == name:
                return f"import {dotted} as {alias}" if alias else f"import {dotted}"
    level, dotted = statement[3], statement[4] or ""
    if level:
        parts = module.name.split(".")
        drop = level - 1 if module.is_package else level
        head = parts[: len(parts) - drop] if drop <= len(parts) else []
        dotted = ".".join([*head, dotted] if dotted else head)
    original = next((own for own, alias in statement[5] or () if alias == name), name)
    return f"from {dotted} import {original}" + ("" if original == name else f" as {name}")
