# ruff: noqa: INP001 - a script
"""Starts the bundled `raiselens`: `python -I launch.py server`.

The bundled packages come first on the path, whatever is installed where the interpreter is: a user's own pygls or
tree-sitter must never be the one that the server imports.
"""

import pathlib
import sys

here = pathlib.Path(__file__).resolve().parent
native = here / f"cp{sys.version_info.major}{sys.version_info.minor}"
if not native.is_dir():
    found = ", ".join(sorted(folder.name for folder in here.glob("cp3*")))
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    sys.exit(f"raiselens: no native modules for Python {version} are bundled (there are: {found})")
sys.path[:0] = [str(here / "raiselens"), str(here / "shared"), str(native)]

from raiselens_server.cli.main import main  # noqa: E402 - only now it can be found

sys.exit(main())
