"""The IR that foreseeing runs: plain tuples `(kind, start, end, …)`.

Tuples, because millions are made and each is visited once or twice: a class per node costs more than running it.
`kind` is one of the constants below; `start` and `end` are byte offsets relative to the unit (function, class or module)
that owns the node, so that an edit above a function leaves its IR valid. What follows them is listed beside each kind.
Blocks are tuples of statements; optional parts are None; names are interned strings.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

Expr: TypeAlias = tuple[Any, ...]
Stmt: TypeAlias = tuple[Any, ...]
Block: TypeAlias = tuple[Stmt, ...]

# Expressions.
NAME: Final = 1  # name
CONST: Final = 2  # value: None, bool, int, float, complex, str, bytes, Ellipsis
ATTRIBUTE: Final = 3  # object, name
CALL: Final = 4  # function, positional (STAR allowed), keywords ((name or None for **, expr), …)
SUBSCRIPT: Final = 5  # object, index
BINARY: Final = 6  # operator, left, right
UNARY: Final = 7  # operator ("-", "+", "~", "not"), operand
BOOLEAN: Final = 8  # "and" or "or", operands
COMPARE: Final = 9  # first, ((operator, right), …)
CONDITIONAL: Final = 10  # test, body, orelse
TUPLE: Final = 11  # items
LIST: Final = 12  # items
SET: Final = 13  # items
DICT: Final = 14  # ((key or None for **, value), …)
FSTRING: Final = 15  # parts: str, or (expr, conversion or "", format parts or None)
LAMBDA: Final = 16  # FunctionUnit
COMPREHENSION: Final = 17  # "list" | "set" | "dict" | "generator", element (or (key, value)), clauses
SLICE: Final = 18  # start, stop, step
STAR: Final = 19  # operand
WALRUS: Final = 20  # name, value
AWAIT: Final = 21  # operand
YIELD: Final = 22  # operand or None
OPAQUE: Final = 23  # (what is not understood: unknown)

# Statements.
EXPRESSION: Final = 40  # expr
ASSIGN: Final = 41  # targets, value
ANNOTATED: Final = 42  # target, annotation, value or None
AUGMENTED: Final = 43  # target, operator, value
RETURN: Final = 44  # expr or None
RAISE: Final = 45  # exception or None, cause or None
ASSERT: Final = 46  # test, message or None
IF: Final = 47  # test, body, orelse
WHILE: Final = 48  # test, body, orelse
FOR: Final = 49  # target, iterable, body, orelse
TRY: Final = 50  # body, handlers ((type or None, name or None, body), …), orelse, final
WITH: Final = 51  # ((context, target or None), …), body
FUNCTION: Final = 52  # FunctionUnit
CLASS: Final = 53  # ClassUnit
IMPORT: Final = 54  # ((dotted, alias or None), …)
FROM: Final = 55  # level, module, ((name, alias), …) or None for *
GLOBAL: Final = 56  # names
NONLOCAL: Final = 57  # names
DELETE: Final = 58  # targets
PASS: Final = 59
BREAK: Final = 60
CONTINUE: Final = 61
MATCH: Final = 62  # subject, cases ((pattern, guard or None, body), …)
UNREAD: Final = 63  # names that it may bind (an ERROR node, or newer syntax than ours)

# Patterns of MATCH.
P_VALUE: Final = 80  # expr, compared by ==
P_SINGLETON: Final = 81  # None, True or False, compared by is
P_CAPTURE: Final = 82  # name, or None for _
P_OR: Final = 83  # patterns
P_AS: Final = 84  # pattern, name
P_SEQUENCE: Final = 85  # patterns (P_STAR allowed)
P_STAR: Final = 86  # name or None
P_CLASS: Final = 87  # class expr, positional patterns, ((name, pattern), …)
P_OPAQUE: Final = 88  # names that it may bind
