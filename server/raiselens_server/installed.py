"""A record's source, from the installed library where there is one: none is bundled."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from raiselens_catalog import with_source
from raiselens_server.source.files import SourceError, read_source
from raiselens_server.source.presence import is_file

if TYPE_CHECKING:
    from collections.abc import Iterable

    from raiselens_catalog import Entry


def with_installed_source(entry: Entry, search_path: Iterable[str]) -> Entry:
    """`entry` with the source around its raise as it is installed; unchanged where its file is found nowhere."""
    record = entry.record
    if record.source_code or not record.file_path:
        return entry
    path = find_installed(record.file_path, search_path)
    if path is None:
        return entry
    try:
        text = read_source(path).text
    except (OSError, SourceError):
        return entry
    return replace(entry, record=with_source(record, text))


def find_installed(file_path: str, search_path: Iterable[str]) -> Path | None:
    """The installed file of a path within a repository: `python/sglang/srt/x.py` is imported from `sglang/srt/x.py`."""
    parts = PurePosixPath(file_path).parts
    if ".." in parts or PurePosixPath(file_path).is_absolute():
        return None
    folders = [Path(folder) for folder in search_path]
    # A bare file name says too little: at least its package must be there.
    for begin in range(len(parts) - 1):
        below = Path(*parts[begin:])
        found = next((folder / below for folder in folders if is_file(folder / below)), None)
        if found is not None:
            return found
    return None
