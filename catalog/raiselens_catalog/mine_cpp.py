"""C++ and CUDA sources → the places where they raise: `TORCH_CHECK`, `TVM_FFI_ICHECK`, `RuntimeCheck` and their kin.

No C++ parser: comments are blanked, the macros are found by name, their arguments split at commas outside brackets and
strings. Linear in the source.
"""

from __future__ import annotations

import enum
import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from typing_extensions import assert_never

from raiselens_catalog.mine import Kind, LeftOut, Mined, Site
from raiselens_catalog.template import Hole, Part, Template

if TYPE_CHECKING:
    from collections.abc import Iterator

SUFFIXES: Final = frozenset({".c", ".cc", ".cpp", ".cu", ".cuh", ".cxx", ".h", ".hpp", ".hip", ".mm"})


class Style(enum.Enum):
    """How a macro takes its message."""

    ARGUMENTS = enum.auto()
    """`MACRO(condition, part, part, …)`."""
    COMPARISON = enum.auto()
    """`MACRO_EQ(a, b, part, …)`, the message begins with both sides."""
    STREAM = enum.auto()
    """`MACRO(condition) << part << part;`, the message begins with the condition."""
    STREAM_PLACE = enum.auto()
    """`CHECK_HOST(condition) << part;`, the message begins with the place."""
    STREAM_COMPARISON = enum.auto()
    """`MACRO_EQ(a, b) << part;`."""
    PANIC = enum.auto()
    """`Panic(part, …)`, without a condition; the message begins with the place."""
    CHECKED = enum.auto()
    """`RuntimeCheck(condition, part, …)`; the message begins with the place."""
    INTERNAL = enum.auto()
    """`TORCH_INTERNAL_ASSERT(condition, part, …)`; the message begins with condition and place."""


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro: the Python class that its error arrives as, and its style."""

    class_name: str
    style: Style


_OPERATORS: Final = {"EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}

MACROS: Final[dict[str, Macro]] = {
    "TORCH_CHECK": Macro("RuntimeError", Style.ARGUMENTS),
    "STD_TORCH_CHECK": Macro("RuntimeError", Style.ARGUMENTS),
    "TORCH_CHECK_VALUE": Macro("ValueError", Style.ARGUMENTS),
    "TORCH_CHECK_TYPE": Macro("TypeError", Style.ARGUMENTS),
    "TORCH_CHECK_INDEX": Macro("IndexError", Style.ARGUMENTS),
    "TORCH_CHECK_NOT_IMPLEMENTED": Macro("NotImplementedError", Style.ARGUMENTS),
    "TORCH_CHECK_LINALG": Macro("torch.linalg.LinAlgError", Style.ARGUMENTS),
    "TORCH_INTERNAL_ASSERT": Macro("RuntimeError", Style.INTERNAL),
    "FLASHINFER_CHECK": Macro("RuntimeError", Style.ARGUMENTS),
    "AT_ASSERTM": Macro("RuntimeError", Style.ARGUMENTS),
    "RuntimeCheck": Macro("RuntimeError", Style.CHECKED),
    "Panic": Macro("RuntimeError", Style.PANIC),
    "ICHECK": Macro("RuntimeError", Style.STREAM),
    "TVM_FFI_ICHECK": Macro("RuntimeError", Style.STREAM),
    "TVM_FFI_CHECK": Macro("RuntimeError", Style.STREAM),
    "CHECK_HOST": Macro("RuntimeError", Style.STREAM_PLACE),
    **{f"TORCH_CHECK_{name}": Macro("RuntimeError", Style.COMPARISON) for name in _OPERATORS},
    **{f"ICHECK_{name}": Macro("RuntimeError", Style.STREAM_COMPARISON) for name in _OPERATORS},
    **{f"TVM_FFI_ICHECK_{name}": Macro("RuntimeError", Style.STREAM_COMPARISON) for name in _OPERATORS},
}

_USE: Final = re.compile(rb"\b(" + b"|".join(sorted((name.encode() for name in MACROS), reverse=True)) + rb")\s*\(")
_TOKEN: Final = re.compile(rb'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
_BRACKETS: Final = re.compile(rb'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|[()\[\]{},;]|<<', re.DOTALL)
_DEFINE: Final = re.compile(rb"\s*#\s*define\b")
_STRING: Final = re.compile(r'"((?:[^"\\\n]|\\.)*)"', re.DOTALL)
_STRINGS: Final = re.compile(r'(?:\s*(?:u8|L)?"(?:[^"\\\n]|\\.)*")+\s*', re.DOTALL)
_LONGEST: Final = 20_000
"""Bytes of a macro's arguments beyond which it is given up."""


def may_check(source: bytes) -> bool:
    """Whether `source` can hold a check: a cheap test."""
    return b"CHECK" in source or b"ASSERT" in source or b"Panic" in source or b"RuntimeCheck" in source


