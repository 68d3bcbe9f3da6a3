"""The parts that verification is made of: messages with holes, sizes as forms, facts as programs, values as facts."""

from __future__ import annotations

import ast

import pytest

from raiselens_kernel.facts import evaluate, numbers_for
from raiselens_kernel.messages import printed_class, same_class, same_message
from raiselens_kernel.programs import UnbuildableError, guesses, program
from raiselens_server.values import dims
from raiselens_server.values.lattice import Const, Device, DType, Int, Named, Opaque, Seq, Tensor, Unknown
from raiselens_server.verify import (
    Argument,
    ConstantFact,
    NameFact,
    ObjectFact,
    SequenceFact,
    TensorFact,
    UnknownFact,
    arguments_from,
    fact_from,
)
from raiselens_server.verify.wire import encode_arguments


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
    ],
)
def test_classes_compare_as_printed(raised: str, predicted: str, *, agrees: bool):
    assert same_class(raised, predicted) is agrees


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
    arguments = encode_arguments(
        (Argument("a", TensorFact("int64", ("bs", "n"))), Argument("b", TensorFact("int64", ("bs + 1",))))
    )
    assert numbers_for(arguments) == {"bs": 3, "n": 5}


def written(*arguments: Argument, qualname: str = "f") -> str:
    """The program for a call, without its docstring and imports."""
    encoded = encode_arguments(arguments)
    text = program("lib.ops", qualname, encoded, next(guesses(encoded)), device="cuda:0", title="t")
    ast.parse(text)
    return text.partition(f"import {qualname.partition('.')[0]}\n\n")[2]


PROGRAMS = {
    "a tensor by name": (
        (Argument("x", TensorFact("float16", ("n", 8))),),
        'x = torch.ones((3, 8), dtype=torch.float16, device="cuda:0")\nf(x=x)\n',
    ),
    "integers are zeros": (
        (Argument("index", TensorFact("int64", (4,), "cpu")),),
        'index = torch.zeros((4,), dtype=torch.int64, device="cpu")\nf(index=index)\n',
    ),
    "the run's own GPU stands for any": (
        (Argument("x", TensorFact("int32", (), "cuda")), Argument("y", TensorFact("int32", (), "cuda:1"))),
        (
            'x = torch.zeros((), dtype=torch.int32, device="cuda:0")\n'
            'y = torch.zeros((), dtype=torch.int32, device="cuda:1")\nf(x=x, y=y)\n'
        ),
    ),
    "not contiguous": (
        (Argument("x", TensorFact("float32", (4, 128), None, contiguous=False)),),
        'x = torch.ones((128, 4), dtype=torch.float32, device="cuda:0").transpose(-1, -2)\nf(x=x)\n',
    ),
    "literals and names": (
        (
            Argument(None, ConstantFact("sum")),
            Argument("eps", ConstantFact(1e-5)),
            Argument("dtype", NameFact("torch.float16")),
            Argument("shape", SequenceFact((ConstantFact(2),), is_tuple=True)),
        ),
        "dtype = torch.float16\nf('sum', eps=1e-05, dtype=dtype, shape=(2,))\n",
    ),
    "an object": (
        (
            Argument(
                None, ObjectFact("torch.nn.Linear", (Argument(None, ConstantFact(4)), Argument(None, ConstantFact(2))))
            ),
        ),
        "argument_0 = torch.nn.Linear(4, 2)\nf(argument_0)\n",
    ),
    "what is not known keeps its default": ((Argument("x", ConstantFact(1)), Argument("y", UnknownFact())), "f(x=1)\n"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_facts_are_written_as_the_call(name: str):
    arguments, expected = PROGRAMS[name]
    assert written(*arguments) == expected


def test_a_constructor_is_called_by_its_class():
    assert written(Argument("n", ConstantFact(1)), qualname="Norm.__init__") == "Norm(n=1)\n"


def test_an_unknown_positional_argument_cannot_be_made_up():
    with pytest.raises(UnbuildableError, match="nothing is known of argument 1"):
        written(Argument(None, UnknownFact()))


def test_a_tensor_too_large_to_be_tried_is_refused():
    with pytest.raises(UnbuildableError, match="larger than what is tried"):
        written(Argument("x", TensorFact("float32", (1 << 20, 1 << 20))))


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
    "an int that is only a form": (Int(dims.of_symbol(BATCH)), UnknownFact()),
    "an instance": (Opaque("torch.Generator"), UnknownFact()),
}


@pytest.mark.parametrize("name", VALUES)
def test_abstract_values_become_facts(name: str):
    value, expected = VALUES[name]
    assert fact_from(value) == expected


def test_arguments_keep_their_places():
    assert arguments_from([Const(1)], {"x": Unknown("parameter")}) == (
        Argument(None, ConstantFact(1)),
        Argument("x", UnknownFact()),
    )
