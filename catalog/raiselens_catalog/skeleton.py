"""A function → the skeleton of its guards: tests, raises and what they are made of, without anything else.

What is left out must not change what is kept. So a test that cannot be kept is `UNKNOWN`, a way out stays a way out,
a name that is given a value out of sight is gone from there on, and an object that is given away out of sight is given
to `UNKNOWN(…)`. Nothing defines `UNKNOWN`: to whoever reads the skeleton as source, it is a value like any other that
is not known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from raiselens_catalog.expression import text_of
from raiselens_catalog.names import Effects, read_names, root_name, written

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from tree_sitter import Node

UNKNOWN: Final = "UNKNOWN"
"""The name of all that a stub does not hold."""

GUARD_WORDS: Final = ("check", "require", "validate", "assert", "verify", "ensure")
"""What the names of functions begin with that do nothing but check."""


def guard_places(source: bytes) -> list[int]:
    """Where source may hold a guard, as byte offsets in order; it may be a comment or a string as well."""
    places = [at for word in (b"raise", b"assert", b"torch._check") for at in _all(source, word)]
    for word in GUARD_WORDS:
        # A call whose answer nobody takes begins its line.
        places += [
            at for at in _all(source, word.encode()) if not source[source.rfind(b"\n", 0, at) + 1 : at].strip(b" \t_")
        ]
    return sorted(places)


def _all(source: bytes, word: bytes) -> Iterator[int]:
    at = source.find(word)
    while at >= 0:
        yield at
        at = source.find(word, at + len(word))


@dataclass(frozen=True, slots=True)
class Statement:
    """A line that stays as it is: a raise, an assertion, a call of a guard, or a way out.

    `guards`: it may raise on what it was given.
    """

    text: str
    reads: frozenset[str] = frozenset()
    guards: bool = False


@dataclass(frozen=True, slots=True)
class Assignment:
    """A local value, kept where something kept reads it, or where it `unpacks`: that may raise on its own."""

    text: str
    binds: frozenset[str]
    reads: frozenset[str]
    unpacks: bool


@dataclass(frozen=True, slots=True)
class Touch:
    """Objects that something left out may have changed."""

    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Branch:
    """`if`, `elif`, `else` or `for`: its head without the colon, and its block. `binds` are a loop's variables."""

    head: str
    reads: frozenset[str]
    body: tuple[Item, ...]
    binds: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Compound:
    """Branches that belong together."""

    branches: tuple[Branch, ...]


Item: TypeAlias = "Statement | Assignment | Touch | Compound"


@dataclass(frozen=True, slots=True)
class Skeleton:
    """The lines of a body, not indented, and the names of the module that they read.

    `kept` and `left_out` count guards. No lines: nothing here can be told.
    """

    lines: tuple[str, ...]
    reads: frozenset[str]
    kept: int
    left_out: int


def skeleton(
    body: Node,
    last: int,
    parameters: Collection[str],
    deciding: Collection[str],
    *,
    knows: Callable[[str], bool],
    is_guard: Callable[[str], bool],
) -> Skeleton:
    """The skeleton of a function's body; without lines where no guard is decided by the parameters `deciding`.

    `last` is where the last guard may stand. What comes behind changes nothing: a name bound only there would not be
    bound where a guard reads it.
    `knows` tells whether a name of the module, or a builtin, can be kept; `is_guard` whether a function of that name
    is one whose call is a guard.
    """
    statements = [child for child in body.named_children if child.start_byte <= last]
    if not statements:
        return Skeleton((), frozenset(), 0, 0)
    effects = Effects(body, statements[-1].end_byte)
    walk = _Walk(set(parameters), effects.bound(body) | set(parameters), effects, knows, is_guard)
    items = [item for statement in statements for item in walk.statement(statement)]
    while items and not _guards(items[-1]):
        items.pop()
    reached = _reach(items, set(deciding))
    if not any(_decided_by(item, reached) for item in items):
        return Skeleton((), frozenset(), 0, walk.kept + walk.left_out)
    needed = _needed(items)
    lines = (*_lines(items, needed), f"return {UNKNOWN}")
    return Skeleton(lines, frozenset(needed - walk.local), walk.kept, walk.left_out)


