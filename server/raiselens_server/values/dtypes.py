"""torch's dtypes by name: families, sizes, aliases and promotion.

A set of names says which dtypes a tensor may have: one name is a known dtype, `ALL` an unknown one, and `FLOATING`
"some floating dtype", as the ambient default is where nothing says which.
"""

from __future__ import annotations

from typing import Final

BITS: Final[dict[str, int]] = {
    "bool": 8,
    "uint8": 8,
    "uint16": 16,
    "uint32": 32,
    "uint64": 64,
    "int8": 8,
    "int16": 16,
    "int32": 32,
    "int64": 64,
    "float16": 16,
    "bfloat16": 16,
    "float32": 32,
    "float64": 64,
    "float8_e4m3fn": 8,
    "float8_e4m3fnuz": 8,
    "float8_e5m2": 8,
    "float8_e5m2fnuz": 8,
    "float8_e8m0fnu": 8,
    "float4_e2m1fn_x2": 8,
    "complex32": 32,
    "complex64": 64,
    "complex128": 128,
    "quint8": 8,
    "qint8": 8,
    "qint32": 32,
}
"""Storage bits of one element."""

ALIASES: Final[dict[str, str]] = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "cfloat": "complex64",
    "cdouble": "complex128",
    "chalf": "complex32",
}
"""`torch.long` is `torch.int64`: attribute of the torch module → the name that torch prints."""

CAST_METHODS: Final[dict[str, str]] = {
    "bool": "bool",
    "byte": "uint8",
    "char": "int8",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "float": "float32",
    "double": "float64",
}
"""`x.long()` gives int64: method of a tensor → the dtype."""

LEGACY: Final = {
    "Byte": "uint8",
    "Char": "int8",
    "Short": "int16",
    "Int": "int32",
    "Long": "int64",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Float": "float32",
    "Double": "float64",
    "Bool": "bool",
}
"""`torch.IntTensor` makes and names int32 tensors: the constructor's name without `Tensor` → the dtype."""

ALL: Final = frozenset(BITS)
FLOATING: Final = frozenset({"float16", "bfloat16", "float32", "float64"})
FLOAT8: Final = frozenset(name for name in BITS if name.startswith("float8"))
ANY_FLOATING: Final = FLOATING | FLOAT8 | {"float4_e2m1fn_x2"}
COMPLEX: Final = frozenset({"complex32", "complex64", "complex128"})
INTEGRAL: Final = frozenset({"uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"})


def canonical(name: str) -> str | None:
    """The printed name of `torch.<name>`, or None where that is no dtype."""
    if name in BITS:
        return name
    return ALIASES.get(name)


def only(dtypes: frozenset[str]) -> str | None:
    """The dtype, where just one is possible."""
    if len(dtypes) == 1:
        (name,) = dtypes
        return name
    return None
