"""A property keeps the site that decided it until an operation decides it anew."""

from __future__ import annotations

from dataclasses import replace

from raiselens_server.values.dtypes import FLOATING
from raiselens_server.values.lattice import Const, Device, DType, Seq, Site, Tensor, Value
from raiselens_server.values.ops import Ambient, Result, binary, call, getitem

AMBIENT = Ambient(FLOATING, Device("cpu"))
DTYPE, SHAPE, DEVICE = (Site("a.py", start, start + 1) for start in (1, 3, 5))
SOURCE = Tensor(
    frozenset({"int64"}),
    (2, 3),
    Device("cpu"),
    (3, 1),
    requires_grad=False,
    dtype_site=DTYPE,
    shape_site=SHAPE,
    device_site=DEVICE,
    contiguous=True,
)


def _made(name: str, *args: Value) -> tuple[Site | None, Site | None, Site | None]:
    outcome = call(name, (SOURCE, *args), {}, AMBIENT)
    assert isinstance(outcome, Result)
    return _sites(outcome.value)


def _sites(value: Value) -> tuple[Site | None, Site | None, Site | None]:
    assert isinstance(value, Tensor)
    return value.dtype_site, value.shape_site, value.device_site


def test_a_shape_operation_decides_the_shape() -> None:
    assert _made("torch.Tensor.view", Const(6)) == (DTYPE, None, DEVICE)
    assert _made("torch.Tensor.transpose", Const(0), Const(1)) == (DTYPE, None, DEVICE)
    assert _sites_of_item() == (DTYPE, None, DEVICE)


def _sites_of_item() -> tuple[Site | None, Site | None, Site | None]:
    outcome = getitem(SOURCE, Const(0))
    assert isinstance(outcome, Result)
    return _sites(outcome.value)


def test_a_cast_decides_the_dtype() -> None:
    assert _made("torch.Tensor.to", DType(frozenset({"int32"}))) == (None, SHAPE, DEVICE)
    assert _made("torch.Tensor.int") == (None, SHAPE, DEVICE)


def test_a_cast_to_the_same_dtype_decides_nothing() -> None:
    assert _made("torch.Tensor.long") == (DTYPE, SHAPE, DEVICE)


def test_a_move_decides_the_device() -> None:
    assert _made("torch.Tensor.to", Const("cuda")) == (DTYPE, SHAPE, None)


def test_a_tensor_like_another_inherits_what_it_does_not_say() -> None:
    assert _made("torch.zeros_like") == (DTYPE, SHAPE, DEVICE)
    outcome = call("torch.zeros_like", (SOURCE,), {"dtype": DType(frozenset({"int32"}))}, AMBIENT)
    assert isinstance(outcome, Result)
    assert _sites(outcome.value) == (None, SHAPE, DEVICE)


def test_a_factory_decides_everything() -> None:
    outcome = call("torch.zeros", (Seq((Const(2), Const(3))),), {}, AMBIENT)
    assert isinstance(outcome, Result)
    assert _sites(outcome.value) == (None, None, None)


def test_arithmetic_inherits_from_the_operand_that_it_follows() -> None:
    outcome = binary("+", SOURCE, Const(1), AMBIENT)
    assert isinstance(outcome, Result)
    assert _sites(outcome.value) == (DTYPE, SHAPE, DEVICE)
    wide = replace(SOURCE, dtypes=frozenset({"float32"}), dtype_site=Site("b.py", 0, 1))
    outcome = binary("+", SOURCE, wide, AMBIENT)
    assert isinstance(outcome, Result)
    assert _sites(outcome.value)[0] == wide.dtype_site


def test_a_comparison_decides_the_dtype() -> None:
    outcome = binary("<", SOURCE, Const(1), AMBIENT)
    assert isinstance(outcome, Result)
    assert _sites(outcome.value) == (None, SHAPE, DEVICE)