@dataclass(slots=True)
class _Walk:
    """One walk over a body. `known` are the local names whose values are as written up to here.

    `certain`: every test that leads here was kept, so that what stands here can be decided.
    """

    known: set[str]
    local: set[str]
    effects: Effects
    knows: Callable[[str], bool]
    is_guard: Callable[[str], bool]
    kept: int = 0
    left_out: int = 0
    certain: bool = True
    names: dict[int, frozenset[str]] = field(default_factory=dict)

    def block(self, node: Node) -> list[Item]:
        return [item for child in node.named_children for item in self.statement(child)]

    def statement(self, node: Node) -> Iterator[Item]:
        match node.type:
            case "comment" | "pass_statement" | "string":
                return
            case "raise_statement":
                yield self._raise(node)
            case "assert_statement":
                yield self._checked(node, written(node))
            case "return_statement":
                yield Statement(f"return {UNKNOWN}")
            case "if_statement":
                yield self._if(node)
            case "for_statement" if node.child_by_field_name("alternative") is None:
                yield from self._for(node)
            case "expression_statement":
                yield from self._expression(node)
            case _:
                yield from self._opaque(node)

    def _raise(self, node: Node) -> Statement:
        raised = node.named_children[0] if node.named_child_count else None
        if raised is None or not self.certain or not self._keeps(raised):
            return self._lost()
        self.kept += 1
        return Statement(f"raise {written(raised)}", self.reads(raised), guards=True)

    def _checked(self, node: Node, text: str) -> Item:
        if not self.certain or not self._keeps(node):
            return _perhaps(self._lost())
        self.kept += 1
        return Statement(text, self.reads(node), guards=True)

    def _lost(self) -> Statement:
        self.left_out += 1
        return Statement("raise Exception")

    def _if(self, node: Node) -> Compound:
        before, after = set(self.known), None
        branches: list[Branch] = []
        still = self.certain
        clauses = [node, *node.children_by_field_name("alternative")]
        for word, clause in zip(("if", *["elif"] * len(clauses)), clauses, strict=False):
            self.known = set(before)
            head, reads = "else", frozenset[str]()
            if clause.type != "else_clause":
                condition = clause.child_by_field_name("condition")
                keeps = condition is not None and self._keeps(condition)
                self.certain = self.certain and keeps
                if condition is not None and keeps:
                    head, reads = f"{word} {written(condition)}", self.reads(condition)
                else:
                    head = f"{word} {UNKNOWN}"
                    before -= self.effects.bound(condition) if condition is not None else set()
            block = clause.child_by_field_name("body") or clause.child_by_field_name("consequence")
            body = tuple(self.block(block)) if block is not None else ()
            branches.append(Branch(head, reads, body))
            still = still and (self.certain or not _returns(body))
            if not (body and isinstance(body[-1], Statement) and body[-1].text.startswith(("raise", "return"))):
                after = self.known if after is None else after & self.known
        if branches[-1].head != "else":
            after = before if after is None else after & before
        self.known = after if after is not None else set()
        self.certain = still
        return Compound(tuple(branches))

    def _for(self, node: Node) -> Iterator[Item]:
        target, source, body = (node.child_by_field_name(name) for name in ("left", "right", "body"))
        if target is None or source is None or body is None or not self._keeps(source) or not _names_only(target):
            yield from self._opaque(node)
            return
        reads = self.reads(source)
        self.known -= self.effects.bound(node)
        self.known |= read_names(target)
        inside = tuple(self.block(body))
        self.known -= self.effects.bound(node)
        head = f"for {written(target)} in {written(source)}"
        yield Compound((Branch(head, reads, inside, frozenset(read_names(target))),))

    def _expression(self, node: Node) -> Iterator[Item]:
        inner = node.named_children[0] if node.named_child_count else node
        match inner.type:
            case "assignment":
                yield from self._assignment(node, inner)
            case "call" if _is_check(inner):
                yield self._checked(inner, written(inner))
            case "call" if self._is_guard_call(inner):
                yield self._guard_call(inner)
            case _:
                yield from self._opaque(node)

    def _is_guard_call(self, call: Node) -> bool:
        function = call.child_by_field_name("function")
        return (
            function is not None
            and function.type == "identifier"
            and text_of(function) not in self.local
            and self.is_guard(text_of(function))
        )

    def _guard_call(self, call: Node) -> Statement:
        """A call of a guard, with `UNKNOWN` for the arguments that cannot be kept."""
        name = written(call.named_children[0])
        reads = {name}
        texts: list[str] = []
        arguments = call.child_by_field_name("arguments")
        for argument in arguments.named_children if arguments is not None else ():
            keyword = argument.child_by_field_name("name") if argument.type == "keyword_argument" else None
            value = argument.child_by_field_name("value") if keyword is not None else argument
            keeps = value is not None and self._keeps(value)
            if value is None or value.type == "comment":
                continue
            if keeps:
                reads |= self.reads(value)
            before = f"{written(keyword)}=" if keyword is not None else _stars(value)
            texts.append(before + (written(value).lstrip("*") if keeps else UNKNOWN))
        return Statement(f"{name}({', '.join(texts)})", frozenset(reads), guards=True)

    def _assignment(self, statement: Node, node: Node) -> Iterator[Item]:
        target, value = node.child_by_field_name("left"), node.child_by_field_name("right")
        if target is None or value is None or not _names_only(target) or not self._is_plain(value):
            yield from self._opaque(statement)
            return
        names = frozenset(self.effects.bound(statement))
        self.known |= names
        yield Assignment(f"{written(target)} = {written(value)}", names, self.reads(value), target.type != "identifier")

    def _opaque(self, node: Node) -> Iterator[Item]:
        """A statement that is left out: what it binds is gone, what it touches is not what it was."""
        raises = self.effects.raises(node)
        self.left_out += raises
        touched = self.effects.touched(node) & self.known
        self.known -= self.effects.bound(node)
        if touched:
            yield Touch(frozenset(touched))
        if self.effects.leaves(node):
            self.certain = False
            yield _perhaps(Statement(f"return {UNKNOWN}"))
        elif raises:
            yield _perhaps(Statement("raise Exception"))

    def _keeps(self, node: Node) -> bool:
        """Whether an expression means here what it means in its place."""
        text = node.text or b""
        # Its words tell at once that there is none of them in most expressions.
        doubtful = node.has_error or b":=" in text or b"await" in text or b"yield" in text
        if doubtful and any(child.type in _NEVER for child in _inside(node)):
            return False
        return all(name in self.known if name in self.local else self.knows(name) for name in self.reads(node))

    def reads(self, node: Node) -> frozenset[str]:
        """`read_names`, which is asked for again and again of the same node."""
        found = self.names.get(node.id)
        if found is None:
            found = self.names[node.id] = frozenset(read_names(node))
        return found

    def _is_plain(self, value: Node) -> bool:
        """Whether a local value is of the parts that conditions are made of: sizes, dtypes, texts, arithmetic."""
        if len(text_of(value)) > _LONGEST_VALUE or not self._keeps(value):
            return False
        for node in _inside(value):
            if node.type not in _PLAIN:
                return False
            if node.type == "call":
                function = node.child_by_field_name("function")
                root = root_name(function)
                builtin = function is not None and function.type == "identifier" and root in _BUILTINS
                if not builtin and root not in self.local and root not in _LIBRARIES:
                    return False
        return True


