"""What a tensor holds where it is made, and whether another dtype can hold it.

Only values that stand in the source count: zeros and ones, literals, and sizes, which no tensor in memory takes past
int32. Everything else is unknown, and a conversion that may lose some of it is not safe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from raiselens_server.source import ir
from raiselens_server.source.module import flatten
from raiselens_server.values import dtypes

if TYPE_CHECKING:
    from raiselens_server.repair.locate import Located
    from raiselens_server.source.ir import Block, Expr

_PLAIN: Final = frozenset({"zeros", "ones", "empty", "eye", "zeros_like", "ones_like", "empty_like", "new_zeros", "new_ones", "new_empty", "empty_strided"})  # fmt: skip
_FILLED: Final = {"full": 1, "full_like": 1, "new_full": 1}
_LITERAL: Final = frozenset({"tensor", "as_tensor", "new_tensor"})
_COUNTING: Final = frozenset({"arange", "randint", "randperm"})
_RANDOM: Final = frozenset({"rand", "randn", "rand_like", "randn_like"})
_CASTS: Final = frozenset({*dtypes.CAST_METHODS, "to", "type", "clone", "contiguous", "cuda", "cpu", "view", "reshape"})
_SIZES: Final = frozenset({"size", "numel", "dim", "nelement"})

_MANTISSA: Final = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
_LARGEST: Final = {"float16": 65504.0, "bfloat16": 3.38e38, "float32": 3.4e38, "float64": 1.7e308}
_DEEPEST = 8


def widens(old: str | None, new: str) -> bool:
    """Whether `new` holds every value that `old` does."""
    if old is None or old == new:
        return old == new
    if old == "bool":
        return new in dtypes.INTEGRAL | dtypes.FLOATING
    if old in dtypes.INTEGRAL:
        low, high = _range(old)
        return fits(low, new) and fits(high, new)
    if old in _MANTISSA and new in _MANTISSA:
        return _MANTISSA[old] <= _MANTISSA[new] and _LARGEST[old] <= _LARGEST[new]
    return old in dtypes.FLOAT8 and new in dtypes.FLOATING


def fits(value: object, name: str) -> bool:
    """Whether a number of Python's keeps its value in a dtype, up to rounding between floats."""
    if not isinstance(value, (bool, int, float)):
        return False
    if name == "bool":
        return value in {0, 1}
    if name in dtypes.INTEGRAL:
        low, high = _range(name)
        return (isinstance(value, int) or value.is_integer()) and low <= value <= high
    if name in _MANTISSA:
        return abs(value) <= (2 ** _MANTISSA[name] if isinstance(value, int) else _LARGEST[name])
    return False


def holds(located: Located, new: str) -> bool:
    """Whether all values that the expression gives are known, and `new` holds them."""
    scopes = [located.module.block] if located.unit is None else [located.unit.body.block, located.module.block]
    return _holds(located.expr, new, scopes)


def _holds(expr: Expr, new: str, scopes: list[Block]) -> bool:
    name = called(expr)
    if name is None:
        return False
    arguments = expr[4]
    if name in _PLAIN:
        return True
    if name in _FILLED:
        value = next((v for k, v in expr[5] if k in {"fill_value", "value"}), None)
        if value is None and len(arguments) > _FILLED[name]:
            value = arguments[_FILLED[name]]
        return value is not None and _all_fit(value, new, scopes)
    if name in _LITERAL:
        return bool(arguments) and _all_fit(arguments[0], new, scopes, sizes=True)
    if name in _COUNTING:
        ends = [*arguments, *(v for k, v in expr[5] if k in {"start", "end", "step", "low", "high", "n"})]
        ends = [end for end in ends if end[0] not in {ir.TUPLE, ir.LIST}]
        return bool(ends) and all(_all_fit(end, new, scopes, sizes=True) for end in ends)
    if name in _RANDOM:
        return new in dtypes.FLOATING
    if name in _CASTS and expr[3][0] == ir.ATTRIBUTE:
        return _holds(expr[3][3], new, scopes)
    return False


