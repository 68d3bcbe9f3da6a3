"""Element-by-element operations: arithmetic, comparison, bits, activations."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from raiselens_server.values.dtypes import ANY_FLOATING, COMPLEX, INTEGRAL
from raiselens_server.values.lattice import Const, HolePart, Tensor, Value
from raiselens_server.values.ops import reading
from raiselens_server.values.ops.building import derive, error, ok
from raiselens_server.values.ops.elementwise import Operand, elementwise, is_meta, operand, promoted
from raiselens_server.values.ops.inplace import into
from raiselens_server.values.ops.outcome import NO_RULE, Outcome, Raise, Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raiselens_server.values.ops.table import Bound, Row

_BOOL: Final = frozenset({"bool"})

DISCRETE: Final = INTEGRAL | _BOOL

_INEXACT: Final = ANY_FLOATING | COMPLEX

_REAL_OF: Final = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}

SUBTRACT_TWO: Final = (
    "Subtraction, the `-` operator, with two bool tensors is not supported."
    " Use the `^` or `logical_xor()` operator instead."
)

SUBTRACT_ONE: Final = (
    "Subtraction, the `-` operator, with a bool tensor is not supported."
    " If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
)

NEGATE: Final = (
    "Negation, the `-` operator, on a bool tensor is not supported."
    " If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
)


def floated(names: frozenset[str], default: frozenset[str]) -> frozenset[str]:
    """The dtypes of a floating result: those of the input, the default for integers and bools."""
    return (names & _INEXACT) | (default if names & DISCRETE else frozenset()) | (names - _INEXACT - DISCRETE)


def _result_dtypes(kind: str, names: frozenset[str], default: frozenset[str]) -> frozenset[str]:
    match kind:
        case "float":
            return floated(names, default)
        case "bool":
            return _BOOL
        case "real":
            return frozenset(_REAL_OF.get(name, name) for name in names)
        case "long-bool":
            return frozenset("int64" if name == "bool" else name for name in names)
        case _:
            return names


def finish(b: Bound, outcome: Result | Raise) -> Outcome:
    """Store the outcome in the first argument where the operation is the in-place one."""
    target = b.tensor()
    return into(target, outcome) if b.inplace and target is not None else outcome


def _unary(b: Bound) -> Outcome:
    kind, refused, kernel = b.data
    source = b.tensor()
    if source is None:
        return NO_RULE
    broken = _refused(source.dtypes, refused, kernel, source)
    if broken is not None:
        return broken
    if reading.flag(b.get("inplace"), default=False) is not False:
        return ok(derive(source, strides=None), may_raise=True)
    one = Operand(source.dtypes, frozenset({0}), source)
    return finish(b, elementwise([one], _result_dtypes(kind, source.dtypes, b.ambient.default_dtypes)))


def _refused(names: frozenset[str], refused: str, kernel: str, source: Tensor) -> Raise | None:
    """The raise of a kernel without a case for any dtype of `names`; meta tensors run no kernel."""
    kinds = {"": frozenset(), "bool": _BOOL, "discrete": DISCRETE, "inexact": _INEXACT}[refused]
    if not names or names - kinds:
        return None
    if kernel == "neg":
        return error("RuntimeError", "input", "dtype is not bool", NEGATE)
    if kernel == "relu":
        return (
            None
            if is_meta(source)
            else error("RuntimeError", "input", "dtype is not bool", "Boolean inputs not supported for relu")
        )
    return None if is_meta(source) else no_kernel(kernel, names, source)


def no_kernel(kernel: str | HolePart, names: frozenset[str], source: Tensor) -> Raise:
    """`"gcd_cpu" not implemented for 'Float'`; `kernel` ends in `_cpu` where the name differs by device."""
    on_cpu = source.device is not None and source.device.type == "cpu"
    shown = kernel if on_cpu else HolePart("kernel")
    parts = ('"', shown, "\" not implemented for '", names, "'")
    return error("NotImplementedError", "input", "dtype has a kernel", *parts)


def _conjugate(b: Bound) -> Outcome:
    source = b.tensor()
    return NO_RULE if source is None else ok(derive(source, strides=None))


def operands_of(b: Bound, names: Sequence[str]) -> list[Operand] | None:
    """The named arguments as operands; None where one is neither a tensor nor a number."""
    found = []
    for name in names:
        value = b.get(name)
        one = operand(value, b.ambient.default_dtypes) if value is not None else None
        if one is None:
            return None
        found.append(one)
    return found


def _binary(b: Bound) -> Outcome:
    operands = operands_of(b, ("input", "other"))
    if operands is None:
        return NO_RULE
    outcome = arithmetic(b.data, operands, b.ambient.default_dtypes, b.get("other"), inplace=b.inplace)
    return replace(outcome, earlier=True) if "alpha" in b.named and isinstance(outcome, Raise) else outcome


def arithmetic(
    data: tuple[str, str, str],
    operands: Sequence[Operand],
    default: frozenset[str],
    other: Value | None,
    *,
    inplace: bool,
) -> Outcome:
    """A binary operation; `data`: the kind of its result, the dtypes its kernel refuses, the kernel."""
    kind, refused, kernel = data
    names = promoted(operands)
    if not names:
        return ok(Tensor(), may_raise=True)
    if kernel == "sub" and any("bool" in one.dtypes for one in operands) and _mixed(operands):
        return ok(Tensor(), may_raise=True)
    on_meta = inplace and operands[0].tensor is not None and is_meta(operands[0].tensor)
    broken = _subtract_error(operands) if kernel == "sub" and not on_meta else None
    if broken is not None:
        return broken
    outcome = elementwise(
        operands, _result_dtypes(kind, names, default), exact_devices=not inplace and not kernel.startswith("div_")
    )
    integral = kernel == "pow" and not names - INTEGRAL and any(one.tensor is not None for one in operands)
    if integral and _negative(other) and not any(one.tensor is not None and is_meta(one.tensor) for one in operands):
        text = "Integers to negative integer powers are not allowed."
        return error("RuntimeError", "exponent", "exponent >= 0", text)
    if inplace and operands[0].tensor is not None:
        outcome = into(operands[0].tensor, outcome)
    if isinstance(outcome, Raise):
        return _unless_mixed(outcome, operands) if inplace else outcome
    if (
        inplace
        and kind == "bool"
        and any(one.unknown or (one.tensor is not None and one.tensor.requires_grad is not False) for one in operands)
    ):
        outcome = (
            replace(outcome, value=replace(outcome.value, requires_grad=None))
            if isinstance(outcome.value, Tensor)
            else outcome
        )
    loose = kernel and (_mixed(operands) or (kernel == "pow" and operands[0].tensor is None))
    if loose and not inplace and isinstance(outcome.value, Tensor):
        outcome = replace(outcome, value=replace(outcome.value, strides=None, contiguous=None))
    source = next((one.tensor for one in operands if one.tensor is not None), None)
    if any(one.unknown or (one.tensor is not None and is_meta(one.tensor)) for one in operands):
        return outcome if kernel != "pow" else ok(Tensor(), may_raise=True)
    if source is not None:
        trivial = kernel == "pow" and operands[1].priorities != frozenset({0})
        broken = _refused(names, refused, kernel, source) if not trivial else None
        if broken is not None:
            return broken
    return outcome


def _unless_mixed(found: Raise, operands: Sequence[Operand]) -> Outcome:
    """In place, cpu and meta tensors mix in some operations, and in others raise first."""
    return NO_RULE if _mixed(operands) else found


def _mixed(operands: Sequence[Operand]) -> bool:
    return len({is_meta(one.tensor) for one in operands if one.tensor is not None}) > 1


def _negative(value: Value | None) -> bool:
    return isinstance(value, Const) and isinstance(value.value, int) and value.value < 0


def _subtract_error(operands: Sequence[Operand]) -> Raise | None:
    meta = {is_meta(one.tensor) for one in operands if one.tensor is not None}
    if len(meta) > 1:
        return None
    bools = [one.dtypes == _BOOL for one in operands]
    if all(bools):
        return error("RuntimeError", "other", "not both bool", HolePart("message") if meta == {True} else SUBTRACT_TWO)
    tensors = [one.tensor for one in operands if one.tensor is not None]
    if any(is_meta(tensor) for tensor in tensors) or not any(bools):
        return None
    first, second = operands
    certain = not (first if bools[1] else second).dtypes & _BOOL
    return error("RuntimeError", "other", "neither is bool", SUBTRACT_ONE if certain else HolePart("message"))


def _power(b: Bound) -> Outcome:
    operands = operands_of(b, ("input", "exponent"))
    if operands is None:
        return NO_RULE
    return arithmetic(b.data, operands, b.ambient.default_dtypes, b.get("exponent"), inplace=b.inplace)


def _divide(b: Bound) -> Outcome:
    mode = b.get("rounding_mode")
    operands = operands_of(b, ("input", "other"))
    if operands is None:
        return NO_RULE
    if reading.absent(mode):
        data = ("float", "", "div")
    elif mode in (Const("floor"), Const("trunc")):
        data = ("same", "bool", "div_floor_cpu" if mode == Const("floor") else "div_trunc_cpu")
    elif isinstance(mode, Const) and isinstance(mode.value, str):
        text = f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode.value}'"
        return error("RuntimeError", "rounding_mode", "rounding_mode in (None, 'trunc', 'floor')", text)
    else:
        names = promoted(operands)
        return finish(b, elementwise(operands, names | floated(names, b.ambient.default_dtypes), exact_devices=False))
    return arithmetic(data, operands, b.ambient.default_dtypes, b.get("other"), inplace=b.inplace)


_FLOATING_UNARY: Final = (
    "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan arcsin arccos arctan sinh cosh tanh"
    " asinh acosh atanh sigmoid erf erfc reciprocal digamma lgamma"
)


ROWS: Final[tuple[Row, ...]] = (
    (
        "tmi",
        _FLOATING_UNARY,
        ":Tinput",
        _unary,
        ("float", "", ""),
    ),
    ("tmi", "logit", ":Tinput eps?", _unary, ("float", "", "")),
    ("s", "erf erfc erfinv expit exp2 expm1 log1p", ":Tinput", _unary, ("float", "", "")),
    ("f", "sigmoid tanh softsign", ":Tinput", _unary, ("float", "", "")),
    ("f", "logsigmoid", ":Tinput", _conjugate),
    ("tmi", "neg negative", ":Tinput", _unary, ("same", "bool", "neg")),
    ("tmi", "abs absolute", ":Tinput", _unary, ("real", "bool", "abs_cpu")),
    ("tmi", "ceil floor trunc fix sign sgn", ":Tinput", _unary, ("same", "", "")),
    ("tmi", "round", ":Tinput * decimals?", _unary, ("same", "", "")),
    ("tmi", "square", ":Tinput", _unary, ("long-bool", "", "")),
    ("tmi", "frac", ":Tinput", _unary, ("same", "", "")),
    ("tmi", "nan_to_num", ":Tinput nan? posinf? neginf?", _unary, ("same", "", "")),
    ("tmi", "relu", ":Tinput", _unary, ("same", "bool", "relu")),
    ("f", "relu", ":Tinput inplace?", _unary, ("same", "bool", "relu")),
    ("f", "hardtanh", ":Tinput min_val? max_val? inplace?", _unary, ("same", "", "")),
    ("f", "relu6", ":Tinput inplace?", _unary, ("same", "", "")),
    ("f", "gelu", ":Tinput * approximate?", _unary, ("same", "discrete", "GeluKernelImpl")),
    ("f", "silu", ":Tinput inplace?", _unary, ("same", "discrete", "silu_cpu")),
    ("f", "mish selu hardswish hardsigmoid", ":Tinput inplace?", _unary, ("same", "", "")),
    ("f", "softplus", ":Tinput beta? threshold?", _unary, ("same", "discrete", "softplus_cpu")),
    ("f", "leaky_relu", ":Tinput negative_slope? inplace?", _unary, ("same", "discrete", "leaky_relu_cpu")),
    ("f", "elu celu", ":Tinput alpha? inplace?", _unary, ("same", "", "")),
    ("tm", "isnan isfinite signbit isinf isposinf isneginf isreal", ":Tinput", _unary, ("bool", "", "")),
    ("tmi", "logical_not", ":Tinput", _unary, ("bool", "", "")),
    ("tmi", "bitwise_not", ":Tinput", _unary, ("same", "inexact", "bitwise_not_cpu")),
    ("tm", "conj conj_physical resolve_conj", ":Tinput", _conjugate),
    ("tmi", "add", "input other * alpha?", _binary, ("same", "", "")),
    ("tmi", "sub subtract", "input other * alpha?", _binary, ("same", "", "sub")),
    ("tmi", "mul multiply", "input other", _binary, ("same", "", "")),
    ("tmi", "div divide", "input other * rounding_mode?", _divide),
    ("tmi", "true_divide", "input other", _binary, ("float", "", "")),
    ("tmi", "floor_divide", "input other", _binary, ("same", "bool", "div_floor_cpu")),
    ("tmi", "remainder", "input other", _binary, ("same", "bool", "remainder_cpu")),
    ("tmi", "fmod", "input other", _binary, ("same", "bool", "fmod_cpu")),
    ("tmi", "pow", "input exponent", _power, ("same", "bool", "pow")),
    ("tm", "maximum minimum fmax fmin", ":Tinput :Tother", _binary, ("same", "", "")),
    ("tmi", "atan2 arctan2", ":Tinput :Tother", _binary, ("float", "", "")),
    ("tmi", "hypot", ":Tinput :Tother", _binary, ("same", "discrete", "hypot_cpu")),
    ("tmi", "copysign", "input other", _binary, ("float", "", "div_copysign")),
    ("tm", "logaddexp", ":Tinput :Tother", _binary, ("same", "", "")),
    (
        "tmi",
        "eq ne lt le gt ge not_equal less less_equal greater greater_equal",
        ":Tinput other",
        _binary,
        ("bool", "", ""),
    ),
    ("tmi", "logical_and logical_or logical_xor", ":Tinput :Tother", _binary, ("bool", "", "")),
    ("tmi", "bitwise_and", "input other", _binary, ("same", "inexact", "bitwise_and_cpu")),
    ("tmi", "bitwise_or", "input other", _binary, ("same", "inexact", "bitwise_or_cpu")),
    ("tmi", "bitwise_xor", "input other", _binary, ("same", "inexact", "bitwise_xor_cpu")),
    ("tmi", "bitwise_left_shift", "input other", _binary, ("same", "inexact", "lshift_cpu")),
    ("tmi", "bitwise_right_shift", "input other", _binary, ("same", "inexact", "rshift_cpu")),
    ("tmi", "gcd lcm", ":Tinput :Tother", _binary, ("same", "", "")),
)
