"""A mined site → a record: what the condition alone tells, in words and code.

Nothing is guessed: a record says when the site raises, what must hold instead, and how to make it hold where the
condition is of a form that has one answer (dtype, device, rank, membership, None, contiguity).
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from raiselens_catalog.entry import Entry, Layer
from raiselens_catalog.mine import Kind
from raiselens_catalog.record import Guard, Record
from raiselens_catalog.template import guard_slug, slug

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raiselens_catalog.mine import Site


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a mined source comes from: repository or distribution, its version, the path in it, when it was read."""

    repo: str
    version: str
    path: str
    mined_at: str = ""


def entry_of_site(site: Site, record_id: str, origin: Origin, *, source: str = "") -> Entry:
    """The entry of a mined site. `source` is the file it was read from."""
    template = site.template
    return Entry(
        record=_record(site, record_id, origin),
        layer=Layer.BUILT,
        template=template if template.weight else None,
        guard=Guard(module_of(origin.path), site.qualname, site.condition),
        origin=source,
        mined=True,
    )


def module_of(path: str) -> str:
    """The import path of a source file: `pkg/sub/__init__.py` is `pkg.sub`."""
    stem = path.rpartition(".")[0].removesuffix("/__init__")
    return stem.removeprefix("python/").removeprefix("src/").replace("/", ".")


def must_hold(kind: Kind, condition: str) -> str:
    """What must be true for the site not to raise; empty where the condition is unknown or no expression."""
    match kind:
        case Kind.ASSERT | Kind.CHECK:
            return condition
        case Kind.RAISE:
            return negated(condition)


