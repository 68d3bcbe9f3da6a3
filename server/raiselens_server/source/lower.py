"""Syntax nodes → IR statements and units. Total: a broken statement becomes UNREAD, the rest is kept."""

# ruff: noqa: SLF001 - the dispatch table below the class is a part of it

from __future__ import annotations

from sys import intern
from typing import TYPE_CHECKING, Any, Final

from raiselens_server.source import field, ir, units
from raiselens_server.source.bindings import bind_target
from raiselens_server.source.lower_expressions import EXTRAS, MAX_NESTING, ExpressionLowering
from raiselens_server.source.lower_patterns import lower_pattern
from raiselens_server.source.syntax import LANGUAGE, HeldTree, Text, parse
from raiselens_server.source.units import Body, ClassUnit, FunctionUnit, Parameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    from raiselens_server.source.ir import Block, Expr, Stmt

_NESTED_SCOPE = frozenset({ir.FUNCTION, ir.CLASS})


class Lowering(ExpressionLowering):
    """Lowers the statements of one unit, and gathers what they say of its names.

    `held` is given for modules and classes: their functions keep no hold of the syntax tree. A body that is asked for
    while the tree is held is lowered from it; else the function is parsed anew, by itself. `base` is the offset in `text`
    that positions are relative to, `origin` its address in the module: they differ where `text` is a part of the file.
    """

    __slots__ = ("globals", "held", "nested", "nonlocals", "origin", "scope", "whole")

    def __init__(
        self,
        text: Text,
        base: int,
        qualname: str,
        scope: str = "function",
        *,
        held: HeldTree | None = None,
        depth: int = 0,
        origin: int = 0,
    ) -> None:
        super().__init__(text, base, qualname, depth)
        self.whole = text
        self.scope = scope
        self.held = held
        self.origin = origin
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.nested: list[FunctionUnit] = []

    # Units

    def _child_qualname(self, name: str) -> str:
        match self.scope:
            case "module":
                return name
            case "class":
                return f"{self.qualname}.{name}"
            case _:
                return f"{self.qualname}.<locals>.{name}"

    def make_lambda(self, node: Node) -> FunctionUnit:
        """The unit of a lambda: its body is one RETURN."""
        qualname = self._child_qualname("<lambda>")
        parameters = self.parameters(node.child_by_field_id(field.PARAMETERS))
        base, origin, whole, depth = self.base, self.origin, self.whole, self.depth

        def lower() -> Body:
            inner = Lowering(whole, base, qualname, depth=depth, origin=origin)
            body = node.child_by_field_id(field.BODY)
            start, end = node.start_byte - base, node.end_byte - base
            block: Block = ((ir.RETURN, start, end, inner.optional(body)),)
            return inner.finish(block, parameters)

        unit = FunctionUnit(
            name="<lambda>",
            qualname=qualname,
            parameters=parameters,
            decorators=(),
            returns=None,
            is_async=False,
            base=origin,
            start=node.start_byte - base + origin,
            end=node.end_byte - base + origin,
            lower=lower,
        )
        self.nested.append(unit)
        if self.held is not None:
            # What waits to be lowered would keep the whole tree.
            _ = unit.code
        return unit

    def function(self, node: Node, decorators: tuple[Expr, ...] = ()) -> FunctionUnit:
        """The unit of a `def`. Its body is lowered when first asked for."""
        name_node = node.child_by_field_id(field.NAME)
        name = self.text(name_node) if name_node is not None else ""
        qualname = intern(self._child_qualname(name))
        parameters = self.parameters(node.child_by_field_id(field.PARAMETERS))
        body = node.child_by_field_id(field.BODY)
        base, origin, whole, depth = self.base, self.origin, self.whole, self.depth
        again: Callable[[], Body] | None = None

        if self.held is not None and body is not None:
            again = lower = _member(self.held, self.source, (node.start_byte, node.end_byte), qualname, parameters)
        else:

            def lower() -> Body:
                inner = Lowering(whole, base, qualname, depth=depth, origin=origin)
                return inner.finish(inner.block(body), parameters)

        unit = FunctionUnit(
            name=name,
            qualname=qualname,
            parameters=parameters,
            decorators=decorators,
            returns=self.optional(node.child_by_field_id(field.RETURN_TYPE)),
            is_async=bool(node.children) and node.children[0].type == "async",
            base=origin,
            start=node.start_byte - base + origin,
            end=node.end_byte - base + origin,
            lower=lower,
            again=again,
        )
        self.nested.append(unit)
        return unit

    def finish(self, block: Block, parameters: tuple[Parameter, ...]) -> Body:
        """The body of this unit, once its statements are lowered."""
        rebound: set[str] = set()
        for unit in self.nested:
            inner = unit.code
            rebound |= inner.nonlocals | inner.rebound
        return Body(
            block=block,
            assigned=frozenset(self.assigned | {p.name for p in parameters}) - self.globals - self.nonlocals,
            globals=frozenset(self.globals),
            nonlocals=frozenset(self.nonlocals),
            rebound=frozenset(rebound),
            generator=self.generator,
        )

    def class_unit(self, node: Node, decorators: tuple[Expr, ...] = ()) -> ClassUnit:
        """The unit of a `class`; methods in its block are lowered when first asked for."""
        name_node = node.child_by_field_id(field.NAME)
        name = self.text(name_node) if name_node is not None else ""
        qualname = intern(self._child_qualname(name))
        inner = Lowering(
            self.whole, self.base, qualname, scope="class", held=self.held, depth=self.depth, origin=self.origin
        )
        superclasses = node.child_by_field_id(field.SUPERCLASSES)
        bases, keywords = self.arguments(superclasses) if superclasses is not None else ((), ())
        block = inner.block(node.child_by_field_id(field.BODY))
        self.nested.extend(inner.nested)
        return ClassUnit(
            name=name,
            qualname=qualname,
            bases=bases,
            keywords=keywords,
            decorators=decorators,
            block=block,
            base=self.origin,
            start=node.start_byte - self.base + self.origin,
            end=node.end_byte - self.base + self.origin,
        )

    def parameters(self, node: Node | None) -> tuple[Parameter, ...]:
        """Lower a parameter list."""
        found: list[Parameter] = []
        if node is None:
            return ()
        kind = units.POSITIONAL_OR_KEYWORD
        for child in node.named_children:
            start, end = child.start_byte - self.base, child.end_byte - self.base
            annotation = self.optional(child.child_by_field_id(field.TYPE))
            match child.type:
                case "positional_separator":
                    found = [
                        Parameter(p.name, units.POSITIONAL_ONLY, p.default, p.annotation, p.start, p.end) for p in found
                    ]
                    continue
                case "keyword_separator":
                    kind = units.KEYWORD_ONLY
                    continue
                case "identifier":
                    found.append(Parameter(self.text(child), kind, None, None, start, end))
                case "default_parameter" | "typed_default_parameter":
                    name, value = child.child_by_field_id(field.NAME), child.child_by_field_id(field.VALUE)
                    if name is not None:
                        found.append(Parameter(self.text(name), kind, self.optional(value), annotation, start, end))
                case "list_splat_pattern" | "dictionary_splat_pattern" | "typed_parameter":
                    inner = child.named_children[0] if child.type == "typed_parameter" else child
                    of = kind
                    if inner.type == "list_splat_pattern":
                        of, kind = units.VAR_POSITIONAL, units.KEYWORD_ONLY
                    elif inner.type == "dictionary_splat_pattern":
                        of = units.VAR_KEYWORD
                    name = inner if inner.type == "identifier" else inner.named_children[0]
                    found.append(Parameter(self.text(name), of, None, annotation, start, end))
                case _:
                    continue
        return tuple(found)

    # Statements

    def block(self, node: Node | None) -> Block:
        """Lower the statements of a block (or of the module)."""
        if node is None:
            return ()
        if self.depth >= MAX_NESTING:
            return ((ir.UNREAD, node.start_byte - self.base, node.end_byte - self.base, self.names_in(node)),)
        statements: list[Stmt] = []
        self.depth += 1
        for child in node.named_children:
            self._statement(child, statements)
        self.depth -= 1
        return tuple(statements)

    def _statement(self, node: Node, into: list[Stmt]) -> None:
        kind = node.type
        if kind == "expression_statement":
            for child in node.named_children:
                self._expression_statement(child, into)
            return
        handler = _BY_KIND.get(node.kind_id)
        if handler is not None:
            into.append(handler(self, node, node.start_byte - self.base, node.end_byte - self.base))
        elif kind == "ERROR":
            # The grammar gives up on a part only: whole statements inside are still worth running for their names.
            into.append((ir.UNREAD, node.start_byte - self.base, node.end_byte - self.base, self.names_in(node)))
        elif kind not in EXTRAS:
            into.append((ir.UNREAD, node.start_byte - self.base, node.end_byte - self.base, self.names_in(node)))

    def names_in(self, node: Node) -> tuple[str, ...]:
        """Every name in a node that is not understood; each may be bound by it."""
        names: set[str] = set()
        stack = [node]
        while stack:
            current = stack.pop()
            if current.type == "identifier":
                names.add(self.text(current))
            stack.extend(current.named_children)
        self.assigned |= names
        return tuple(sorted(names))

    def _expression_statement(self, node: Node, into: list[Stmt]) -> None:
        start, end = node.start_byte - self.base, node.end_byte - self.base
        match node.type:
            case "assignment":
                into.append(self._assignment(node, start, end))
            case "augmented_assignment":
                left, right = node.child_by_field_id(field.LEFT), node.child_by_field_id(field.RIGHT)
                operator = node.child_by_field_id(field.OPERATOR)
                if left is None or right is None or operator is None:
                    into.append((ir.UNREAD, start, end, self.names_in(node)))
                    return
                target = self.target(left)
                self.bind(target)
                into.append((ir.AUGMENTED, start, end, target, operator.type[:-1], self._value(right)))
            case "comment" | "line_continuation":
                return
            case _:
                into.append((ir.EXPRESSION, start, end, self._value(node)))

    def _value(self, node: Node) -> Expr:
        return self.expression(node)

    def _assignment(self, node: Node, start: int, end: int) -> Stmt:
        left, right = node.child_by_field_id(field.LEFT), node.child_by_field_id(field.RIGHT)
        annotation = node.child_by_field_id(field.TYPE)
        if left is None:
            return (ir.UNREAD, start, end, self.names_in(node))
        if annotation is not None:
            target = self.target(left)
            if right is not None:
                self.bind(target)
            elif target[0] == ir.NAME and self.scope != "module":
                self.assigned.add(target[3])
            return (ir.ANNOTATED, start, end, target, self.expression(annotation), self.optional(right))
        targets = [self.target(left)]
        while right is not None and right.type == "assignment":
            inner = right.child_by_field_id(field.LEFT)
            if inner is not None:
                targets.append(self.target(inner))
            right = right.child_by_field_id(field.RIGHT)
        for target in targets:
            self.bind(target)
        if right is None:
            return (ir.UNREAD, start, end, self.names_in(node))
        return (ir.ASSIGN, start, end, tuple(targets), self._value(right))

    def bind(self, target: Expr) -> None:
        """Note the names that an assignment target binds."""
        bind_target(target, self.assigned)

    def _return(self, node: Node, start: int, end: int) -> Stmt:
        return (ir.RETURN, start, end, self._first(node))

    def _first(self, node: Node) -> Expr | None:
        for child in node.named_children:
            if child.type not in EXTRAS:
                return self.expression(child)
        return None

    def _raise(self, node: Node, start: int, end: int) -> Stmt:
        cause = node.child_by_field_id(field.CAUSE)
        exception = next((c for c in node.named_children if c.type not in EXTRAS and c != cause), None)
        return (ir.RAISE, start, end, self.optional(exception), self.optional(cause))

    def _assert(self, node: Node, start: int, end: int) -> Stmt:
        parts = self.items(node)
        if not parts:
            return (ir.PASS, start, end)
        return (ir.ASSERT, start, end, parts[0], parts[1] if len(parts) > 1 else None)

    def _if(self, node: Node, start: int, end: int) -> Stmt:
        condition = node.child_by_field_id(field.CONDITION)
        test = self.expression(condition) if condition is not None else (ir.OPAQUE, start, end)
        body = self.block(node.child_by_field_id(field.CONSEQUENCE))
        orelse: Block = ()
        alternatives = node.children_by_field_id(field.ALTERNATIVE)
        for alternative in alternatives[MAX_NESTING:]:
            names = self.names_in(alternative)
            orelse += ((ir.UNREAD, alternative.start_byte - self.base, alternative.end_byte - self.base, names),)
        for alternative in reversed(alternatives[:MAX_NESTING]):
            if alternative.type == "elif_clause":
                orelse = (self._if_clause(alternative, orelse),)
            else:
                orelse = self.block(alternative.child_by_field_id(field.BODY))
        return (ir.IF, start, end, test, body, orelse)

    def _if_clause(self, node: Node, orelse: Block) -> Stmt:
        start, end = node.start_byte - self.base, node.end_byte - self.base
        condition = node.child_by_field_id(field.CONDITION)
        test = self.expression(condition) if condition is not None else (ir.OPAQUE, start, end)
        return (ir.IF, start, end, test, self.block(node.child_by_field_id(field.CONSEQUENCE)), orelse)

    def _else_of(self, node: Node) -> Block:
        alternative = node.child_by_field_id(field.ALTERNATIVE)
        return self.block(alternative.child_by_field_id(field.BODY)) if alternative is not None else ()

    def _while(self, node: Node, start: int, end: int) -> Stmt:
        condition = node.child_by_field_id(field.CONDITION)
        test = self.expression(condition) if condition is not None else (ir.OPAQUE, start, end)
        return (ir.WHILE, start, end, test, self.block(node.child_by_field_id(field.BODY)), self._else_of(node))

    def _for(self, node: Node, start: int, end: int) -> Stmt:
        left, right = node.child_by_field_id(field.LEFT), node.child_by_field_id(field.RIGHT)
        if left is None or right is None:
            return (ir.UNREAD, start, end, self.names_in(node))
        target = self.target(left)
        self.bind(target)
        iterable = self.expression(right)
        body = self.block(node.child_by_field_id(field.BODY))
        return (ir.FOR, start, end, target, iterable, body, self._else_of(node))

    def _try(self, node: Node, start: int, end: int) -> Stmt:
        body = self.block(node.child_by_field_id(field.BODY))
        handlers: list[tuple[Expr | None, str | None, Block]] = []
        orelse: Block = ()
        final: Block = ()
        for child in node.named_children:
            match child.type:
                case "except_clause" | "except_group_clause":
                    handlers.append(self._handler(child))
                case "else_clause":
                    orelse = self.block(child.child_by_field_id(field.BODY))
                case "finally_clause":
                    final = self.block(child.named_children[-1] if child.named_children else None)
                case _:
                    continue
        return (ir.TRY, start, end, body, tuple(handlers), orelse, final)

    def _handler(self, node: Node) -> tuple[Expr | None, str | None, Block]:
        kind: Expr | None = None
        name: str | None = None
        body: Block = ()
        exceptions: list[Expr] = []
        for child in node.named_children:
            if child.type == "block":
                body = self.block(child)
            elif child.type == "as_pattern":
                kind = self.expression(child.named_children[0])
                alias = child.child_by_field_id(field.ALIAS)
                if alias is not None:
                    name = self.text(alias)
                    self.assigned.add(name)
            elif child.type not in EXTRAS:
                exceptions.append(self.expression(child))
        if kind is None and exceptions:
            kind = (
                exceptions[0]
                if len(exceptions) == 1
                else (ir.TUPLE, exceptions[0][1], exceptions[-1][2], (*exceptions,))
            )
            if len(exceptions) > 1 and any(child.type == "as" for child in node.children):
                # `except A as e` in the grammar's older shape: type, then name.
                kind, last = exceptions[0], exceptions[-1]
                if last[0] == ir.NAME:
                    name = last[3]
                    self.assigned.add(last[3])
        return kind, name, body

    def _with(self, node: Node, start: int, end: int) -> Stmt:
        items: list[tuple[Expr, Expr | None]] = []
        clause = next((child for child in node.named_children if child.type == "with_clause"), None)
        for item in clause.named_children if clause is not None else ():
            value = item.child_by_field_id(field.VALUE)
            if value is None:
                continue
            if value.type == "as_pattern":
                alias = value.child_by_field_id(field.ALIAS)
                target = self.target(alias.named_children[0]) if alias is not None and alias.named_children else None
                if target is not None:
                    self.bind(target)
                items.append((self.expression(value.named_children[0]), target))
            else:
                items.append((self.expression(value), None))
        return (ir.WITH, start, end, tuple(items), self.block(node.child_by_field_id(field.BODY)))

    def _function(self, node: Node, start: int, end: int) -> Stmt:
        unit = self.function(node)
        self.assigned.add(unit.name)
        return (ir.FUNCTION, start, end, unit)

    def _class(self, node: Node, start: int, end: int) -> Stmt:
        unit = self.class_unit(node)
        self.assigned.add(unit.name)
        return (ir.CLASS, start, end, unit)

    def _decorated(self, node: Node, start: int, end: int) -> Stmt:
        decorators = tuple(
            self.expression(child.named_children[0])
            for child in node.named_children
            if child.type == "decorator" and child.named_children
        )
        definition = node.child_by_field_id(field.DEFINITION)
        if definition is None:
            return (ir.UNREAD, start, end, self.names_in(node))
        if definition.type == "class_definition":
            cls = self.class_unit(definition, decorators)
            self.assigned.add(cls.name)
            return (ir.CLASS, start, end, cls)
        unit = self.function(definition, decorators)
        self.assigned.add(unit.name)
        return (ir.FUNCTION, start, end, unit)

    def _import(self, node: Node, start: int, end: int) -> Stmt:
        names: list[tuple[str, str | None]] = []
        for child in node.named_children:
            if child.type == "aliased_import":
                name, alias = child.child_by_field_id(field.NAME), child.child_by_field_id(field.ALIAS)
                if name is not None and alias is not None:
                    names.append((self.text(name), self.text(alias)))
                    self.assigned.add(self.text(alias))
            elif child.type == "dotted_name":
                dotted = self.text(child)
                names.append((dotted, None))
                self.assigned.add(intern(dotted.split(".", 1)[0]))
        return (ir.IMPORT, start, end, tuple(names))

    def _from(self, node: Node, start: int, end: int) -> Stmt:
        source = node.child_by_field_id(field.MODULE_NAME)
        level, module = 0, ""
        if source is not None:
            text = self.text(source).replace(" ", "")
            module = intern(text.lstrip("."))
            level = len(text) - len(module)
        elif node.type == "future_import_statement":
            module = "__future__"
        if any(child.type == "wildcard_import" for child in node.named_children):
            return (ir.FROM, start, end, level, module, None)
        names: list[tuple[str, str]] = []
        for child in node.children_by_field_id(field.NAME):
            if child.type == "aliased_import":
                name, alias = child.child_by_field_id(field.NAME), child.child_by_field_id(field.ALIAS)
                if name is not None and alias is not None:
                    names.append((self.text(name), self.text(alias)))
            else:
                names.append((self.text(child), self.text(child)))
        self.assigned.update(alias for _, alias in names)
        return (ir.FROM, start, end, level, module, tuple(names))

    def _declared(self, node: Node) -> tuple[str, ...]:
        return tuple(self.text(child) for child in node.named_children if child.type == "identifier")

    def _global(self, node: Node, start: int, end: int) -> Stmt:
        names = self._declared(node)
        self.globals.update(names)
        return (ir.GLOBAL, start, end, names)

    def _nonlocal(self, node: Node, start: int, end: int) -> Stmt:
        names = self._declared(node)
        self.nonlocals.update(names)
        return (ir.NONLOCAL, start, end, names)

    def _delete(self, node: Node, start: int, end: int) -> Stmt:
        targets: list[Expr] = []
        for child in node.named_children:
            lowered = self.target(child)
            targets.extend(lowered[3] if lowered[0] == ir.TUPLE else (lowered,))
        for target in targets:
            self.bind(target)
        return (ir.DELETE, start, end, tuple(targets))

    def _match(self, node: Node, start: int, end: int) -> Stmt:
        subjects = [self.expression(child) for child in node.children_by_field_id(field.SUBJECT)]
        if not subjects:
            return (ir.UNREAD, start, end, self.names_in(node))
        subject = subjects[0] if len(subjects) == 1 else (ir.TUPLE, subjects[0][1], subjects[-1][2], tuple(subjects))
        cases: list[tuple[Any, ...]] = []
        body = node.child_by_field_id(field.BODY)
        for clause in body.named_children if body is not None else ():
            if clause.type != "case_clause":
                continue
            patterns = [child for child in clause.named_children if child.type == "case_pattern"]
            lowered = [lower_pattern(self, pattern) for pattern in patterns]
            if not lowered:
                continue
            pattern = (
                lowered[0] if len(lowered) == 1 else (ir.P_SEQUENCE, lowered[0][1], lowered[-1][2], tuple(lowered))
            )
            guard_node = clause.child_by_field_id(field.GUARD)
            guard = self._first(guard_node) if guard_node is not None else None
            cases.append((pattern, guard, self.block(clause.child_by_field_id(field.CONSEQUENCE))))
        return (ir.MATCH, start, end, subject, tuple(cases))


