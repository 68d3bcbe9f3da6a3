"""Which dotted name a file goes by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raiselens_server.source.environment import Environment
from raiselens_server.source.resolve import Resolver

if TYPE_CHECKING:
    from pathlib import Path


def test_a_stub_goes_by_the_name_of_what_it_stands_for(tmp_path: Path) -> None:
    """An installed Raiselens holds the stubs inside a package of its own, which lies on the search path."""
    own = tmp_path / "raiselens_catalog"
    stub = own / "stubs" / "lib" / "ops" / "scatter.py"
    stub.parent.mkdir(parents=True)
    for folder in (own, stub.parent, stub.parent.parent):
        (folder / "__init__.py").touch()
    stub.touch()
    environment = Environment((str(tmp_path),), stubs=(str(own / "stubs"),))
    assert Resolver(environment).package_of(str(stub)) == (str(own / "stubs"), "lib.ops.scatter")
