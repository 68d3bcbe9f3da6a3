"""What the methods of a class leave on `self`, read from their stores alone: `self.norm = RMSNorm(width)`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from raiselens_server.foresee.attributes import Attributes
from raiselens_server.foresee.core import ELEMENT, fresh_uid
from raiselens_server.foresee.frames import Frame, Raising
from raiselens_server.foresee.objects import Assumed, Class, Function, InstanceObject, ListObject, Many
from raiselens_server.source import ir
from raiselens_server.source.bindings import bound_by
from raiselens_server.source.module import flatten
from raiselens_server.source.searched import SETATTR, SETS_ANY
from raiselens_server.values import lattice, ops
from raiselens_server.values.dtypes import FLOATING
from raiselens_server.values.lattice import Callable, DType, Named, Ref, Tensor, Unknown, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raiselens_server.foresee.objects import HeapObject, Stored
    from raiselens_server.source.ir import Block, Expr, Stmt
    from raiselens_server.source.units import FunctionUnit

STATIC_DEPTH: Final = 5
MAX_OPTIONS: Final = 4
MAX_STEPS: Final = 4
_STORE: Final = re.compile(rb"\s*(?::[^=\n]*)?=(?!=)")
_IS_SELF: Final = re.compile(rb"\bself$")
_CONTAINERS: Final = frozenset({"torch.nn.modules.container.ModuleList"})


class Fields(Attributes):
    """Attributes of an object whose constructor was not run."""

    def field(self, ref: Ref, cls: Class, name: str, *, exact: bool) -> Value | None:
        """The attribute as the methods of its class and bases store it, None where none of them does."""
        known = self.field_values.get((ref.uid, name))
        if known is not None:
            return known
        options = self._stored(cls, name)
        if options == ():
            return None
        value: Value = Unknown("attribute")
        if options is not None and options != (None,):
            assumed = Assumed(cls, name, stored=True)
            made: list[Ref] = []
            value = self._read(options, made)
            if not exact:
                self.assumed.update((each.uid, assumed) for each in made)
                if not made:
                    self.leaned_on[assumed] = None
        self.field_values[ref.uid, name] = value
        return value

    def _read(self, options: tuple[Stored, ...], made: list[Ref]) -> Value:
        values: list[Value] = []
        # None comes last: what it lacks is the least telling of what may be raised.
        for option in sorted(options, key=lambda o: o is None):
            match option:
                case None:
                    values.append(lattice.NONE)
                case Class():
                    values.append(self._standing("instance", InstanceObject(open=True), option, made))
                case Many(options=items, cls=cls):
                    inner: list[Ref] = []
                    element = self._read(items, inner)
                    # One object stands for all of them: what is stored on one is not what another has.
                    self.escaped.update(each.uid for each in inner)
                    made.extend(inner)
                    contents: HeapObject = ListObject(None, element)
                    if cls is not None:
                        contents = InstanceObject(((ELEMENT, element),), open=True)
                    values.append(self._standing("list" if cls is None else "instance", contents, cls, made))
                case Tensor() | DType():
                    values.append(option)
        return lattice.join_all(values)

    def _standing(self, kind: str, contents: HeapObject, cls: Class | None, made: list[Ref]) -> Ref:
        """An object that was there before the run began."""
        ref = Ref(fresh_uid(), kind, cls)
        self.standing[ref.uid] = contents
        made.append(ref)
        return ref

    def _stored(self, cls: Class, name: str) -> tuple[Stored, ...] | None:
        """What may be stored under a name; empty where nothing is, None where that is not known."""
        if name in cls.stored:
            return cls.stored[name]
        cls.stored[name] = None
        cls.stored[name] = self._find_stored(cls, name)
        return cls.stored[name]

    def _find_stored(self, cls: Class, name: str) -> tuple[Stored, ...] | None:
        found: list[Stored] = []
        some = False
        for base in self.order(cls):
            if not isinstance(base, Class):
                continue
            for unit, expr in _stores(base, name):
                some = True
                options = None if expr is None else self._options(expr, self._frame(unit, base), MAX_STEPS)
                if options is None:
                    return None
                found.extend(option for option in options if option not in found)
        if not some:
            return ()
        member = self.find_member(cls, name)
        if member is not None and isinstance(member[1], Class):
            if member[0] != lattice.NONE:
                return None
            found.append(None)
        if len(found) > MAX_OPTIONS or any(
            isinstance(base, Class) and _may_set(base, name) for base in self.order(cls)
        ):
            return None
        return tuple(dict.fromkeys(found))

    def _frame(self, unit: FunctionUnit, owner: Class) -> Frame:
        body = unit.body
        function = Function(unit, owner.module, None, owner)
        frame = Frame(
            function,
            owner.module,
            unit.base,
            {},
            None,
            None,
            STATIC_DEPTH,
            local=body.assigned,
            rebound=body.rebound,
            owner=owner,
        )
        frame.quiet = 1
        return frame

    def _options(self, expr: Expr, frame: Frame, steps: int) -> tuple[Stored, ...] | None:
        """What an expression may give, None where that is not known."""
        if not steps:
            return None
        match expr[0]:
            case ir.CONST:
                return (None,) if expr[3] is None else None
            case ir.CONDITIONAL:
                return _either(self._options(expr[4], frame, steps - 1), self._options(expr[5], frame, steps - 1))
            case ir.BOOLEAN if expr[3] == "or" and len(expr[4]) == 2:
                parts = [self._options(operand, frame, steps - 1) for operand in expr[4]]
                return _either(*parts)
            case ir.NAME:
                return self._named_options(expr[3], frame, steps - 1)
            case ir.LIST if expr[3]:
                inner = [self._options(item, frame, steps - 1) for item in expr[3]]
                merged = inner[0]
                for options in inner[1:]:
                    merged = _either(merged, options)
                return None if merged is None else (Many(merged),)
            case ir.COMPREHENSION if expr[3] in {"list", "generator"}:
                element = self._options(expr[4], frame, steps - 1)
                return None if element is None else (Many(element),)
            case ir.CALL:
                return self._call_options(expr, frame, steps - 1)
            case ir.ATTRIBUTE:
                value = self._called(expr, frame)
                return (value,) if isinstance(value, DType) else None
            case _:
                return None

    def _call_options(self, expr: Expr, frame: Frame, steps: int) -> tuple[Stored, ...] | None:
        called = self._called(expr[3], frame)
        match called:
            case Callable(target=Class() as cls) if cls.dotted in _CONTAINERS:
                if len(expr[4]) == 1 and not expr[5]:
                    options = self._options(expr[4][0], frame, steps)
                    if options is not None and len(options) == 1 and isinstance(options[0], Many):
                        return (Many(options[0].options, cls),)
                return None
            case Callable(target=Class() as cls) if self._makes_itself(cls):
                return (cls,)
            case Named(name="list" | "tuple") if len(expr[4]) == 1 and expr[4][0][0] != ir.STAR:
                return self._options(expr[4][0], frame, steps)
            case Named(name=name) if name.startswith("torch.") and ops.knows(name):
                return self._tensor(expr, frame)
            case _:
                return None

    def _tensor(self, expr: Expr, frame: Frame) -> tuple[Stored, ...] | None:
        """What a factory makes, as far as it stays: a module may be cast, and sizes and place may change in place."""
        try:
            value = self.evaluate(expr, frame)
        except Raising:
            return None
        if not isinstance(value, Tensor):
            return None
        names = value.dtypes
        if frame.owner is not None and names & FLOATING and self.open_class(frame.owner):
            names = names | FLOATING
        return (Tensor(names, dtype_site=value.dtype_site, parameter=value.parameter),)

    def _makes_itself(self, cls: Class) -> bool:
        """Whether calling the class gives an instance of just it."""
        if self.is_enum(cls) or any(name == "metaclass" for name, _ in cls.unit.keywords):
            return False
        return not any(isinstance(base, Class) and "__new__" in self.members(base) for base in self.order(cls))

    def _called(self, expr: Expr, frame: Frame) -> Value:
        root = expr
        while root[0] == ir.ATTRIBUTE:
            root = root[3]
        if root[0] != ir.NAME:
            return Unknown("callee")
        name = root[3]
        if name in frame.local and name not in frame.variables:
            frame.variables[name] = self._local(name, frame)
        try:
            return self.evaluate(expr, frame)
        except Raising:
            return Unknown("callee")

    def _local(self, name: str, frame: Frame) -> Value:
        """What an import or an alias in a function binds, where nothing else binds the name."""
        statement = _only_binding(name, frame)
        if statement is None:
            return Unknown("local")
        match statement[0]:
            case ir.IMPORT | ir.FROM:
                bound = dict(frame.variables)
                self.block((statement,), frame)
                value = frame.variables.get(name, Unknown("local"))
                frame.variables = bound
                return value
            case ir.ASSIGN if statement[4][0] in {ir.NAME, ir.ATTRIBUTE} and statement[4][3] != name:
                return self._called(statement[4], frame)
            case _:
                return Unknown("local")

    def _named_options(self, name: str, frame: Frame, steps: int) -> tuple[Stored, ...] | None:
        if name in frame.local:
            statement = _only_binding(name, frame)
            if statement is not None and statement[0] == ir.ASSIGN and statement[3][0][0] == ir.NAME:
                return self._options(statement[4], frame, steps)
            return None
        value = self.lookup(name, frame)
        if isinstance(value, Ref) and isinstance(value.cls, Class):
            contents = self.contents(value)
            return (value.cls,) if isinstance(contents, InstanceObject) and contents.exact else None
        return (None,) if value == lattice.NONE else None


def _either(left: tuple[Stored, ...] | None, right: tuple[Stored, ...] | None) -> tuple[Stored, ...] | None:
    return None if left is None or right is None else tuple(dict.fromkeys((*left, *right)))


def _only_binding(name: str, frame: Frame) -> Stmt | None:
    assert frame.function is not None  # noqa: S101 such frames are made above
    unit = frame.function.unit
    if any(parameter.name == name for parameter in unit.parameters):
        return None
    found = [statement for statement in flatten(unit.body.block) if name in bound_by(statement)]
    return found[0] if len(found) == 1 else None


def _may_set(cls: Class, name: str) -> bool:
    """Whether the class's text may set the attribute in ways that are not followed, or others of its file do."""
    source, body = cls.module.source, cls.module.slice(cls.unit.start, cls.unit.end)
    if SETS_ANY.search(body) is not None:
        return True
    for match in SETATTR.finditer(body):
        form, literal, closing = match.groups()
        if literal is None:
            return True
        if name.encode().startswith(literal) if closing == b"{" and form else literal == name.encode():
            return True
    attribute = b"." + name.encode()
    position = source.find(attribute)
    while position != -1:
        if _STORE.match(source, position + len(attribute)) and not _IS_SELF.search(source[position - 5 : position]):
            return True
        position = source.find(attribute, position + 1)
    return False


