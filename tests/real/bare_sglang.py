"""Run a script with sglang's own modules, from sources that were never installed.

    python bare_sglang.py SOURCES script.py

Its packages are made without running their `__init__`, which import serving dependencies that a guard on arguments
does not need; the modules are the real files.
"""

from __future__ import annotations

import runpy
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path


class BarePackages(MetaPathFinder):
    """Finds `sglang` packages as folders, and leaves their modules to the ordinary import."""

    def __init__(self, sources: Path) -> None:
        self.sources = sources

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        del path, target
        folder = self.sources.joinpath(*fullname.split("."))
        if fullname.partition(".")[0] != "sglang" or not folder.is_dir():
            return None
        spec = ModuleSpec(fullname, None, is_package=True)
        spec.submodule_search_locations = [str(folder)]
        return spec


if __name__ == "__main__":
    sys.meta_path.insert(0, BarePackages(Path(sys.argv[1])))
    runpy.run_path(sys.argv[2], run_name="__main__")
