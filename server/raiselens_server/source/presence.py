"""Whether a file or folder is there. What cannot be looked at is not: a folder that may not be entered, a name too long.

Before Python 3.14 `Path.is_file` and its kin raise for these, and for each of them there is a path that a user can name.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def is_file(path: str | Path) -> bool:
    """Whether `path` is a regular file, or a link to one."""
    return os.path.isfile(path)


def is_folder(path: str | Path) -> bool:
    """Whether `path` is a folder, or a link to one."""
    return os.path.isdir(path)


def is_there(path: str | Path) -> bool:
    """Whether `path` names anything at all; a link to nothing does not."""
    return os.path.exists(path)