def _stores(cls: Class, name: str) -> Iterator[tuple[FunctionUnit, Expr | None]]:
    """The values that the class's own methods store as `self.name`; None where one is not an expression."""
    attribute = name.encode()
    for statement in flatten(cls.unit.block):
        if statement[0] != ir.FUNCTION:
            continue
        unit: FunctionUnit = statement[3]
        if not unit.parameters or attribute not in cls.module.slice(unit.start, unit.end):
            continue
        for expr in _stores_of(unit).get(name, ()):
            yield unit, expr


def _stores_of(unit: FunctionUnit) -> dict[str, tuple[Expr | None, ...]]:
    """What a method stores on its object, by attribute; None where a store is not of one expression."""
    # Asked for each time, for it notes that what is kept depends on the body.
    block = unit.body.block
    if unit.stores is None:
        found: dict[str, list[Expr | None]] = {}
        for name, expr in _stored_in(block, unit.parameters[0].name):
            found.setdefault(name, []).append(expr)
        unit.stores = {name: tuple(stored) for name, stored in found.items()}
    return unit.stores


def _stored_in(block: Block, receiver: str) -> Iterator[tuple[str, Expr | None]]:
    for statement in flatten(block):
        match statement[0]:
            case ir.ASSIGN:
                for target in statement[3]:
                    yield from _assigned(target, statement[4], receiver)
            case ir.ANNOTATED if statement[5] is not None:
                yield from _assigned(statement[3], statement[5], receiver)
            case ir.AUGMENTED | ir.FOR:
                yield from _assigned(statement[3], None, receiver)
            case ir.WITH:
                for _, target in statement[3]:
                    if target is not None:
                        yield from _assigned(target, None, receiver)
            case ir.DELETE:
                for target in statement[3]:
                    yield from _assigned(target, None, receiver)
            case ir.EXPRESSION if (name := _registered(statement[3], receiver)) is not None:
                yield name, statement[3][4][1]
            case ir.FUNCTION:
                for name, _ in _stored_in(statement[3].body.block, receiver):
                    yield name, None
            case _:
                continue


def _registered(expr: Expr, receiver: str) -> str | None:
    """The name in `self.register_buffer("name", …)`."""
    if expr[0] != ir.CALL or expr[3][0] != ir.ATTRIBUTE or len(expr[4]) < 2:
        return None
    of, first = expr[3][3], expr[4][0]
    registers = expr[3][4] in {"register_buffer", "register_parameter"} and of[0] == ir.NAME and of[3] == receiver
    return first[3] if registers and first[0] == ir.CONST and isinstance(first[3], str) else None


def _assigned(target: Expr, value: Expr | None, receiver: str) -> Iterator[tuple[str, Expr | None]]:
    if target[0] == ir.ATTRIBUTE:
        if target[3][0] == ir.NAME and target[3][3] == receiver:
            yield target[4], value
    elif target[0] in {ir.TUPLE, ir.LIST}:
        parts = target[3]
        pairs = value is not None and value[0] in {ir.TUPLE, ir.LIST} and len(value[3]) == len(parts)
        for index, part in enumerate(parts):
            yield from _assigned(part, value[3][index] if pairs and value is not None else None, receiver)