_NEVER: Final = frozenset({"named_expression", "await", "yield", "ERROR"})
_LONGEST_VALUE: Final = 300
LITERALS: Final = frozenset(
    {"integer", "float", "string", "concatenated_string", "true", "false", "none", "tuple", "list", "set"}
    | {"string_start", "string_content", "string_end", "escape_sequence"}
)
OPERATORS: Final = frozenset({"unary_operator", "binary_operator", "parenthesized_expression"})
CALLS: Final = frozenset({"identifier", "attribute", "subscript", "call", "argument_list"})
"""Types of nodes that plain values are made of."""

_PLAIN: Final = frozenset(
    {"boolean_operator", "comparison_operator", "not_operator", "conditional_expression", "slice", "keyword_argument"}
    | {"expression_list", "interpolation", "format_specifier", "type_conversion", "escape_interpolation"}
    | LITERALS
    | OPERATORS
    | CALLS
)
_BUILTINS: Final = frozenset(
    {"abs", "bool", "divmod", "float", "frozenset", "getattr", "hasattr", "int", "isinstance", "len", "list", "max"}
    | {"min", "range", "repr", "round", "set", "sorted", "str", "sum", "tuple", "type"}
)
_LIBRARIES: Final = frozenset({"torch", "math"})
"""Modules whose functions only make values."""


