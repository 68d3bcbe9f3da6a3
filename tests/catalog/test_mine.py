"""Mining: each case is a source, and what is found in it as `line class | template | qualname | condition`."""

from __future__ import annotations

import pytest

from raiselens_catalog.mine import LeftOut, Mined, mine_python
from raiselens_catalog.mine_cpp import mine_cpp


def found(mined: Mined) -> list[str]:
    return [
        f"{site.line} {site.class_name} | {site.template.message} | {site.qualname} | {site.condition}"
        for site in mined.sites
    ]


CASES = {
    "raise under if": (
        """
        def f(x):
            if x.dtype != torch.int32:
                raise TypeError(f"x must be int32, got {x.dtype}")
        """,
        ["3 TypeError | x must be int32, got {x.dtype} | f | x.dtype != torch.int32"],
    ),
    "elif and else": (
        """
        def f(x):
            if x:
                pass
            elif x > 2:
                raise E("big")
            else:
                raise E("small")
        """,
        ["5 E | big | f | x > 2", "7 E | small | f | not (x > 2)"],
    ),
    "condition over several lines": (
        """
        def f(x):
            if (
                x.a
                and x.b
            ):
                raise pkg.E("a and b")
        """,
        ["6 pkg.E | a and b | f | x.a and x.b"],
    ),
    "nested function and class": (
        """
        class C:
            def m(self):
                def inner():
                    raise ValueError("no")
        """,
        ["4 ValueError | no | C.m.<locals>.inner | "],
    ),
    "match": (
        """
        def f(x):
            match x.kind:
                case "a" | "b":
                    return
                case _:
                    raise ValueError(f"kind {x.kind} is new")
        """,
        ["6 ValueError | kind {x.kind} is new | f | match x.kind: case _"],
    ),
    "except": (
        """
        try:
            import fast
        except ImportError as error:
            raise ImportError("install fast") from error
        """,
        ["4 ImportError | install fast |  | except ImportError as error"],
    ),
    "assert": (
        """
        def f(x):
            assert x.ndim == 2, f"x has {x.ndim} dimensions"
            assert x
        """,
        ["2 AssertionError | x has {x.ndim} dimensions | f | x.ndim == 2"],
    ),
    "torch checks": (
        """
        def f(x):
            torch._check(x.dim() == 1, lambda: f"expected 1-D, got {x.dim()}-D")
            torch._check_index(x.numel() > 0, lambda: "empty")
            torch._check_with(KeyError, x.a, lambda: "no a")
            self._check(x, "mine")
        """,
        [
            "2 RuntimeError | expected 1-D, got {x.dim()}-D | f | x.dim() == 1",
            "3 IndexError | empty | f | x.numel() > 0",
            "4 KeyError | no a | f | x.a",
        ],
    ),
    "message in a variable": (
        """
        def f(x):
            if x:
                msg = "odd " + str(x)
                raise ValueError(msg)
        """,
        ["4 ValueError | odd {x} | f | x"],
    ),
    "several arguments print as a tuple": (
        """
        raise ValueError("bad value", x)
        """,
        ["1 ValueError | ('bad value', {x}) |  | "],
    ),
    "message by keyword": (
        """
        raise HTTPError(400, detail=f"no model {name}")
        """,
        ["1 HTTPError | no model {name} |  | "],
    ),
    "strings and comments that only look like it": (
        '''
        def f():
            """
            raise ValueError("never")
            """
            # raise ValueError("never")
            s = "assert x, 'never'"
            raised = 1
        ''',
        [],
    ),
    "broken code": (
        """
        def f(x):
            x = = 3
        def g(y):
            raise ValueError("still read")
        """,
        ["4 ValueError | still read | g | "],
    ),
    "newer syntax": (
        """
        def f[T](x: T):
            raise ValueError(f"{'a'}{x!r:>{width}}")
        """,
        ["2 ValueError | {'a'}{x} | f | "],
    ),
}


def dedent(text: str) -> bytes:
    lines = text.strip("\n").split("\n")
    indent = len(lines[0]) - len(lines[0].lstrip())
    return "\n".join(line[indent:] for line in lines).encode()


