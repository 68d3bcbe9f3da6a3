"""Files that are the input of a code generator: they are read as Python, and never run."""

from __future__ import annotations

import os
from typing import Final

_PREFIX: Final = "modular_"
_HEAD: Final = 2_000


def is_template(path: str) -> bool:
    """Whether a neighbour says in its head that it was generated from this file.

    transformers' converter turns `modular_x.py` into `modeling_x.py` and its kin. In its notation `super().__init__()`
    stands for the body of the class that is copied, so what such a call binds to is not what Python would call.
    """
    folder, name = os.path.split(path)
    if not name.startswith(_PREFIX):
        return False
    try:
        siblings = sorted(entry for entry in os.listdir(folder) if entry.endswith(".py") and entry != name)
    except OSError:
        return False
    return any(_names(os.path.join(folder, sibling), name.encode()) for sibling in siblings)


def _names(path: str, name: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return False
    return name in head and b"generated from" in head
