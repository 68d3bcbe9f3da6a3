"""Mining on the spot: the file that raised, in its installed version, as a layer of its own.

So any library is explained without a catalog having been built, and one that was built is not older than the file.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from raiselens_catalog.describe import Origin, entry_of_site
from raiselens_catalog.entry import Layer
from raiselens_catalog.memory import MemorySource
from raiselens_catalog.mine import mine_python
from raiselens_catalog.mine_cpp import SUFFIXES, mine_cpp
from raiselens_catalog.template import record_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from raiselens_catalog.mine import Site

_ROOTS: Final = ("site-packages/", "dist-packages/", "lib-dynload/")


def mine_on_the_spot(path: str, source: bytes, *, repo: str = "", version: str = "") -> MemorySource:
    """The sites of one source as a layer for `Catalog.match(…, also=…)`; empty where it raises nothing.

    `path` is the file as the traceback names it. `repo` and `version` are of its distribution, where known; without
    them the top package's name stands.
    """
    inside = path_in_package(path)
    mined = mine_cpp(source) if inside.endswith(tuple(SUFFIXES)) else mine_python(source)
    named = repo or inside.partition("/")[0].removesuffix(".py")
    origin = Origin(named, version, inside)
    entries = (entry_of_site(site, key, origin, source=path) for key, site in identified(named, inside, mined.sites))
    return MemorySource(Layer.BUILT, (replace(entry, on_the_spot=True) for entry in entries))


def path_in_package(path: str) -> str:
    """The part of a path behind the folder that packages are installed in; the file's name where there is none."""
    unified = path.replace("\\", "/")
    for root in _ROOTS:
        before, found, inside = unified.rpartition(root)
        if found and (not before or before.endswith("/")):
            return inside
    return unified.rpartition("/")[2]


def identified(repo: str, path: str, sites: Iterable[Site]) -> Iterator[tuple[str, Site]]:
    """Give each site an id that depends on no line: repeated sites of one function are counted."""
    seen: Counter[str] = Counter()
    for site in sites:
        place = f"{path}:{site.qualname}"
        record = record_id(repo, place, site.class_name, site.template.message)
        seen[record] += 1
        if seen[record] > 1:
            record = record_id(repo, f"{place}#{seen[record]}", site.class_name, site.template.message)
        yield record, site