def overflows(located: Located, new: str) -> bool:
    """Whether a literal in the expression certainly does not fit, which torch refuses when it makes the tensor."""
    if called(located.expr) not in _LITERAL | _COUNTING | _FILLED.keys() or new not in dtypes.INTEGRAL:
        return False
    scopes = [located.module.block] if located.unit is None else [located.unit.body.block, located.module.block]
    stack = [*located.expr[4], *(value for _, value in located.expr[5])]
    while stack:
        expr = stack.pop()
        if expr[0] in {ir.LIST, ir.TUPLE}:
            stack += expr[3]
            continue
        value = constant(expr, scopes)
        if isinstance(value, int) and not isinstance(value, bool) and not fits(value, new):
            return True
    return False


def called(expr: Expr) -> str | None:
    """The last part of the name that an expression calls."""
    if expr[0] != ir.CALL:
        return None
    function = expr[3]
    return function[4] if function[0] == ir.ATTRIBUTE else function[3] if function[0] == ir.NAME else None


def _all_fit(expr: Expr, new: str, scopes: list[Block], *, sizes: bool = False) -> bool:
    if expr[0] in {ir.LIST, ir.TUPLE}:
        return all(_all_fit(item, new, scopes, sizes=sizes) for item in expr[3])
    if expr[0] == ir.COMPREHENSION and expr[3] == "list":
        return _all_fit(expr[4], new, scopes, sizes=sizes)
    if expr[0] == ir.BINARY and expr[3] == "*" and expr[4][0] == ir.LIST and new != "bool":
        return _all_fit(expr[4], new, scopes, sizes=sizes)
    value = constant(expr, scopes)
    if value is not None:
        return fits(value, new)
    return sizes and new in {"int32", "int64"} and _is_size(expr, scopes, _DEEPEST)


def constant(expr: Expr, scopes: list[Block], deep: int = _DEEPEST) -> int | float | None:
    """The number that an expression of literals, and of names bound once to such, gives."""
    if deep == 0:
        return None
    match expr[0]:
        case ir.CONST:
            return expr[3] if isinstance(expr[3], (int, float)) else None
        case ir.UNARY if expr[3] in {"-", "+"}:
            value = constant(expr[4], scopes, deep - 1)
            return None if value is None else -value if expr[3] == "-" else value
        case ir.BINARY:
            left, right = constant(expr[4], scopes, deep - 1), constant(expr[5], scopes, deep - 1)
            return None if left is None or right is None else _computed(expr[3], left, right)
        case ir.NAME:
            bound = bound_once(expr[3], scopes)
            return None if bound is None else constant(bound, scopes, deep - 1)
        case _:
            return None


def _computed(op: str, left: float, right: float) -> int | float | None:
    match op:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "//" if right:
            return left // right
        case "<<" if isinstance(left, int) and isinstance(right, int) and 0 <= right <= 64:
            return left << right
        case "**" if isinstance(left, int) and isinstance(right, int) and 0 <= right <= 64 and abs(left) <= 16:
            return int(left**right)
        case _:
            return None


def _is_size(expr: Expr, scopes: list[Block], deep: int) -> bool:
    """Whether an expression is the size of something that lies in memory."""
    match expr[0]:
        case ir.CALL:
            name = called(expr)
            if name == "int" and len(expr[4]) == 1:
                return _is_size(expr[4][0], scopes, deep - 1)
            return name in _SIZES or name == "len"
        case ir.SUBSCRIPT:
            return bool(expr[3][0] == ir.ATTRIBUTE and expr[3][4] == "shape")
        case ir.BINARY if expr[3] in {"+", "-", "//"}:
            return all(
                constant(side, scopes) is not None or (deep > 0 and _is_size(side, scopes, deep - 1))
                for side in (expr[4], expr[5])
            )
        case ir.NAME if deep > 0:
            bound = bound_once(expr[3], scopes)
            return bound is not None and _is_size(bound, scopes, deep - 1)
        case _:
            return False


def bound_once(name: str, scopes: list[Block]) -> Expr | None:
    """What a name is bound to, where the innermost scope that binds it does so in one plain assignment."""
    from raiselens_server.source.bindings import bound_by

    for block in scopes:
        binding = [s for s in flatten(block) if name in bound_by(s)]
        if len(binding) == 1 and binding[0][0] == ir.ASSIGN:
            statement = binding[0]
            plain = all(target[0] == ir.NAME for target in statement[3])
            return statement[4] if plain else None
        if binding:
            return None
    return None


def _range(name: str) -> tuple[int, int]:
    bits = dtypes.BITS[name]
    return (0, 2**bits - 1) if name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
