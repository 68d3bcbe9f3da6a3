"""The parts that verification is made of: messages with holes, sizes as forms, facts as programs, values as facts."""

from __future__ import annotations

import ast

import pytest

from raiselens_kernel.facts import evaluate, numbers_for
from raiselens_kernel.messages import printed_class, same_class, same_message
from raiselens_kernel.programs import UnbuildableError, guesses, program
from raiselens_server.values import dims
from raiselens_server.values.lattice import Const, Device, DType, Int, Named, Opaque, Seq, Tensor
from raiselens_server.verify import (
    Binding,
    Call,
    ConstantFact,
    Fact,
    MappingFact,
    NameFact,
    NamespaceFact,
    SequenceFact,
    SizeFact,
    TensorFact,
    UnknownFact,
    fact_from,
)
from raiselens_server.verify.wire import encode_call


@pytest.mark.parametrize(
    ("predicted", "raised", "agrees"),
    [
        ("got torch.int64", "got torch.int64", True),
        ("got torch.int64", "got torch.int32", False),
        ("got torch.int64", "got torch.int64 ", False),
        ("got <x>", "got anything at all", True),
        ("got <x>", "got ", True),
        ("got <x>", "gets torch.int64", False),
        ("<x> != bs+1 (<y>)", "3 != bs+1 (4)", True),
        ("<x> != bs+1 (<y>)", "3 != bs+1 (4", False),
        ("a <x> b <y> b", "a b b", False),
        ("a <x> b <y> b", "a  b  b", True),
        ("a<x>a", "a", False),
        ("{braces} are no holes", "{braces} are no holes", True),
        ("<x>", "", True),
    ],
)
def test_a_hole_stands_for_any_text(predicted: str, raised: str, *, agrees: bool):
    holes = [(at, at + 3) for at in range(len(predicted)) if predicted[at] == "<"]
    assert same_message(raised, predicted, holes) is agrees


@pytest.mark.parametrize(
    ("raised", "predicted", "agrees"),
    [
        ("TypeError", "TypeError", True),
        ("torch.OutOfMemoryError", "OutOfMemoryError", True),
        ("torch.OutOfMemoryError", "torch.cuda.OutOfMemoryError", False),
        ("MyTypeError", "TypeError", False),
        ("", "TypeError", False),
        ("ShapeError", "main.ShapeError", False),
    ],
)
def test_classes_compare_as_printed(raised: str, predicted: str, *, agrees: bool):
    assert same_class(raised, predicted) is agrees


def test_a_class_of_the_program_itself_has_another_module_there():
    assert same_class("ShapeError", "main.ShapeError", own=True)
    assert not same_class("OtherError", "main.ShapeError", own=True)


def test_builtin_classes_are_printed_without_a_module():
    assert printed_class(TypeError()) == "TypeError"
    assert printed_class(UnbuildableError()) == "raiselens_kernel.programs.UnbuildableError"


@pytest.mark.parametrize(
    ("form", "value"),
    [("bs", 3), ("bs + 1", 4), ("2*bs - 1", 5), ("-bs + 2*n", 7), ("x.size + 1", None), ("7", 7), ("- 1*bs + 4", 1)],
)
def test_a_form_has_the_value_of_its_symbols(form: str, value: int | None):
    assert evaluate(form, {"bs": 3, "n": 5}) == value


def test_one_symbol_is_one_number_and_two_are_two():
    bindings = encode_call(
        Call(
            (),
            (
                Binding("a", TensorFact("int64", ("bs", "n"))),
                Binding("b", TensorFact("int64", ("bs + 1",))),
                Binding("c", SizeFact("2*k")),
            ),
            "",
        )
    )["bindings"]
    assert numbers_for(bindings) == {"bs": 3, "n": 5, "k": 6}


def bound(fact: Fact, guess: int = 0) -> str:
    """What is written for a value that is called `x`, with one of the guesses."""
    call = encode_call(Call((), (Binding("x", fact),), "f(x)\n"))
    text = program(call, call["before"], list(guesses(call["bindings"]))[guess], device="cuda:0", title="t").text
    ast.parse(text)
    return text.partition("\nx = ")[2].removesuffix("\nf(x)\n")