def mine_cpp(source: bytes) -> Mined:
    """Mine C++ text."""
    mined = Mined()
    if not may_check(source):
        return mined
    text = _TOKEN.sub(_blanked, source)
    starts = [0, *(found.end() for found in re.finditer(rb"\n", text))]
    for use in _USE.finditer(text):
        line = bisect_right(starts, use.start())
        if _DEFINE.match(text, starts[line - 1]):
            continue
        split = _arguments(text, use.end())
        if split is None:
            continue
        arguments, end = split
        mined.checks += 1
        name = use[1].decode()
        result = _site(name, MACROS[name], arguments, _streamed(text, end), line)
        if isinstance(result, Site):
            mined.sites.append(result)
        else:
            mined.left_out[result] += 1
    return mined


def _blanked(found: re.Match[bytes]) -> bytes:
    """Comments become blanks of the same length; strings stay."""
    token = found[0]
    return token if token[:1] in b"\"'" else re.sub(rb"[^\n]", b" ", token)


def _arguments(text: bytes, at: int) -> tuple[list[str], int] | None:
    """The arguments from behind an opening parenthesis, and where the closing one ends; None where it is not there."""
    depth, begin = 1, at
    arguments: list[str] = []
    for found in _BRACKETS.finditer(text, at, at + _LONGEST):
        token = found[0]
        if token in {b"(", b"[", b"{"}:
            depth += 1
        elif token in {b")", b"]", b"}"}:
            depth -= 1
            if depth == 0:
                arguments.append(_line(text[begin : found.start()]))
                return arguments, found.end()
        elif token == b"," and depth == 1:
            arguments.append(_line(text[begin : found.start()]))
            begin = found.end()
        elif token == b";":
            return None
    return None


def _streamed(text: bytes, at: int) -> list[str]:
    """The parts of `<< part << part;` behind a macro."""
    parts: list[str] = []
    depth, begin = 0, None
    for found in _BRACKETS.finditer(text, at, at + _LONGEST):
        token = found[0]
        if begin is None and (token != b"<<" or text[at : found.start()].strip()):
            return []
        if token in {b"(", b"[", b"{"}:
            depth += 1
        elif token in {b")", b"]", b"}"}:
            depth -= 1
        elif depth == 0 and token in {b"<<", b";"}:
            if begin is not None:
                parts.append(_line(text[begin : found.start()]))
            begin = found.end()
            if token == b";":
                return parts
    return []


def _line(text: bytes) -> str:
    return " ".join(text.decode("utf-8", "replace").split())


def _site(name: str, macro: Macro, arguments: list[str], streamed: list[str], line: int) -> Site | LeftOut:
    assembled = _assembled(name, macro, arguments, streamed) if arguments and arguments[0] else None
    if assembled is None:
        return LeftOut.NO_MESSAGE
    condition, parts = assembled
    template = Template.from_parts(parts)
    if not template.weight:
        return LeftOut.MESSAGE_ELSEWHERE
    return Site(Kind.CHECK, line, macro.class_name, template, "", condition)


def _assembled(name: str, macro: Macro, arguments: list[str], streamed: list[str]) -> tuple[str, list[Part]] | None:
    """The condition of a use and its message, as its macro puts it together; None where it has no message."""
    condition, rest = arguments[0], arguments[1:]
    match macro.style:
        case Style.ARGUMENTS:
            return condition, _message(rest) if rest else [f"Expected {condition} to be true, but got false."]
        case Style.COMPARISON | Style.STREAM_COMPARISON:
            if not rest:
                return None
            compared = f"{condition} {_OPERATORS[name.rpartition('_')[2]]} {rest[0]}"
            tail = rest[1:] if macro.style is Style.COMPARISON else streamed
            head: list[Part] = [f"Check failed: {compared} (", Hole(condition), " vs. ", Hole(rest[0]), ")"]
            return compared, [*head, Hole("separator"), *_message(tail)]
        case Style.STREAM:
            return condition, [f"Check failed: ({condition}) is false: ", *_message(streamed)]
        case Style.STREAM_PLACE:
            return (condition, [*_PLACE, *_message(streamed)]) if streamed else None
        case Style.CHECKED:
            if len(rest) > 1 and not _STRINGS.fullmatch(rest[0]) and _STRINGS.fullmatch(rest[1]):
                condition, rest = rest[0], rest[1:]
            return (condition, [*_PLACE, *_message(rest)]) if rest else None
        case Style.PANIC:
            return "", [*_PLACE, *_message(arguments)]
        case Style.INTERNAL:
            failed = f"{condition} INTERNAL ASSERT FAILED at "
            return condition, [failed, Hole("file:line"), ", please report a bug to PyTorch. ", *_message(rest)]
        case _:
            assert_never(macro.style)


_PLACE: Final[list[Part]] = ["Failed at ", Hole("file:line"), ": "]


def _message(parts: list[str]) -> list[Part]:
    return [part for given in parts for part in _literal(given)]


def _literal(text: str) -> Iterator[Part]:
    if not _STRINGS.fullmatch(text):
        yield Hole(text)
        return
    for found in _STRING.finditer(text):
        yield _ESCAPE.sub(lambda escape: _ESCAPES.get(escape[1], escape[1]), found[1])


_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
