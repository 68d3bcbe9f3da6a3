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
from raiselens_catalog.match import Hit, How, agreement, score, verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from raiselens_catalog.match import Query, Target

_HEAD: Final = struct.Struct("<4s7I")
_MAGIC: Final = b"RLT1"


@dataclass(frozen=True, slots=True)
class MatchTable:
    """Rows are the positions of the targets that it was built from, grouped by template.

    `groups[g]:groups[g + 1]` are the positions in `order` of the rows of template `g`. Places are kept as checksums:
    `files` of the last two parts of the path (0: none), `names` of the last, `functions` of the name.
    """

    index: TemplateIndex
    groups: array[int]
    order: array[int]
    weights: array[int]
    class_sets: tuple[tuple[str, ...], ...]
    classes: array[int]
    files: array[int]
    names: array[int]
    functions: array[int]
    lines: array[int]
    mined: bytes
    ids: tuple[str, ...]

    @classmethod
    def build(cls, targets: Sequence[Target]) -> MatchTable:
        """Lay out `targets`; those of weight 0 are never found."""
        grouped: dict[tuple[str | None, ...], list[int]] = {}
        for row, target in enumerate(targets):
            shape = tuple(part if isinstance(part, str) else None for part in target.template.parts)
            grouped.setdefault(shape, []).append(row)
        firsts = [targets[rows[0]].template for rows in grouped.values()]
        groups, order = array("I", [0]), array("I")
        for rows in grouped.values():
            order.extend(rows)
            groups.append(len(order))
        sets: dict[tuple[str, ...], int] = {}
        return cls(
            index=TemplateIndex.build(firsts),
            groups=groups,
            order=order,
            weights=array("I", (template.weight for template in firsts)),
            classes=array("I", [sets.setdefault(target.class_names, len(sets)) for target in targets]),
            class_sets=tuple(sets),
            files=array("I", (_file_key(target.file) for target in targets)),
            names=array("I", (_name_key(target.file) for target in targets)),
            functions=array("I", (_key(target.function) for target in targets)),
            lines=array("I", (target.line for target in targets)),
            mined=bytes(target.mined for target in targets),
            ids=tuple(target.id for target in targets),
        )

    def dump(self) -> bytes:
        """The table as one blob, for `load`."""
        tables = (self.groups, self.order, self.weights, self.classes, self.files, self.names, self.functions)
        packed = b"".join(table.tobytes() for table in (*tables, self.lines))
        index = self.index.dump()
        texts = json.dumps([self.class_sets]).encode(), "\n".join(self.ids).encode()
        sizes = (len(index), len(self.groups), len(self.order), len(self.weights), *map(len, texts), len(self.mined))
        return b"".join((_HEAD.pack(_MAGIC, *sizes), index, packed, *texts, self.mined))

    @classmethod
    def load(cls, blob: bytes) -> MatchTable:
        """The table that `dump` wrote; ValueError for anything else."""
        if len(blob) < _HEAD.size:
            raise ValueError("not a match table")
        magic, index_size, groups, rows, weights, classes_size, ids_size, mined_size = _HEAD.unpack_from(blob)
        counts = (groups, rows, weights, *(rows,) * 5)
        width = array("I").itemsize
        if magic != _MAGIC or len(blob) != _HEAD.size + index_size + width * sum(counts) + sum(
            (classes_size, ids_size, mined_size)
        ):
            raise ValueError("not a match table")
        at = _HEAD.size
        index = TemplateIndex.load(blob[at : at + index_size])
        at += index_size
        tables: list[array[int]] = []
        for count in counts:
            table = array("I")
            table.frombytes(blob[at : at + count * width])
            at += count * width
            tables.append(table)
        texts = blob[at + classes_size : at + classes_size + ids_size].decode()
        group_table, order, weight_table, classes, files, names, functions, lines = tables
        return cls(
            index=index,
            groups=group_table,
            order=order,
            weights=weight_table,
            class_sets=tuple(tuple(given) for given in json.loads(blob[at : at + classes_size])[0]),
            classes=classes,
            files=files,
            names=names,
            functions=functions,
            lines=lines,
            mined=blob[at + classes_size + ids_size :],
            ids=tuple(texts.split("\n")) if texts else (),
        )

    def hits(self, query: Query, layer: int) -> Iterator[Hit]:
        """The rows whose template is the whole message, those that fit equally well together."""
        for group in self.index.matching(query.message):
            rows = self.order[self.groups[group] : self.groups[group + 1]]
            for agreed, placed in self._by_place(rows, query):
                for (how, mined), alike in self._by_class(placed, query, self.weights[group], agreed).items():
                    yield Hit(how, score(agreed=agreed, weight=self.weights[group], mined=mined, layer=layer), alike)

    def _by_place(self, rows: Iterable[int], query: Query) -> Iterator[tuple[int, Sequence[int]]]:
        """Rows by how well the raising frame agrees with their place."""
        if not query.frames:
            yield 0, list(rows)
            return
        frame = query.frames[-1]
        path = frame.file.replace("\\", "/")
        file, name = _file_key(path), _name_key(path)
        function = _key(frame.function.rpartition(".")[2])
        found: dict[int, list[int]] = {}
        for row in rows:
            same = self.files[row] == file if file and self.files[row] else bool(name) and self.names[row] == name
            agreed = agreement(
                same_file=same,
                same_function=same and self.functions[row] == function,
                lines_apart=abs(self.lines[row] - frame.line),
            )
            found.setdefault(agreed, []).append(row)
        yield from found.items()

    def _by_class(
        self, rows: Iterable[int], query: Query, weight: int, agreed: int
    ) -> dict[tuple[How, bool], list[int]]:
        """Rows by how they match and by who wrote them."""
        judged: dict[int, How | None] = {}
        found: dict[tuple[How, bool], list[int]] = {}
        for row in rows:
            kind = self.classes[row]
            if kind not in judged:
                judged[kind] = verdict(query, self.class_sets[kind], weight, agreed)
            how = judged[kind]
            if how is not None:
                found.setdefault((how, bool(self.mined[row])), []).append(row)
        return found


def _key(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass")) if text else 0


def _file_key(path: str) -> int:
    """The checksum of the last two parts of a path; 0 for one of fewer."""
    parts = path.rsplit("/", 2)
    return _key("/".join(parts[-2:])) if len(parts) > 1 else 0


def _name_key(path: str) -> int:
    return _key(path.rpartition("/")[2])
