"""The laws of `join`, and that questions are must questions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from raiselens_server.values.dims import Symbol, of_symbol
from raiselens_server.values.lattice import (
    FALSE,
    NONE,
    TRUE,
    Array,
    Const,
    Device,
    DType,
    Int,
    Opaque,
    Seq,
    Site,
    Tensor,
    Union,
    Unknown,
    Value,
    as_dim,
    from_dim,
    join,
    truth,
    with_sites,
)

NAMES = st.frozensets(st.sampled_from(["int32", "int64", "float32", "bool"]), min_size=1)
SIZES = st.one_of(st.none(), st.integers(0, 4), st.just(of_symbol(Symbol("n", 1, 0))))
SHAPES = st.one_of(st.none(), st.lists(SIZES, max_size=3).map(tuple))
TENSORS = st.builds(
    Tensor,
    dtypes=NAMES,
    shape=SHAPES,
    device=st.sampled_from([None, Device("cpu"), Device("cuda"), Device("cuda", 0)]),
    requires_grad=st.sampled_from([None, True, False]),
    contiguous=st.sampled_from([None, True, False]),
)
LEAVES: st.SearchStrategy[Value] = st.one_of(
    st.just(Unknown("test")),
    st.sampled_from([NONE, TRUE, FALSE, Const(0), Const(1), Const("cuda"), Const(1.0), Const(...)]),
    st.builds(DType, NAMES),
    st.sampled_from([Device("cpu"), Device("cuda")]),
    st.sampled_from([Opaque("int"), Opaque("str")]),
    st.just(Int(of_symbol(Symbol("n", 1, 0)))),
    TENSORS,
    st.builds(Array, NAMES, SHAPES),
)
VALUES = st.one_of(LEAVES, st.lists(LEAVES, max_size=2).map(lambda items: Seq(tuple(items))))


def _same(left: Value, right: Value) -> bool:
    """Equal, where the order of a union's options does not count."""
    if isinstance(left, Union) and isinstance(right, Union):
        return len(left.options) == len(right.options) and all(
            any(_same(one, other) for other in right.options) for one in left.options
        )
    if isinstance(left, Seq) and isinstance(right, Seq) and left.kind == right.kind:
        return len(left.items) == len(right.items) and all(map(_same, left.items, right.items))
    return left == right


@given(VALUES)
def test_join_is_idempotent(a: Value) -> None:
    assert join(a, a) == a


@given(VALUES, VALUES)
def test_join_is_commutative(a: Value, b: Value) -> None:
    assert _same(join(a, b), join(b, a))


@given(VALUES, VALUES)
def test_join_is_an_upper_bound(a: Value, b: Value) -> None:
    upper = join(a, b)
    assert _same(join(upper, a), upper)
    assert _same(join(upper, b), upper)


@given(VALUES, VALUES)
def test_what_is_true_of_a_join_is_true_of_both(a: Value, b: Value) -> None:
    answer = truth(join(a, b))
    assert answer is None or (truth(a) is answer and truth(b) is answer)


def test_a_join_forgets_what_differs_and_keeps_the_rest() -> None:
    left = Tensor(frozenset({"int32"}), (2, 3), Device("cpu"), contiguous=True)
    right = Tensor(frozenset({"int64"}), (2, 4), Device("cpu"), contiguous=True)
    assert join(left, right) == Tensor(frozenset({"int32", "int64"}), (2, None), Device("cpu"), contiguous=True)


def test_none_or_a_tensor_stays_a_union() -> None:
    tensor = Tensor(frozenset({"int32"}))
    assert join(NONE, tensor) == Union((NONE, tensor))
    assert truth(join(NONE, tensor)) is None


def test_true_is_not_one() -> None:
    assert Const(value=True) != Const(1)
    assert Const(1) != Const(1.0)


def test_sizes_are_values_and_back() -> None:
    form = of_symbol(Symbol("n", 1, 0))
    assert [as_dim(from_dim(dim)) for dim in (3, form, None)] == [3, form, None]


def test_a_call_gets_the_sites_that_its_operation_left_open() -> None:
    here, there = Site("a.py", 0, 3), Site("a.py", 9, 12)
    made = with_sites(Tensor(dtype_site=here), there)
    assert (made.dtype_site, made.shape_site, made.device_site) == (here, there, there)