def _inside(node: Node) -> Iterator[Node]:
    pending = [node]
    while pending:
        at = pending.pop()
        yield at
        pending += at.named_children


def _perhaps(statement: Statement) -> Compound:
    return Compound((Branch(f"if {UNKNOWN}", frozenset(), (statement,)),))


def _stars(argument: Node) -> str:
    return {"list_splat": "*", "dictionary_splat": "**"}.get(argument.type, "")


def _is_check(call: Node) -> bool:
    function = call.child_by_field_name("function")
    return function is not None and function.type == "attribute" and text_of(function).startswith("torch._check")


def _names_only(target: Node) -> bool:
    return all(node.type in {"identifier", "pattern_list", "tuple_pattern", "list_pattern"} for node in _inside(target))


def _needed(items: Sequence[Item]) -> set[str]:
    """All names that what is kept reads, by way of local values too."""
    needed = {name for item in _flat(items) for name in _reads(item)}
    while True:
        more = {name for reads, binds in _flows(items) if binds & needed for name in reads}
        if more <= needed:
            return needed
        needed |= more


def _flat(items: Sequence[Item]) -> Iterator[Item]:
    for item in items:
        yield item
        if isinstance(item, Compound):
            for branch in item.branches:
                yield from _flat(branch.body)


def _reads(item: Item) -> frozenset[str]:
    match item:
        case Statement(reads=reads) | Assignment(reads=reads, unpacks=True):
            return reads
        case Compound(branches=branches) if _guards(item) or _ends(item):
            return frozenset(name for branch in branches for name in branch.reads)
        case _:
            return frozenset()


def _ends(item: Item) -> bool:
    return any(isinstance(inner, Statement) for inner in _flat([item]))


def _returns(items: Sequence[Item]) -> bool:
    return any(isinstance(item, Statement) and item.text.startswith("return") for item in _flat(items))


def _guards(item: Item) -> bool:
    return any(isinstance(inner, Statement) and inner.guards for inner in _flat([item]))


def _reach(items: Sequence[Item], names: set[str]) -> set[str]:
    """The names whose values may come from `names`."""
    reached = set(names)
    while True:
        more = {name for reads, binds in _flows(items) if reads & reached for name in binds}
        if more <= reached:
            return reached
        reached |= more


def _flows(items: Sequence[Item]) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """Yield which names are made of which."""
    for item in _flat(items):
        match item:
            case Assignment(reads=reads, binds=binds):
                yield reads, binds
            case Compound(branches=branches):
                yield from ((branch.reads, branch.binds) for branch in branches)
            case _:
                pass


def _decided_by(item: Item, names: set[str]) -> bool:
    """Whether a guard in it depends on `names` by tests that are all kept."""
    match item:
        case Statement(reads=reads, guards=guards, text=text):
            return guards and not text.startswith("raise") and bool(reads & names)
        case Compound(branches=branches):
            for branch in branches:
                if UNKNOWN in branch.head:
                    return False
                if branch.reads & names and any(_guards(inner) for inner in branch.body):
                    return True
                if any(_decided_by(inner, names) for inner in branch.body):
                    return True
            return any(branch.reads & names for branch in branches) and any(
                _guards(inner) for inner in branches[-1].body
            )
        case _:
            return False


def _lines(items: Sequence[Item], needed: set[str]) -> Iterator[str]:
    for item in items:
        match item:
            case Statement(text=text):
                yield text
            case Assignment(text=text, binds=binds, unpacks=unpacks):
                if unpacks or binds & needed:
                    yield text
            case Touch(names=names):
                if names & needed:
                    yield f"{UNKNOWN}({', '.join(sorted(names & needed))})"
            case Compound(branches=branches):
                blocks = [tuple(_lines(branch.body, needed)) for branch in branches]
                if any(blocks):
                    for branch, block in zip(branches, blocks, strict=True):
                        yield f"{branch.head}:"
                        yield from (f"    {line}" for line in block or ("pass",))
