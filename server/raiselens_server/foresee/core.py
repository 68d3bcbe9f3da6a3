"""The state of an abstract run, and the seams between the parts of the interpreter.

The interpreter is one class made of mixins, a file each: statements, expressions, calls, attributes, builtins. Each
declares here what the others may call.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from raiselens_server.agree import agrees
from raiselens_server.foresee.frames import Raising
from raiselens_server.foresee.objects import (
    UNKNOWN_CONTENTS,
    Bound,
    DictObject,
    InstanceObject,
    ListObject,
    SetObject,
    Virtual,
)
from raiselens_server.foresee.parts import Parts
from raiselens_server.foresee.statistics import Statistics
from raiselens_server.source.bindings import names_read
from raiselens_server.source.module import expression_text
from raiselens_server.values import dims, lattice
from raiselens_server.values.lattice import (
    Callable,
    Const,
    DType,
    Int,
    Named,
    Opaque,
    Ref,
    Seq,
    Site,
    Tensor,
    Union,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Callable as Thunk

    from raiselens_server.error import RaisedError
    from raiselens_server.foresee.frames import Frame
    from raiselens_server.foresee.objects import Assumed, Class, Function, HeapObject
    from raiselens_server.foresee.scopes import Scopes
    from raiselens_server.source.ir import Expr
    from raiselens_server.source.module import Module
    from raiselens_server.source.units import FunctionUnit
    from raiselens_server.values.ops import Ambient

MAX_DEPTH = 8
STEP_LIMIT = 20_000
ELEMENT = "[]"
"""The attribute under which a container of modules keeps what each of them is like: no program can name it."""
State = tuple[dict[str, Value], "dict[int, HeapObject]"]
_SERIAL = itertools.count(1)


class BudgetSpentError(Exception):
    """A run took more steps than it may; what it found until then stands."""


def fresh_uid() -> int:
    """A number for a new object or symbol."""
    return next(_SERIAL)


class Core(Parts):
    """State, heap and helpers that every part uses."""

    def __init__(self, scopes: Scopes, ambient: Ambient) -> None:
        self.scopes = scopes
        self.ambient = ambient
        self.heap: dict[int, HeapObject] = {}
        self.steps = 0
        self.statistics = Statistics()
        self.patched: set[tuple[str, str]] = set()
        self.live: dict[str, Frame] = {}
        self.followed: set[int] = set()
        self.visited: set[FunctionUnit] = set()
        self.escaped: set[int] = set()
        self.assumed: dict[int, Assumed] = {}
        self.field_values: dict[tuple[int, str], Value] = {}
        self.standing: dict[int, HeapObject] = {}
        self.leaned_on: dict[Assumed, None] = {}
        self.replaced: frozenset[str] = frozenset()
        self.deep = False
        self.changed_tensors: list[Tensor] = []
        """What the tensors were that changed in place, in the order in which they did."""
        self.at_large = False
        """Whether code that is not followed was handed a function that may change tensors in place."""
        self.checked: Module | None = None
        self.seen: set[tuple[int, int]] = set()
        """Where the calls of the checked module stand that the run came by."""
        self.witness: RaisedError | None = None
        """An error that a run has printed: where it may be raised, it is."""

    def is_proven(self, raising: Raising) -> bool:
        """Whether a raise is the one that a run has printed."""
        if self.witness is None:
            return False
        raised_in = self.witness.frames[-1].function if self.witness.frames else ""
        guard = raising.levels[-1].frame.qualname
        if raising.implicit is None and raised_in and raised_in.rpartition(".")[2] != guard.rpartition(".")[2]:
            return False
        return agrees(raising.class_name, *raising.rendered(), self.witness)

    # Budget

    def step(self) -> None:
        """Count one statement against the budget."""
        self.steps += 1
        if self.steps > STEP_LIMIT:
            raise BudgetSpentError

    def note_visited(self, function: Function, frame: Frame) -> None:
        """Note what an edit of a function makes stale; only those of open files are edited."""
        if function.module.path in self.scopes.overlays:
            self.visited.add(function.unit)
            if frame.quiet:
                # Values of names and classes are worked out quietly, and kept whatever runs next.
                self.scopes.visited.add(function.unit)

    # State

    def snapshot(self, frame: Frame) -> State:
        """The state now, safe from later changes."""
        return dict(frame.variables), dict(self.heap)

    def restore(self, frame: Frame, state: State) -> None:
        """Go on from `state`, which is used up."""
        frame.variables, self.heap = state

    def join_states(self, states: list[State]) -> State:
        """What holds on all of them; at least one."""
        variables, heap = states[0]
        for other, other_heap in states[1:]:
            variables = {
                name: value if name in other and other[name] is value else lattice.join(value, other[name])
                for name, value in variables.items()
                if name in other
            } | {name: Unknown("maybe-unbound") for name in variables.keys() ^ other.keys()}
            heap = join_heaps(heap, other_heap)
        return variables, heap

    # Heap

    def new(self, kind: str, contents: HeapObject, cls: Class | str | None = None) -> Ref:
        """Put a new object on the heap."""
        ref = Ref(fresh_uid(), kind, cls)
        self.heap[ref.uid] = contents
        return ref

    def contents(self, ref: Ref) -> HeapObject:
        """What a reference holds."""
        found = self.heap.get(ref.uid)
        if found is None:
            found = self.scopes.heap.get(ref.uid) or self.standing.get(ref.uid)
        if found is None or ref.uid in self.escaped:
            return _unknown_like(ref, found)
        return found

    def items_of(self, value: Value) -> tuple[Value, ...] | None:
        """The items of a sequence of known length, in order, else None."""
        match value:
            case Seq(items=items):
                return items
            case Const(value=str() as text):
                return tuple(Const(c) for c in text)
            case Const(value=range() as numbers) if not numbers[1024:]:
                return tuple(Const(n) for n in numbers)
            case Ref():
                match self.contents(value):
                    case ListObject(items=held) | SetObject(items=held):
                        return held
                    case DictObject(items=pairs):
                        return None if pairs is None else tuple(key for key, _ in pairs)
                    case InstanceObject():
                        return None
            case _:
                return None

    def unpacked(self, value: Value) -> tuple[Value, ...] | None:
        """The items that `*value` gives; a generator is run for them."""
        if isinstance(value, Callable):
            self.escape(value)
        return self.items_of(value)

    def element_of(self, value: Value) -> Value | None:
        """What every item of an iterable of unknown length is like, None where that is not known."""
        if not isinstance(value, Ref):
            return None
        match self.contents(value):
            case ListObject(element=element):
                return element
            case InstanceObject() as contents:
                return contents.get(ELEMENT)
            case _:
                return None

    def many(self, element: Value) -> Value:
        """A list of unknown length."""
        return self.new("list", ListObject(None, element))

    def plain(self, value: Value) -> Value:
        """The value as the operation rules take it: lists as snapshots, sizes as symbols."""
        match value:
            case Ref(kind="list"):
                items = self.items_of(value)
                # An empty list is mostly one whose filling was not seen.
                return Seq(tuple(self.plain(i) for i in items), "list") if items else Unknown("list")
            case Seq(items=items, kind=kind) if any(isinstance(i, (Ref, Unknown, Opaque)) for i in items):
                return Seq(tuple(self.plain(i) for i in items), kind)
            case Unknown(path=str()):
                return self.as_size(value)
            case _:
                return value

    def as_size(self, value: Value) -> Value:
        """A size read from something unknown, `x.shape[0]`, as a symbol: reading it twice gives the same."""
        if isinstance(value, Unknown) and value.path is not None and value.path.endswith(("]", ")")):
            return Int(dims.of_symbol(dims.Symbol(value.path.split("#", 1)[-1], hash(value.path), 0)))
        return value

    def forget(self, value: Value, *, escapes: bool = False, seen: set[int] | None = None) -> None:
        """Something may change what `value` refers to: forget its contents, and theirs.

        `escapes`: it is handed to code that is not followed, which may keep it and change it at any later time.
        """
        seen = set() if seen is None else seen
        match value:
            case Ref() if value.uid not in seen:
                seen.add(value.uid)
                contents = self.contents(value)
                self.heap[value.uid] = _unknown_like(value, contents)
                if escapes:
                    self.escaped.add(value.uid)
                match contents:
                    case ListObject(items=listed) | SetObject(items=listed):
                        self._forget_all(listed or (), escapes, seen)
                    case DictObject(items=pairs):
                        self._forget_all(tuple(item for _, item in pairs or ()), escapes, seen)
                    case InstanceObject(attributes=attributes):
                        held = tuple(item for _, item in attributes)
                        self._forget_all((*held, *self.reached_from(value.cls)), escapes, seen)
            case Seq(items=parts) | Union(options=parts):
                self._forget_all(parts, escapes, seen)
            case Callable(target=target) if -id(target) not in seen:
                seen.add(-id(target))
                self._forget_all(self.reached_from(target), escapes, seen)
            case _:
                return

    def _forget_all(self, values: tuple[Value, ...], escapes: bool, seen: set[int]) -> None:
        for value in values:
            self.forget(value, escapes=escapes, seen=seen)

    def escape(self, value: Value) -> None:
        """`value` is handed to code that is not followed."""
        self.forget(value, escapes=True)

    def truth(self, value: Value) -> bool | None:
        """What `bool(value)` must be; containers by what they hold."""
        match value:
            case Ref(kind="instance") | Callable(target=Bound(function=str()) | Virtual()):
                # An attribute of a builtin that no rule knows, or of a derived class, need not be the method it is taken for.
                return None
            case Named(name="typing.TYPE_CHECKING" | "typing_extensions.TYPE_CHECKING"):
                return False
            case Ref():
                items = self.items_of(value)
                return None if items is None else bool(items)
            case Union(options=options):
                answers = {self.truth(option) for option in options}
                return answers.pop() if len(answers) == 1 else None
            case _:
                return lattice.truth(value)

    def new_set(self, items: tuple[Value, ...] | None, kind: str = "set") -> Value:
        """A set of `items`; how many it holds is known only where they are all known and so can be told apart."""
        known: tuple[Value, ...] | None = None
        if items is not None and all(settled(item) for item in items):
            known = tuple(dict.fromkeys(items))
        if kind == "set":
            return self.new("set", SetObject(known))
        return Opaque(kind) if known is None else Seq(known, kind)

    # Places and text

    def site(self, frame: Frame, expr: Expr) -> Site:
        """Where an expression stands."""
        return Site(frame.module.path, frame.base + expr[1], frame.base + expr[2])

    def source(self, frame: Frame, expr: Expr) -> str:
        """The expression as written, on one line."""
        return expression_text(frame.module, frame.base, expr)

    def placed(self, value: Value, frame: Frame, expr: Expr) -> Value:
        """The value with this expression as the site of all that it decides anew."""
        if isinstance(value, Tensor):
            return lattice.with_sites(value, self.site(frame, expr))
        if isinstance(value, Seq) and any(isinstance(i, Tensor) for i in value.items):
            return Seq(tuple(self.placed(i, frame, expr) for i in value.items), value.kind)
        return value

    # Conditions

    def depends_on_caller(self, expr: Expr, frame: Frame) -> bool:
        """Whether an expression reads anything that comes from the frame's parameters."""
        if frame.function is None:
            return True
        derived = frame.derived
        return any(name in derived for name in names_read(expr))

    def none_error(self, text: str, rule: str, condition: str, frame: Frame, expr: Expr | None = None) -> Raising:
        """The TypeError of None where something with items is wanted."""
        offset = None if expr is None else frame.base + expr[1]
        return Raising(
            "TypeError",
            (text,),
            frame,
            condition=condition,
            implicit=rule,
            rule=rule,
            callee="__getitem__" if rule == "none-subscript" else "",
            offset=offset,
        )

    def speculate(
        self, frame: Frame, thunk: Thunk[[], Value], test: Expr | None = None, *, taken: bool = True
    ) -> Value:
        """Evaluate what is reached only where `test` is `taken`: a raise in it is no certain one, but stands in a root."""
        try:
            return thunk()
        except Raising as raising:
            self.stand(raising, frame, test, taken=taken)
            return Unknown("raised")

    def stand(self, raising: Raising, frame: Frame, test: Expr | None, *, taken: bool) -> None:
        """Take a raise of code that is reached only where `test` is `taken`."""
        if not frame.root:
            frame.unsure = True
            return
        if test is None:
            self.report(raising, frame)
            return
        text = self.source(frame, test)
        frame.branches.append(text if taken else f"not ({text})")
        frame.tests.append(test)
        self.report(raising, frame)
        frame.tests.pop()
        frame.branches.pop()

    def over_options(self, options: tuple[Value, ...], question: Thunk[[Value], Value], frame: Frame) -> Value:
        """Ask the same of each alternative: what they answer, joined; a certain raise only where all raise."""
        results: list[Value] = []
        raised: list[Raising] = []
        for option in options:
            heap = dict(self.heap)
            try:
                results.append(question(option))
            except Raising as raising:
                raised.append(raising)
                self.heap = heap
        if not results:
            raised[0].earlier = raised[0].earlier or any(other.message != raised[0].message for other in raised)
            raise raised[0]
        if raised:
            frame.unsure = True
        return lattice.join_all(results)