def negated(condition: str) -> str:
    """The opposite of a Python condition, in the form a person would write; empty where it is no expression."""
    try:
        tree = ast.parse(condition, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    return ast.unparse(_opposite(tree))


_OPPOSITES: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


def _opposite(node: ast.expr) -> ast.expr:
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case ast.Compare(left=left, ops=[operator], comparators=comparators):
            return ast.Compare(left, [_OPPOSITES[type(operator)]()], comparators)
        case ast.BoolOp(op=ast.Or(), values=values):
            return ast.BoolOp(ast.And(), [_opposite(value) for value in values])
        case ast.BoolOp(op=ast.And(), values=values):
            return ast.BoolOp(ast.Or(), [_opposite(value) for value in values])
        case _:
            return ast.UnaryOp(ast.Not(), node)


def _record(site: Site, record_id: str, origin: Origin) -> Record:
    condition = " ".join(site.condition.split())
    must = must_hold(site.kind, condition)
    subject = f"`{site.qualname}`" if site.qualname else f"`{origin.path}`"
    tags = tuple(_tags(condition))
    template = site.template
    return Record(
        id=record_id,
        repo=origin.repo,
        slug=slug(template) if template.weight else guard_slug(site.qualname, condition),
        error_code=None,
        error_message=template.message,
        message_pattern=template.pattern,
        error_type="validation" if condition else None,
        error_class=site.class_name,
        http_status=None,
        severity="error",
        file_path=origin.path,
        line_number=site.line,
        source_code=None,
        source_code_start=None,
        source_code_end=None,
        github_url=None,
        documentation=_documentation(site, subject, condition, must),
        trigger_scenarios=f"{subject} is reached while `{_raises_when(site.kind, condition)}`." if condition else None,
        common_situations=None,
        solutions=tuple(_solutions(must, subject)),
        example_fix=None,
        handling_strategy=None,
        validation_code=_validation(must),
        type_guard=None,
        try_catch_pattern=None,
        prevention_tips=(),
        tags=tags,
        background_tag=_BACKGROUNDS.get(tags[0]) if tags else None,
        analyzed_sha=origin.version or None,
        analyzed_at=origin.mined_at or None,
    )


def _raises_when(kind: Kind, condition: str) -> str:
    match kind:
        case Kind.RAISE:
            return condition
        case Kind.ASSERT | Kind.CHECK:
            return negated(condition) or f"not ({condition})"


def _documentation(site: Site, subject: str, condition: str, must: str) -> str:
    match site.kind:
        case Kind.RAISE if not condition:
            return f"{subject} raises `{site.class_name}` whenever this statement is reached."
        case Kind.RAISE:
            wanted = f" It goes on only if `{must}`." if must else ""
            return f"{subject} raises `{site.class_name}` when `{condition}`.{wanted}"
        case Kind.ASSERT:
            return f"{subject} asserts that `{condition}`, and raises `AssertionError` where that is false."
        case Kind.CHECK:
            return f"{subject} checks that `{condition}`, and raises `{site.class_name}` where that is false."


def _solutions(must: str, subject: str) -> Iterator[str]:
    if not must:
        return
    for pattern, advice in _ADVICE:
        found = pattern.search(must)
        if found is not None:
            yield advice.format(*found.groups())
    yield f"See to it that `{must}` holds where {subject} is called"


_NAME: Final = r"([A-Za-z_][\w.\[\]]*)"
_ADVICE: Final = (
    (
        re.compile(rf"{_NAME}\.dtype (?:==|is) ([\w.]+)"),
        "Make `{0}` a tensor of `{1}`: `dtype={1}` where it is allocated, or `{0}.to({1})`",
    ),
    (re.compile(rf"{_NAME}\.dtype in (\(.*?\)|\[.*?\]|[\w.]+)"), "Convert `{0}` to one of `{1}`"),
    (re.compile(rf"{_NAME}\.device == {_NAME}\.device"), "Put both on one device: `{0}.to({1}.device)`"),
    (re.compile(rf"{_NAME}\.is_cuda"), "Move `{0}` to the GPU: `{0}.cuda()`"),
    (
        re.compile(rf"{_NAME}\.(?:dim\(\)|ndim) == (\d+)"),
        "Give `{0}` {1} dimensions, by `reshape`, `unsqueeze` or `squeeze`",
    ),
    (re.compile(rf"{_NAME}\.is_contiguous\("), "Make `{0}` contiguous: `{0}.contiguous()`"),
    (re.compile(rf"{_NAME} is not None"), "Give `{0}` a value"),
    (re.compile(rf"(?<![\w.]){_NAME} in (\(.*?\)|\[.*?\]|\{{.*?\}})"), "Use one of `{1}` for `{0}`"),
    (re.compile(rf"{_NAME} % ([\w.]+) == 0"), "Make `{0}` a multiple of `{1}`"),
    (re.compile(rf"isinstance\({_NAME}, ([^()]+|\([^()]*\))\)"), "Pass `{0}` as `{1}`"),
)
"""Conditions with one answer: what must hold, and the advice with what was found in it."""

_TAGS: Final = (
    ("dtype-validation", re.compile(r"\bdtype\b")),
    ("device-validation", re.compile(r"\b(?:device|is_cuda|is_cpu)\b")),
    ("shape-validation", re.compile(r"\b(?:shape|ndim|dim|size|numel|stride)\b")),
    ("layout-validation", re.compile(r"\bis_contiguous\b")),
    ("missing-value", re.compile(r"\bis (?:not )?None\b")),
    ("type-validation", re.compile(r"\bisinstance\b")),
    ("availability", re.compile(r"_available\b|\bHAS_|\bhas_")),
)
_BACKGROUNDS: Final = {
    "dtype-validation": "tensor-dtype-mismatch",
    "device-validation": "tensor-device-mismatch",
    "shape-validation": "tensor-shape-mismatch",
    "layout-validation": "tensor-layout",
}


def _tags(condition: str) -> Iterator[str]:
    for tag, pattern in _TAGS:
        if pattern.search(condition):
            yield tag


def _validation(must: str) -> str | None:
    """The assertion to put before the call; None where it would not be Python."""
    try:
        ast.parse(must, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return f"assert {must}"
