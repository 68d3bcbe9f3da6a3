"""All of a layer that matching compares, in flat arrays: templates, classes, places.

Many places raise the same words: templates are stored once each, and the records of a template are told apart by class
and place alone. A table is written to one blob and read again in milliseconds.
"""

from __future__ import annotations

import json
import struct
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from zlib import crc32

from raiselens_catalog.index import TemplateIndex
from raiselens_catalog.match import Hit, agreement, score, verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raiselens_catalog.match import Query, Target
    from raiselens_catalog.template import Template


@dataclass(frozen=True, slots=True)
class MatchTable:
    """Rows are the positions of the targets that it was built from.

    `groups[g]:groups[g + 1]` are the cells of template `g`; a cell `c` holds the rows `order[cells[c]:cells[c + 1]]`,
    which share the classes `class_sets[classes[c]]` and whether they were `mined[c]`. Places are kept by row, as
    checksums: `files` of the last two parts of the path (0: none), `names` of the last, `functions` of the name.
    """

    index: TemplateIndex
    groups: array[int]
    weights: array[int]
    lengths: array[int]
    cells: array[int]
    classes: array[int]
    mined: array[int]
    order: array[int]
    files: array[int]
    names: array[int]
    functions: array[int]
    lines: array[int]
    class_sets: tuple[tuple[str, ...], ...]
    ids: tuple[str, ...]

    @classmethod
    def build(cls, targets: Sequence[Target]) -> MatchTable:
        """Lay out `targets`; those of weight 0 are never found."""
        grouped: dict[tuple[str | None, ...], dict[tuple[tuple[str, ...], bool], list[int]]] = {}
        for row, target in enumerate(targets):
            shape = tuple(part if isinstance(part, str) else None for part in target.template.parts)
            grouped.setdefault(shape, {}).setdefault((target.class_names, target.mined), []).append(row)
        groups, cells, classes, mined, order = array("I", [0]), array("I", [0]), array("I"), array("I"), array("I")
        firsts: list[Template] = []
        sets: dict[tuple[str, ...], int] = {}
        for group in grouped.values():
            for (class_names, by_machine), rows in group.items():
                classes.append(sets.setdefault(class_names, len(sets)))
                mined.append(by_machine)
                order.extend(rows)
                cells.append(len(order))
            groups.append(len(classes))
            firsts.append(targets[order[-1]].template)
        return cls(
            index=TemplateIndex.build(firsts),
            groups=groups,
            weights=array("I", (template.weight for template in firsts)),
            lengths=array("I", (template.length for template in firsts)),
            cells=cells,
            classes=classes,
            mined=mined,
            order=order,
            files=array("I", (_file_key(target.file) for target in targets)),
            names=array("I", (_name_key(target.file) for target in targets)),
            functions=array("I", (_key(target.function) for target in targets)),
            lines=array("I", (target.line for target in targets)),
            class_sets=tuple(sets),
            ids=tuple(target.id for target in targets),
        )

    def dump(self) -> bytes:
        """The table as one blob, for `load`."""
        tables = [getattr(self, name) for name in _TABLES]
        parts = [self.index.dump(), json.dumps([self.class_sets, self.ids]).encode()]
        head = _HEAD.pack(_MAGIC, *(len(table) for table in tables), *(len(part) for part in parts))
        return b"".join((head, *(table.tobytes() for table in tables), *parts))

    @classmethod
    def load(cls, blob: bytes) -> MatchTable:
        """The table that `dump` wrote; ValueError for anything else."""
        if len(blob) < _HEAD.size or not blob.startswith(_MAGIC):
            raise ValueError("not a match table")
        *counts, index_size, text_size = _HEAD.unpack_from(blob)[1:]
        width = array("I").itemsize
        at = _HEAD.size
        if len(blob) != at + width * sum(counts) + index_size + text_size:
            raise ValueError("not a match table")
        tables: dict[str, array[int]] = {}
        for name, count in zip(_TABLES, counts, strict=True):
            tables[name] = array("I")
            tables[name].frombytes(blob[at : at + count * width])
            at += count * width
        class_sets, ids = json.loads(blob[at + index_size :])
        return cls(
            index=TemplateIndex.load(blob[at : at + index_size]),
            class_sets=tuple(map(tuple, class_sets)),
            ids=tuple(ids),
            **tables,
        )

    def hits(self, query: Query, layer: int) -> Iterator[Hit]:
        """The rows whose template is the whole message, those that fit equally well together."""
        for group in self.index.matching(query.message):
            weight, length = self.weights[group], self.lengths[group]
            for cell in range(self.groups[group], self.groups[group + 1]):
                rows = self.order[self.cells[cell] : self.cells[cell + 1]]
                for agreed, placed in self._by_place(rows, query).items():
                    how = verdict(query, self.class_sets[self.classes[cell]], weight, agreed)
                    if how is not None:
                        mined = bool(self.mined[cell])
                        yield Hit(how, score(agreed=agreed, length=length, mined=mined, layer=layer), placed)

    def _by_place(self, rows: Sequence[int], query: Query) -> dict[int, Sequence[int]]:
        """Rows by how well the raising frame agrees with their place."""
        if not query.frames:
            return {0: rows}
        frame = query.frames[-1]
        path = frame.file.replace("\\", "/")
        file, name = _file_key(path), _name_key(path)
        function = _key(frame.function.rpartition(".")[2])
        found: dict[int, list[int]] = {}
        for row in rows:
            same = self.names[row] == name != 0 and (not file or self.files[row] in {0, file})
            agreed = agreement(
                same_file=same,
                same_function=same and self.functions[row] == function != 0,
                lines_apart=abs(self.lines[row] - frame.line),
            )
            found.setdefault(agreed, []).append(row)
        return {agreed: tuple(placed) for agreed, placed in found.items()}


_TABLES: Final = (
    "groups",
    "weights",
    "lengths",
    "cells",
    "classes",
    "mined",
    "order",
    "files",
    "names",
    "functions",
    "lines",
)
_MAGIC: Final = b"RLT2"
_HEAD: Final = struct.Struct(f"<4s{len(_TABLES) + 2}I")


def _key(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass")) if text else 0


def _file_key(path: str) -> int:
    """The checksum of the last two parts of a path; 0 for one of fewer."""
    parts = path.rsplit("/", 2)
    return _key("/".join(parts[-2:])) if len(parts) > 1 else 0


def _name_key(path: str) -> int:
    return _key(path.rpartition("/")[2])
