"""What is searched for in the whole text of a module, instead of in its IR.

Every such search is listed here, so that an edit of one function can tell whether it changes what any of them found:
`traces` must tell two texts apart wherever a search below does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_GLOBAL_LINE: Final = re.compile(rb"global(?:[ \t]|\\\r?\n)+((?:[\w, \t]|\\\r?\n)+)")
_ATTRIBUTE_ASSIGNMENT: Final = re.compile(rb"(?<![\w.])([A-Za-z_]\w*)\.[\w.]+\s*=(?!=)")
PATCHERS: Final = frozenset(
    {"setattr", "patch", "object", "multiple", "setitem", "dict", "spy", "stub", "replace_attr"}
)
"""Functions of mocking libraries that replace what their texts name."""
_PATCHER: Final = re.compile(rb"\b(?:" + b"|".join(sorted(name.encode() for name in PATCHERS)) + rb")\b")
_SETTERS: Final = (b"set_default_dtype", b"set_default_device", b"set_default_tensor_type")

_GLOBALS_STORE: Final = re.compile(
    rb"\bglobals\(\)\s*(?:\[[^\]\n]*\]\s*[-+*/|&]?=[^=]|\.\s*(?:update|setdefault|pop)\b)"
    rb"|\bsetattr\(\s*sys\.modules\[__name__\]"
)
IN_PLACE_METADATA: Final = frozenset(
    {
        "as_strided_",
        "detach_",
        "resize_",
        "resize_as_",
        "set_",
        "squeeze_",
        "swapaxes_",
        "swapdims_",
        "t_",
        "transpose_",
        "unsqueeze_",
    }
)
"""Methods that change a tensor's shape, strides or storage in place."""
_METADATA: Final = re.compile(
    rb"\.(?:" + b"|".join(sorted(name.encode() for name in IN_PLACE_METADATA)) + rb")\s*\("
    rb"|\.data\s*=|\bout\s*=|swap_tensors"
)
SETATTR: Final = re.compile(rb"""setattr\(\s*self\s*,\s*(?:(f?)["']([^"'{}]*)(["'{]))?""")
"""A store to `self` by name: prefix, text and what ends it; none of them where the name is no literal."""
_REGISTERED: Final = re.compile(rb"\bregister_\w+\s*\(")
SETS_ANY: Final = re.compile(rb"__dict__\s*(?:\.update|\[|=[^=])|vars\(self\)|def __(?:setattr|getattribute)__")
"""Text that may set any attribute of `self`."""


def declared_global(source: bytes) -> frozenset[str]:
    """Names of `global` statements."""
    names: set[str] = set()
    for match in _GLOBAL_LINE.finditer(source):
        listed = match.group(1).decode("utf-8", "replace").replace("\\", " ")
        names.update(name.strip() for name in listed.split(","))
    return frozenset(names)


def sets_defaults(source: bytes) -> bool:
    """Whether something may set torch's default dtype or device."""
    return any(setter in source for setter in _SETTERS)


def stores_globals(source: bytes) -> bool:
    """Whether some code stores to its globals as a dict."""
    return _GLOBALS_STORE.search(source) is not None


def changes_metadata(source: bytes) -> bool:
    """Whether something may change a tensor's metadata in place."""
    return _METADATA.search(source) is not None


def names_default(source: bytes) -> bool:
    """Whether a default dtype or device is spoken of."""
    return b"default_d" in source


def may_mock(source: bytes) -> bool:
    """Whether calls of `PATCHERS` may be those of a mocking library."""
    return b"patch" in source or b"setattr" in source


def calls_patcher(source: bytes) -> bool:
    """Whether one of `PATCHERS` is named."""
    return _PATCHER.search(source) is not None


def assigns_to(source: bytes, names: frozenset[str]) -> bool:
    """Whether a line may assign to an attribute of one of the names."""
    return any(match.group(1).decode() in names for match in _ATTRIBUTE_ASSIGNMENT.finditer(source))


def assigned_attributes(source: bytes) -> frozenset[str]:
    """The names of the attributes that some line assigns, of whatever object."""
    return frozenset(match.group(2).decode("utf-8", "replace") for match in _ANY_ATTRIBUTE.finditer(source))


def changes_contents(source: bytes, name: str) -> bool:
    """Whether some line may change a container in place: `NAME[…] = `, `NAME.append(…)`, `NAME += …`."""
    return re.search(_in_place(re.escape(name.encode())), source) is not None


def _attribute(name: bytes) -> bytes:
    return rb"\.\s*(?=(" + name + rb")\s*(?::[^=\n]*)?=(?!=))"


def _in_place(name: bytes) -> bytes:
    return (
        rb"(?<![\w.])(?=("
        + name
        + rb")\s*(?:\[[^\n]*\]\s*(?:[-+*/|&]?=[^=])|\.(?:append|extend|insert|update|add|pop|remove|"
        rb"clear|setdefault|discard|sort|popitem|reverse)\s*\(|(?:\+|\||-|&)=))|\bdel\s+(?=(" + name + rb")\s*\[)"
    )


_ANY_ATTRIBUTE: Final = re.compile(rb"(\bself)?" + _attribute(rb"\w+"))
_ANY_IN_PLACE: Final = re.compile(_in_place(rb"\w+"))


def traces(source: bytes, imported: frozenset[str], *, mocks: bool) -> object:
    """What the searches above find in a part of a module.

    `imported` are the names that the module binds by imports; `mocks`: its whole text `may_mock`.
    """
    return (
        declared_global(source),
        sets_defaults(source),
        names_default(source),
        stores_globals(source),
        changes_metadata(source),
        frozenset(match.groups() for match in SETATTR.finditer(source)),
        SETS_ANY.search(source) is not None,
        frozenset(_lines_with(_REGISTERED, source)),
        b"patch" in source,
        b"setattr" in source,
        frozenset(_lines_with(_PATCHER, source)) if mocks else None,
        frozenset(
            match.group() for match in _ATTRIBUTE_ASSIGNMENT.finditer(source) if match.group(1).decode() in imported
        ),
        frozenset(match.groups() for match in _ANY_ATTRIBUTE.finditer(source)),
        frozenset(match.group(1) or match.group(2) for match in _ANY_IN_PLACE.finditer(source)),
    )


def _lines_with(pattern: re.Pattern[bytes], source: bytes) -> Iterator[bytes]:
    return (line for line in source.splitlines() if pattern.search(line))