WRITTEN = {
    "a tensor": (TensorFact("float16", ("n", 8)), 'torch.ones((3, 8), dtype=torch.float16, device="cuda:0")'),
    "integers are zeros": (
        TensorFact("int64", (4,), "cpu"),
        'torch.zeros((4,), dtype=torch.int64, device="cpu")',
    ),
    "a square can be inverted": (
        TensorFact("float32", (3, 3)),
        'torch.eye(3, dtype=torch.float32, device="cuda:0")',
    ),
    "the run's own GPU stands for any": (
        TensorFact("int32", (), "cuda"),
        'torch.zeros((), dtype=torch.int32, device="cuda:0")',
    ),
    "but not for another one": (
        TensorFact("int32", (), "cuda:1"),
        'torch.zeros((), dtype=torch.int32, device="cuda:1")',
    ),
    "not contiguous": (
        TensorFact("float32", (4, 128), None, contiguous=False),
        'torch.ones((128, 4), dtype=torch.float32, device="cuda:0").transpose(-1, -2)',
    ),
    "strides": (
        TensorFact("float32", (4, 2), None, strides=(1, 4)),
        'torch.ones((8,), dtype=torch.float32, device="cuda:0").as_strided((4, 2), (1, 4))',
    ),
    "strides that say nothing new": (
        TensorFact("float32", (4, 2), None, strides=(2, 1)),
        'torch.ones((4, 2), dtype=torch.float32, device="cuda:0")',
    ),
    "a gradient": (
        TensorFact("float32", (2,), requires_grad=True),
        'torch.ones((2,), dtype=torch.float32, device="cuda:0").requires_grad_()',
    ),
    "a literal": (ConstantFact("sum"), "'sum'"),
    "a size": (SizeFact("2*bs + 1"), "7"),
    "a name": (NameFact("torch.float16"), "torch.float16"),
    "a tuple of one": (SequenceFact((ConstantFact(2),), is_tuple=True), "(2,)"),
    "a dict": (MappingFact((("k", SequenceFact((ConstantFact(1),))),)), "{'k': [1]}"),
    "an object": (NamespaceFact((("eps", ConstantFact(1e-5)),)), "types.SimpleNamespace(eps=1e-05)"),
    "what is not known": (UnknownFact(), "None  # not known"),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_facts_are_written_as_values(name: str):
    fact, expected = WRITTEN[name]
    assert bound(fact) == expected


def test_what_is_not_known_is_guessed_in_several_ways():
    assert [bound(UnknownFact(), guess) for guess in range(3)] == [
        "None  # not known",
        "8  # not known",
        'torch.ones((8,), dtype=torch.float32, device="cuda:0")  # not known',
    ]


def test_where_all_is_known_nothing_is_guessed():
    call = encode_call(Call((), (Binding("x", TensorFact("int64", (4,))),), "f(x)\n"))
    assert len(list(guesses(call["bindings"]))) == 1


def test_a_tensor_too_large_to_be_tried_is_refused():
    with pytest.raises(UnbuildableError, match="larger than what is tried"):
        bound(TensorFact("float32", (1 << 20, 1 << 20)))


BATCH = dims.Symbol("bs", 7)

VALUES = {
    "sizes keep their symbols": (
        Tensor(frozenset({"int64"}), (dims.add(dims.scale(dims.of_symbol(BATCH), 2), 1), None, 4), Device("cuda", 1)),
        TensorFact("int64", ("2*s7 + 1", None, 4), "cuda:1"),
    ),
    "a dtype that may be two is not known": (
        Tensor(frozenset({"int64", "int32"}), None, Device("cuda"), contiguous=False),
        TensorFact(None, None, "cuda", contiguous=False),
    ),
    "constants": (Const("x"), ConstantFact("x")),
    "infinity has no literal": (Const(float("inf")), UnknownFact()),
    "a dtype": (DType(frozenset({"float16"})), NameFact("torch.float16")),
    "a function of a library": (Named("torch.relu"), NameFact("torch.relu")),
    "a shape": (
        Seq((Const(1), Const(2)), "torch.Size"),
        SequenceFact((ConstantFact(1), ConstantFact(2)), is_tuple=True),
    ),
    "a list": (Seq((Const(1),), "list"), SequenceFact((ConstantFact(1),))),
    "an int that is only a form": (Int(dims.of_symbol(BATCH)), SizeFact("1*s7")),
    "an instance": (Opaque("torch.Generator"), UnknownFact()),
}


@pytest.mark.parametrize("name", VALUES)
def test_abstract_values_become_facts(name: str):
    value, expected = VALUES[name]
    assert fact_from(value) == expected
