"""Guard stubs that are made of libraries: each case is a module, and what its stub says."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from raiselens_catalog.build import build
from raiselens_catalog.expression import python_parser
from raiselens_catalog.layers import stub_roots
from raiselens_catalog.stub import Stub, package_stub, stub_of_module


def made(source: str, module: str = "acme.ops") -> Stub:
    data = source.encode()
    return stub_of_module(python_parser().parse(data).root_node, data, module)


def body(source: str) -> str:
    """The stub without its docstring; it is Python."""
    text = made(source).text
    ast.parse(text)
    return text.partition("\n")[2].strip()


CASES = {
    "signature, guard, constant and import": (
        """
        import os
        import torch
        from torch import int32 as i32
        LIMIT: int = 4
        HALF = LIMIT // 2
        UNUSED = 9
        def f(x: torch.Tensor, /, *rows: int, size=LIMIT, **more) -> int:
            '''What f does.'''
            print("secret")
            if x.dtype != i32:
                raise TypeError(f"x must be {i32}")
            assert size > HALF, "too small"
            return x + 1
        """,
        """
        from torch import int32 as i32
        LIMIT = 4
        HALF = LIMIT // 2

        def f(x, /, *rows, size=LIMIT, **more):
            if x.dtype != i32:
                raise TypeError(f"x must be {i32}")
            assert size > HALF, "too small"
            return UNKNOWN
        """,
    ),
    "a local value that a condition is made of": (
        """
        def f(x):
            rows, columns = x.shape
            other = open(path)
            if rows > 4:
                raise ValueError(f"{rows} rows")
        """,
        """
        def f(x):
            rows, columns = x.shape
            if rows > 4:
                raise ValueError(f"{rows} rows")
            return UNKNOWN
        """,
    ),
    "a value out of sight is gone, and so is a guard on it": (
        """
        def f(x, y):
            x = load(x)
            if x > 4:
                raise ValueError("gone")
            if y > 4:
                raise ValueError("kept")
        """,
        """
        def f(x, y):
            if UNKNOWN:
                raise Exception
            if y > 4:
                raise ValueError("kept")
            return UNKNOWN
        """,
    ),
    "an unpacking may raise on its own": (
        """
        def f(x):
            rows, columns = x.shape
            size = x.numel()
            if x.stride(0) == 0:
                raise ValueError("expanded")
        """,
        """
        def f(x):
            rows, columns = x.shape
            if x.stride(0) == 0:
                raise ValueError("expanded")
            return UNKNOWN
        """,
    ),
    "a way out stays one": (
        """
        def f(x, y):
            if x is None:
                return y
            if y > 4:
                raise ValueError("kept")
        """,
        """
        def f(x, y):
            if x is None:
                return UNKNOWN
            if y > 4:
                raise ValueError("kept")
            return UNKNOWN
        """,
    ),
    "an object given away out of sight is given to UNKNOWN": (
        """
        def f(config):
            fill(config)
            if config.size is None:
                raise ValueError("no size")
        """,
        """
        def f(config):
            UNKNOWN(config)
            if config.size is None:
                raise ValueError("no size")
            return UNKNOWN
        """,
    ),
    "branches": (
        """
        def f(mode):
            if mode == "a":
                x = read()
            elif mode == "b":
                raise TypeError("b")
            else:
                raise ValueError(mode)
        """,
        """
        def f(mode):
            if mode == "a":
                pass
            elif mode == "b":
                raise TypeError("b")
            else:
                raise ValueError(mode)
            return UNKNOWN
        """,
    ),
    "a loop over what was given": (
        """
        def f(tensors, device):
            for name, tensor in tensors:
                if tensor.device != device:
                    raise ValueError(f"{name} is elsewhere")
        """,
        """
        def f(tensors, device):
            for name, tensor in tensors:
                if tensor.device != device:
                    raise ValueError(f"{name} is elsewhere")
            return UNKNOWN
        """,
    ),
    "a helper that only checks": (
        """
        from acme.guards import check_rank
        def _require(x, name):
            if x.ndim != 1:
                raise ValueError(name)
        def f(x, y):
            _require(x, name="x")
            y = load(y)
            check_rank(y, 2)
            launch(x)
        """,
        """
        from acme.guards import check_rank

        def _require(x, name):
            if x.ndim != 1:
                raise ValueError(name)
            return UNKNOWN

        def f(x, y):
            _require(x, name="x")
            check_rank(UNKNOWN, 2)
            return UNKNOWN
        """,
    ),
    "a class with its constructor": (
        """
        class Heads(object):
            def __init__(self, size, heads=DEFAULT):
                super().__init__()
                if size % heads:
                    raise ValueError("does not divide")
                self.size = size
            def silent(self):
                return self.size
            @staticmethod
            def of(n):
                assert n > 0, "none"
        """,
        """
        class Heads(object):
            def __init__(self, size, heads=UNKNOWN):
                if size % heads:
                    raise ValueError("does not divide")
                return

            @staticmethod
            def of(n):
                assert n > 0, "none"
                return UNKNOWN
        """,
    ),
    "an exception of the module": (
        """
        class Refused(ValueError):
            "Why."
        def f(x):
            if x is None:
                raise Refused("no x")
        """,
        """
        class Refused(ValueError):
            pass


        def f(x):
            if x is None:
                raise Refused("no x")
            return UNKNOWN
        """,
    ),
    "over several lines": (
        """
        def f(x):
            if (
                x > 4  # not five
                and x != 9
            ):
                raise ValueError(
                    "between "
                    "them"
                )
        """,
        """
        def f(x):
            if (
                x > 4  # not five
                and x != 9
            ):
                raise ValueError(
                    "between "
                    "them"
                )
            return UNKNOWN
        """,
    ),
}


def dedented(text: str) -> str:
    import textwrap

    return textwrap.dedent(text).strip()


@pytest.mark.parametrize("name", CASES)
def test_stub(name: str):
    source, expected = CASES[name]
    lines = [line for line in body(dedented(source)).split("\n") if line]
    assert lines == [line for line in dedented(expected).split("\n") if line]


@pytest.mark.parametrize(
    "source",
    [
        "def f(x):\n    raise NotImplementedError('always')",
        "def f():\n    if flag:\n        raise ValueError('nothing is given')",
        "@wraps(g)\ndef f(x):\n    if x:\n        raise ValueError('another signature')",
        "def f(x):\n    if x:\n        raise ValueError('when it is iterated')\n    yield x",
        "async def f(x):\n    if x:\n        raise ValueError('when it is awaited')",
        "if new:\n    def f(x):\n        if x:\n            raise ValueError('one of two')",
        "def f(x):\n    if x:\n        raise ValueError('1')\ndef f(x, y):\n    if y:\n        raise ValueError('2')",
        "class C(Base):\n    def __init__(self, x):\n        if x:\n            raise ValueError('bases may bind more')",
        "def f(x):\n    x = load()\n    if x:\n        raise ValueError('not what was given')",
        "def f(x):\n    with suppress(ValueError):\n        if x:\n            raise ValueError('is caught')",
        "def f(x):\n    try:\n        if x:\n            raise ValueError('is caught')\n    except ValueError:\n        pass",
        "class C:\n    def m(self):\n        if self.x:\n            raise ValueError('of the object')",
        "def f(:\n    raise",
        "",
    ],
)
def test_no_stub(source: str):
    assert made(source).text == ""


def test_what_is_left_out_is_counted():
    stub = made(
        "def f(x, y):\n    if g(x):\n        raise ValueError('no')\n    if y:\n        raise ValueError('yes')\n"
    )
    assert (stub.functions, stub.kept, stub.left_out) == (1, 1, 1)


def test_a_package_hands_on_its_own():
    source = b"import os\nfrom .ops import f as g, h\nfrom torch import nn\nfrom acme.more import *\nx = secret()\n"
    text = package_stub(python_parser().parse(source).root_node, "acme")
    assert text.split("\n")[1:-1] == ["from .ops import f as g", "from .ops import h", "from acme.more import *"]


def test_stubs_follow_their_sources(tmp_path: Path):
    library = tmp_path / "library" / "acme"
    library.mkdir(parents=True)
    (library / "__init__.py").write_text("from acme.a import f\n")
    guard = "def f(x):\n    if x:\n        raise ValueError('first text')\n"
    (library / "a.py").write_text(guard)
    (library / "b.py").write_text(guard)
    built = stub_roots()[0]
    build([str(library.parent)])
    assert "first text" in (built / "acme/a.py").read_text()
    assert "from acme.a import f" in (built / "acme/__init__.py").read_text()
    (library / "a.py").write_text(guard.replace("first", "second and longer"))
    (library / "b.py").unlink()
    report = build([str(library.parent)])
    assert (report.read, report.stubs) == (1, 1)
    assert "second and longer" in (built / "acme/a.py").read_text()
    assert not (built / "acme/b.py").exists()


def test_a_catalog_elsewhere_leaves_the_stubs_alone(tmp_path: Path):
    (tmp_path / "acme.py").write_text("def f(x):\n    if x:\n        raise ValueError('some text')\n")
    assert build([str(tmp_path)], output=tmp_path / "out.sqlite").stubs == 1
    assert not stub_roots()[0].exists()


def test_an_interrupted_build_keeps_the_catalog(tmp_path: Path):
    """Stubs are written before the catalog is, so that what is written of them is written again by the next build."""
    source = tmp_path / "lib"
    source.mkdir()
    (source / "acme.py").write_text("def f(x):\n    if x:\n        raise ValueError('some text')\n")
    stubs = stub_roots()[0]
    stubs.parent.mkdir(parents=True, exist_ok=True)
    stubs.write_text("a file where the folder should be")
    with pytest.raises(Exception, match="cannot be written"):
        build([str(source)])
    stubs.unlink()
    assert (build([str(source)]).read, (stubs / "acme.py").is_file()) == (1, True)


def test_an_interrupted_build_leaves_no_half_of_a_stub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "acme.py").write_text("def f(x):\n    if x:\n        raise ValueError('some text')\n")
    build([str(tmp_path)])
    stub = stub_roots()[0] / "acme.py"
    before = stub.read_text()
    (tmp_path / "acme.py").write_text("def f(x):\n    if x:\n        raise ValueError('a longer text')\n")

    def interrupted(self: Path, text: str, **_: object) -> int:
        self.write_bytes(text.encode()[:10])
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", interrupted)
        with pytest.raises(KeyboardInterrupt):
            build([str(tmp_path)])
    assert [(path.name, path.read_text()) for path in stub.parent.iterdir()] == [("acme.py", before)]
    assert build([str(tmp_path)]).read == 1
    assert "a longer text" in stub.read_text()
