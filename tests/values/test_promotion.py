"""Promotion agrees with torch's, for every pair of dtypes."""

from __future__ import annotations

from itertools import product

import pytest
import torch

from raiselens_server.values.dtypes import ALIASES, BITS, canonical
from raiselens_server.values.promotion import (
    DIMENSIONED,
    NUMBER,
    ZERO_DIM,
    can_cast,
    number_dtypes,
    promote,
    promote_sets,
    result_types,
)

PLAIN = [name for name in BITS if not name.startswith(("q", "float4"))]


def _torch(name: str) -> torch.dtype:
    found = getattr(torch, name)
    assert isinstance(found, torch.dtype)
    return found


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


@pytest.mark.parametrize("left", PLAIN)
def test_promote_is_torch_promote_types(left: str) -> None:
    for right in PLAIN:
        try:
            expected = _name(torch.promote_types(_torch(left), _torch(right)))
        except RuntimeError:
            expected = None
        assert promote(left, right) == expected, (left, right)


@pytest.mark.parametrize("left", PLAIN)
def test_can_cast_is_torch_can_cast(left: str) -> None:
    for right in PLAIN:
        assert can_cast(left, right) is torch.can_cast(_torch(left), _torch(right)), (left, right)


@pytest.mark.parametrize("name", BITS)
def test_sizes_are_torch_sizes(name: str) -> None:
    assert BITS[name] == 8 * _torch(name).itemsize


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_aliases_are_torch_aliases(alias: str, name: str) -> None:
    assert _name(getattr(torch, alias)) == canonical(alias) == name


DTYPES = ["bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64"]
NUMBERS = {"bool": True, "int": 2, "float": 1.5, "complex": 1j}


@pytest.mark.parametrize("left", DTYPES)
def test_result_types_follow_the_priorities(left: str) -> None:
    for right, zero in product(DTYPES, [False, True]):
        tensor = torch.ones((), dtype=_torch(right)) if zero else torch.ones(2, dtype=_torch(right))
        expected = _name((torch.ones(2, dtype=_torch(left)) + tensor).dtype)
        priority = ZERO_DIM if zero else DIMENSIONED
        found = result_types(
            ((frozenset({left}), frozenset({DIMENSIONED})), (frozenset({right}), frozenset({priority})))
        )
        assert found == {expected}, (left, right, zero)


@pytest.mark.parametrize("left", DTYPES)
def test_numbers_have_the_lowest_priority(left: str) -> None:
    for shape, (kind, number) in product([(), (2,)], NUMBERS.items()):
        expected = _name((torch.ones(shape, dtype=_torch(left)) + number).dtype)
        priority = DIMENSIONED if shape else ZERO_DIM
        found = result_types(
            (
                (frozenset({left}), frozenset({priority})),
                (number_dtypes(kind, frozenset({"float32"})), frozenset({NUMBER})),
            )
        )
        assert found == {expected}, (left, shape, kind)


def test_sets_promote_pair_by_pair() -> None:
    floats = frozenset({"float16", "float32"})
    assert promote_sets(floats, frozenset({"int64"})) == floats
    assert promote_sets(floats, frozenset({"bfloat16"})) == {"float32"}


def test_an_empty_set_says_that_every_pair_raises() -> None:
    assert promote_sets(frozenset({"float8_e4m3fn"}), frozenset({"float32", "int32"})) == frozenset()
    assert (
        result_types(((frozenset({"uint16"}), frozenset({0})), (frozenset({"int32"}), frozenset({0})))) == frozenset()
    )


def test_an_unknown_rank_gives_both_answers() -> None:
    either = frozenset({DIMENSIONED, ZERO_DIM})
    found = result_types(((frozenset({"int32"}), frozenset({DIMENSIONED})), (frozenset({"int64"}), either)))
    assert found == {"int32", "int64"}