CLASS_HEAD: Final = b"class _:\n"


def _member(
    held: HeldTree,
    source: bytes,
    extent: tuple[int, int],
    qualname: str,
    parameters: tuple[Parameter, ...],
) -> Callable[[], Body]:
    """Lowers a function of a module or class: from the held tree, else from its own lines.

    Lines by themselves are parsed as a member of a class: so their indentation stands.
    """
    start, end = extent

    def lower() -> Body:
        member = held.function(start, end)
        if member is not None and held.text is not None:
            inner = Lowering(held.text, 0, qualname)
            return inner.finish(inner.block(member.child_by_field_id(field.BODY)), parameters)
        line = source.rfind(b"\n", 0, start) + 1
        indented = line < start
        text = (CLASS_HEAD if indented else b"") + source[line:end]
        shift = len(CLASS_HEAD) - line if indented else -line
        inner = Lowering(Text.of(text), shift, qualname)
        node = function_node(parse(text).root_node)
        return inner.finish(inner.block(None if node is None else node.child_by_field_id(field.BODY)), parameters)

    return lower


def function_node(node: Node) -> Node | None:
    """The first function in a tree."""
    stack = [node]
    while stack:
        current = stack.pop()
        if current.type == "function_definition":
            return current
        stack.extend(reversed(current.named_children))
    return None


