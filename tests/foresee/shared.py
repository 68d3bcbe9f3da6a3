"""The project that the text cases share, so that a library's source is read once for all of them."""

from __future__ import annotations

import functools
import sysconfig

from raiselens_catalog import stubs_root
from raiselens_server.foresee import Environment, Project

LIBRARIES = sysconfig.get_paths()["purelib"]


@functools.cache
def shared_project(version: tuple[int, int] = (3, 11), *extra: str) -> Project:
    """A project with the installed libraries and the bundled stubs; `extra` folders are searched first."""
    return Project(Environment((*extra, LIBRARIES), (str(stubs_root()),), version))