@pytest.mark.parametrize(("source", "expected"), CASES.values(), ids=CASES.keys())
def test_python(source: str, expected: list[str]):
    assert found(mine_python(dedent(source))) == expected


def test_what_is_left_out_is_counted_by_cause():
    source = b"""
raise
raise error
raise ValueError
raise ValueError()
raise ValueError(make())
raise errors[0]("x")
raise ValueError("kept")
assert x
assert x, y
"""
    mined = mine_python(source)
    assert (mined.raises, mined.asserts, len(mined.sites)) == (6, 2, 1)
    assert mined.left_out == {
        LeftOut.NO_MESSAGE: 3,
        LeftOut.RERAISE: 1,
        LeftOut.MESSAGE_ELSEWHERE: 2,
        LeftOut.NOT_UNDERSTOOD: 1,
    }
    assert sum(mined.left_out.values()) + len(mined.sites) == mined.raises + mined.asserts


CPP_CASES = {
    "check": (
        'TORCH_CHECK(a.dim() == 2, "a must be 2-D, got ", a.dim(), "-D");',
        ["1 RuntimeError | a must be 2-D, got {a.dim()}-D |  | a.dim() == 2"],
    ),
    "check without a message": (
        "TORCH_CHECK(n > 0);",
        ["1 RuntimeError | Expected n > 0 to be true, but got false. |  | n > 0"],
    ),
    "classes": (
        'TORCH_CHECK_VALUE(x, "v");\nTORCH_CHECK_INDEX(x, "i");\nTORCH_CHECK_NOT_IMPLEMENTED(false, "n");',
        ["1 ValueError | v |  | x", "2 IndexError | i |  | x", "3 NotImplementedError | n |  | false"],
    ),
    "comparison": (
        "TORCH_CHECK_EQ(a.size(0), n);",
        ["1 RuntimeError | Check failed: a.size(0) == n ({a.size(0)} vs. {n}){separator} |  | a.size(0) == n"],
    ),
    "stream": (
        'TVM_FFI_ICHECK(x.ndim() == 2)\n    << "x must be 2D, got " << x.ndim();',
        ["1 RuntimeError | Check failed: (x.ndim() == 2) is false: x must be 2D, got {x.ndim()} |  | x.ndim() == 2"],
    ),
    "place before the message": (
        'host::RuntimeCheck(n > 0, "n must be positive, got ", n);\nPanic("bad ", kind);',
        [
            "1 RuntimeError | Failed at {file:line}: n must be positive, got {n} |  | n > 0",
            "2 RuntimeError | Failed at {file:line}: bad {kind} |  | ",
        ],
    ),
    "commas and brackets inside": (
        'TORCH_CHECK(f(a, b)[{1, 2}], "a, (b", g(",", \')\'));',
        ["1 RuntimeError | a, (b{g(\",\", ')')} |  | f(a, b)[{1, 2}]"],
    ),
    "strings side by side and escapes": (
        'TORCH_CHECK(x, "one "\n  "two\\n" "three \\"q\\"");',
        ['1 RuntimeError | one two\nthree "q" |  | x'],
    ),
    "comments and definitions": (
        '// TORCH_CHECK(x, "no")\n/* TORCH_CHECK(x, "no") */\n#define C(x) TORCH_CHECK(x, "no")\nTORCH_CHECK(x, /* a */ "yes");',
        ["4 RuntimeError | yes |  | x"],
    ),
    "never closed": ('TORCH_CHECK(x, "a"\nint y = 3; TORCH_CHECK(z, "b");', ["2 RuntimeError | b |  | z"]),
}


@pytest.mark.parametrize(("source", "expected"), CPP_CASES.values(), ids=CPP_CASES.keys())
def test_cpp(source: str, expected: list[str]):
    assert found(mine_cpp(source.encode())) == expected


@pytest.mark.parametrize("source", [b"", b"\xff\xfe raise", b"raise ValueError('\xff')", b"TORCH_CHECK(" * 2000])
def test_any_bytes_are_read(source: bytes):
    mine_python(source)
    mine_cpp(source)
