"""How values print: `str`, `repr` and format specs, as parts of text with holes for what is not known."""

from __future__ import annotations

import ast
import re
import warnings
from typing import TYPE_CHECKING, Final

from raiselens_server.values import dims, dtypes
from raiselens_server.values.lattice import Const, Device, DType, HolePart, Int, Seq, Text

if TYPE_CHECKING:
    from raiselens_server.values.lattice import Value

Parts = tuple["str | HolePart", ...]

_LONGEST_SOURCE: Final = 1000
_WIDE: Final = re.compile(r"\d{4}")


def syntax_error(value: Value, mode: str) -> SyntaxError | None:
    """Why Python does not take a text as source; None where it does, or where that is not known."""
    text = value.value if isinstance(value, Const) else None
    if not isinstance(text, str) or len(text) > _LONGEST_SOURCE:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text.lstrip(" \t"), mode=mode)
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError):
        return None
    return None


def hole(source: str) -> Parts:
    """A part that is not known, named by its source."""
    return (HolePart(source),)


def str_parts(value: Value, source: str) -> Parts:
    """`str(value)`."""
    match value:
        case Const(value=constant):
            return (str(constant),)
        case Text(parts=parts):
            return parts
        case _:
            return repr_parts(value, source)


def repr_parts(value: Value, source: str) -> Parts:
    """`repr(value)`; `source` names the hole where it is not known."""
    match value:
        case Const(value=constant):
            return (repr(constant),)
        case DType(names=names):
            name = dtypes.only(names)
            return hole(source) if name is None else (f"torch.{name}",)
        case Device(type=kind, index=index):
            inner = f"type='{kind}'" if index is None else f"type='{kind}', index={index}"
            return (f"device({inner})",)
        case Int(dim=dim):
            return hole(dims.render(dim) if source == "" else source)
        case Seq(items=items, kind=kind):
            return _sequence(items, kind, source)
        case _:
            return hole(source)


def device_text(device: Device) -> str:
    """`str(device)`."""
    return device.type if device.index is None else f"{device.type}:{device.index}"


def _sequence(items: tuple[Value, ...], kind: str, source: str) -> Parts:
    if kind == "dict":
        return _mapping(items, source)
    opening, closing = {"tuple": ("(", ")"), "list": ("[", "]"), "torch.Size": ("torch.Size([", "])")}.get(
        kind, ("", "")
    )
    if not opening:
        return hole(source)
    parts: list[str | HolePart] = [opening]
    for index, item in enumerate(items):
        if index:
            parts.append(", ")
        parts.extend(repr_parts(item, f"{source}[{index}]"))
    if kind == "tuple" and len(items) == 1:
        parts.append(",")
    parts.append(closing)
    return merge(parts)


def _mapping(pairs: tuple[Value, ...], source: str) -> Parts:
    parts: list[str | HolePart] = ["{"]
    for index, pair in enumerate(pairs):
        if not isinstance(pair, Seq):
            return hole(source)
        key, item = pair.items
        parts.extend((", " if index else "", *repr_parts(key, "key"), ": ", *repr_parts(item, f"{source}[{index}]")))
    return merge([*parts, "}"])


def merge(parts: list[str | HolePart]) -> Parts:
    """Join neighbouring literals."""
    merged: list[str | HolePart] = []
    for part in parts:
        if isinstance(part, str) and merged and isinstance(merged[-1], str):
            merged[-1] += part
        elif part != "":
            merged.append(part)
    return tuple(merged)


def formatted(value: Value, conversion: str, spec: str | None, source: str) -> Parts:
    """One replacement field of an f-string or of `format`; `spec` None where it is not known."""
    if spec is None or is_wide(spec):
        return hole(source)
    match conversion:
        case "":
            if isinstance(value, Device):
                parts: Parts = (device_text(value),)
            else:
                parts = str_parts(value, source)
        case "s":
            parts = (device_text(value),) if isinstance(value, Device) else str_parts(value, source)
        case "r" | "a":
            parts = repr_parts(value, source)
        case _:
            parts = hole(source)
    if not spec:
        return parts
    if conversion == "" and isinstance(value, Const):
        try:
            return (format(value.value, spec),)
        except (ValueError, TypeError):
            return hole(source)
    if len(parts) == 1 and isinstance(parts[0], str):
        try:
            return (format(parts[0], spec),)
        except (ValueError, TypeError):
            return hole(source)
    return hole(source)


def is_wide(spec: str) -> bool:
    """Whether a format spec, or a template with such, asks for text longer than anybody prints."""
    return _WIDE.search(spec) is not None


def to_value(parts: Parts) -> Value:
    """The text as a value."""
    if not parts:
        return Const("")
    if len(parts) == 1 and isinstance(parts[0], str):
        return Const(parts[0])
    return Text(parts)


def percent(template: str, values: tuple[Value, ...], sources: tuple[str, ...]) -> Parts | None:
    """`template % values`; None where the directives are not understood."""
    parts: list[str | HolePart] = []
    rest, index = template, 0
    while True:
        before, mark, rest = rest.partition("%")
        parts.append(before)
        if not mark:
            break
        if rest.startswith("%"):
            parts.append("%")
            rest = rest[1:]
            continue
        width = 0
        while width < len(rest) and rest[width] in "0123456789.-+# ":
            width += 1
        if width >= len(rest) or index >= len(values) or rest[0] == "(":
            return None
        kind, spec = rest[width], rest[:width]
        if is_wide(spec):
            return None
        rest = rest[width + 1 :]
        value, source = values[index], sources[index]
        index += 1
        if isinstance(value, Const) and not isinstance(value.value, (tuple, type(...))):
            try:
                parts.append(f"%{spec}{kind}" % value.value)
            except (TypeError, ValueError):
                return None
        elif spec:
            parts.extend(hole(source))
        elif kind == "r":
            parts.extend(repr_parts(value, source))
        elif isinstance(value, Device):
            parts.append(device_text(value))
        else:
            parts.extend(str_parts(value, source))
    return merge(parts) if index == len(values) else None
