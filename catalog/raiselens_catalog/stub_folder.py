"""The folder of built guard stubs, laid out as import paths."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from raiselens_catalog.describe import module_of
from raiselens_catalog.record import CatalogError

if TYPE_CHECKING:
    from collections.abc import Mapping


def write_stubs(folder: Path, stubs: Mapping[str, str]) -> None:
    """Write stubs by the paths of the sources that they are of; an empty text removes one. CatalogError if it fails."""
    try:
        for path, text in stubs.items():
            place = _place(folder, path)
            if place is None:
                continue
            if text:
                place.parent.mkdir(parents=True, exist_ok=True)
                _replace(place, text)
            else:
                _remove(place, folder)
    except OSError as error:
        raise CatalogError(
            f"cannot be written: {error.strerror}", file=str(folder), remedy="check the folder's permissions"
        ) from None


def _place(folder: Path, path: str) -> Path | None:
    """Where the stub of a source lies; None for sources that nobody imports by name."""
    if PurePosixPath(path).suffix != _SUFFIX:
        return None
    names = module_of(path).split(".")
    if not all(name.isidentifier() for name in names):
        return None
    inside = Path(*names)
    return folder / (inside / "__init__.py" if path.endswith("/__init__.py") else inside.with_suffix(_SUFFIX))


_SUFFIX: Final = ".py"


def _replace(place: Path, text: str) -> None:
    """Write the whole file or, if interrupted, leave the old one: half a stub would be read as all of it."""
    fresh = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        fresh.write_text(text, encoding="utf-8", errors="surrogatepass")
        fresh.replace(place)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def _remove(place: Path, folder: Path) -> None:
    place.unlink(missing_ok=True)
    for parent in place.parents:
        if parent == folder or not parent.is_dir() or any(parent.iterdir()):
            return
        parent.rmdir()