def _unknown_like(ref: Ref, contents: HeapObject | None) -> HeapObject:
    """Unknown contents; an object keeps its class."""
    if ref.kind == "instance":
        exact = isinstance(contents, InstanceObject) and contents.exact
        return InstanceObject(open=True, exact=exact)
    return UNKNOWN_CONTENTS[ref.kind]


def settled(value: Value) -> bool:
    """Whether a value is known wholly, so that equal ones are the same and others differ."""
    match value:
        case Const() | Named():
            return True
        case DType(names=names):
            return len(names) == 1
        case Seq(items=items):
            return all(settled(item) for item in items)
        case Callable(target=target):
            return not hasattr(target, "receiver")
        case _:
            return False


def join_heaps(left: dict[int, HeapObject], right: dict[int, HeapObject]) -> dict[int, HeapObject]:
    """What holds of every object on both sides."""
    joined: dict[int, HeapObject] = {}
    for uid, contents in left.items():
        other = right.get(uid)
        joined[uid] = contents if other is None or other is contents else _join_contents(contents, other)
    for uid, contents in right.items():
        if uid not in joined:
            joined[uid] = contents
    return joined


def _join_contents(left: HeapObject, right: HeapObject) -> HeapObject:
    match left, right:
        case (ListObject(items=a), ListObject(items=b)):
            return ListObject(_join_items(a, b))
        case (SetObject(items=a), SetObject(items=b)):
            return SetObject(a if a == b else None)
        case (DictObject(items=a), DictObject(items=b)):
            if a is None or b is None or [k for k, _ in a] != [k for k, _ in b]:
                return DictObject(None)
            return DictObject(tuple((k, lattice.join(v, w)) for (k, v), (_, w) in zip(a, b, strict=True)))
        case (InstanceObject(), InstanceObject()):
            names = {name for name, _ in left.attributes} & {name for name, _ in right.attributes}
            lost = len(names) < max(len(left.attributes), len(right.attributes))
            attributes = tuple(
                (name, lattice.join(value, right.get(name) or value))
                for name, value in left.attributes
                if name in names
            )
            return InstanceObject(attributes, left.exact and right.exact, left.open or right.open or lost)
        case _:
            return left


def _join_items(left: tuple[Value, ...] | None, right: tuple[Value, ...] | None) -> tuple[Value, ...] | None:
    if left is None or right is None or len(left) != len(right):
        return None
    return tuple(lattice.join(a, b) for a, b in zip(left, right, strict=True))
