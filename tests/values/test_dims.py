"""Linear forms agree with the integers they stand for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from raiselens_server.values import dims
from raiselens_server.values.dims import Dim, Linear, Symbol

SYMBOLS = (Symbol("n", 1, 0), Symbol("m", 2, 1), Symbol("k", 3))
VALUES = st.fixed_dictionaries(
    {
        SYMBOLS[0]: st.integers(0, 9),
        SYMBOLS[1]: st.integers(1, 9),
        SYMBOLS[2]: st.integers(-9, 9),
    }
)


def _form(constant: int, factors: tuple[int, int, int]) -> Dim:
    total: Dim = constant
    for symbol, factor in zip(SYMBOLS, factors, strict=True):
        total = dims.add(total, dims.scale(dims.of_symbol(symbol), factor))
    return total


FORMS = st.builds(_form, st.integers(-5, 5), st.tuples(*(st.integers(-2, 2) for _ in SYMBOLS)))


def _value(dim: Dim, values: dict[Symbol, int]) -> int:
    if isinstance(dim, int):
        return dim
    return dim.constant + sum(factor * values[symbol] for symbol, factor in dim.terms)


@given(FORMS, FORMS, VALUES)
def test_arithmetic_is_that_of_the_integers(a: Dim, b: Dim, values: dict[Symbol, int]) -> None:
    left, right = _value(a, values), _value(b, values)
    assert _value(dims.add(a, b), values) == left + right
    assert _value(dims.subtract(a, b), values) == left - right
    product = dims.multiply(a, b)
    assert product is None or _value(product, values) == left * right


@given(FORMS, st.integers(-4, 4), VALUES)
def test_division_is_that_of_the_integers_where_it_answers(a: Dim, by: int, values: dict[Symbol, int]) -> None:
    quotient, remainder = dims.floor_divide(a, by), dims.remainder(a, by)
    assert by or (quotient is None and remainder is None)
    assert quotient is None or _value(quotient, values) == _value(a, values) // by
    assert remainder is None or remainder == _value(a, values) % by


@given(FORMS, FORMS, VALUES)
def test_comparisons_hold_for_every_value(a: Dim, b: Dim, values: dict[Symbol, int]) -> None:
    left, right = _value(a, values), _value(b, values)
    assert dims.equal(a, b) in (None, left == right)
    assert dims.less(a, b) in (None, left < right)
    low = dims.minimum(a)
    assert low is None or low <= left


@given(FORMS, FORMS)
def test_forms_are_canonical(a: Dim, b: Dim) -> None:
    assert dims.add(a, b) == dims.add(b, a)
    assert dims.subtract(dims.add(a, b), b) == a
    assert not isinstance(a, Linear) or (a.terms and all(factor for _, factor in a.terms))


def test_an_unknown_size_is_never_decided() -> None:
    assert dims.equal(None, 3) is None
    assert dims.less(None, 3) is None
    assert dims.multiply(None, 3) is None
    assert dims.multiply(None, 0) == 0


def test_forms_read_as_source() -> None:
    n, m, _ = (dims.of_symbol(symbol) for symbol in SYMBOLS)
    assert dims.render(dims.add(n, 1)) == "n + 1"
    assert dims.render(dims.subtract(dims.scale(m, 2), dims.add(n, 3))) == "2 * m - n - 3"
    assert dims.render(dims.scale(n, -1)) == "-n"