def _simple(kind: int) -> Callable[[Lowering, Node, int, int], Stmt]:
    return lambda _self, _node, start, end: (kind, start, end)


_STATEMENTS: dict[str, Callable[[Lowering, Node, int, int], Stmt]] = {
    "return_statement": Lowering._return,
    "raise_statement": Lowering._raise,
    "assert_statement": Lowering._assert,
    "if_statement": Lowering._if,
    "while_statement": Lowering._while,
    "for_statement": Lowering._for,
    "try_statement": Lowering._try,
    "with_statement": Lowering._with,
    "function_definition": Lowering._function,
    "class_definition": Lowering._class,
    "decorated_definition": Lowering._decorated,
    "import_statement": Lowering._import,
    "import_from_statement": Lowering._from,
    "future_import_statement": Lowering._from,
    "global_statement": Lowering._global,
    "nonlocal_statement": Lowering._nonlocal,
    "delete_statement": Lowering._delete,
    "match_statement": Lowering._match,
    "pass_statement": _simple(ir.PASS),
    "break_statement": _simple(ir.BREAK),
    "continue_statement": _simple(ir.CONTINUE),
}


_BY_KIND: Final = {LANGUAGE.id_for_node_kind(kind, True): handler for kind, handler in _STATEMENTS.items()}
