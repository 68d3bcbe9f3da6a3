"""Which templates can match a message, without trying them all.

Every template is filed under one *anchor*: the rarest run of one to three neighbouring whole words among its literals.
A word is whole if no hole touches it, so the anchor stands in every message that the template matches. A message's own
runs of words are looked up, and only the templates filed there are compared with it, on UTF-8 bytes. Templates without
a whole word are filed by the first or last bytes of their literals. The cost of a look-up depends on the length of the
message and on how common its words are, not on the number of templates.

The tables are flat arrays, so a built index is written to one blob and loaded again in milliseconds.
"""

from __future__ import annotations

import re
import struct
from array import array
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from zlib import crc32

from raiselens_catalog.template import BLANKS, Hole, Template

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

HOLE: Final = b"\xff"
"""Stands for a hole in a template's bytes; UTF-8 never holds it."""

RUN: Final = 3
"""The longest run of words that is an anchor."""

_WORD: Final = re.compile(rb"[A-Za-z0-9_\x80-\xfe]+")
_EDGE: Final = 3
_EDGE_BEGIN: Final = 0x5EED
_EDGE_END: Final = 0xE11D
_ANYWHERE: Final = 0
_HEAD: Final = struct.Struct("<4sIIII")
_MAGIC: Final = b"RLX1"


@dataclass(frozen=True, slots=True)
class TemplateIndex:
    """A built index. Rows are the positions of the templates in the sequence it was built from."""

    bodies: bytes
    offsets: array[int]
    anchors: dict[int, int]
    starts: array[int]
    postings: array[int]

    @classmethod
    def build(cls, templates: Sequence[Template]) -> TemplateIndex:
        """Index `templates`; those of weight 0 are never found."""
        bodies = [template_bytes(template) for template in templates]
        runs = [_template_anchors(body) for body in bodies]
        frequency: Counter[int] = Counter()
        for anchors in runs:
            frequency.update(set(anchors))
        filed: dict[int, list[int]] = {}
        for row, (template, body, anchors) in enumerate(zip(templates, bodies, runs, strict=True)):
            if template.weight:
                rarest = min(anchors, key=frequency.__getitem__) if anchors else _edge_anchor(body)
                filed.setdefault(rarest, []).append(row)
        offsets = array("I", [0])
        for body in bodies:
            offsets.append(offsets[-1] + len(body))
        starts, postings = array("I", [0]), array("I")
        for rows in filed.values():
            postings.extend(rows)
            starts.append(len(postings))
        return cls(b"".join(bodies), offsets, {key: at for at, key in enumerate(filed)}, starts, postings)

    def dump(self) -> bytes:
        """The index as one blob, for `load`."""
        keys = array("I", self.anchors)
        parts = (self.bodies, self.offsets.tobytes(), keys.tobytes(), self.starts.tobytes(), self.postings.tobytes())
        counts = (len(self.bodies), len(self.offsets), len(keys), len(self.postings))
        return b"".join((_HEAD.pack(_MAGIC, *counts), *parts))

    @classmethod
    def load(cls, blob: bytes) -> TemplateIndex:
        """The index that `dump` wrote; ValueError for anything else."""
        if len(blob) < _HEAD.size:
            raise ValueError("not a template index")
        magic, body_size, offset_count, key_count, posting_count = _HEAD.unpack_from(blob)
        at = _HEAD.size + body_size
        size = array("I").itemsize * (offset_count + 2 * key_count + 1 + posting_count)
        if magic != _MAGIC or at + size != len(blob):
            raise ValueError("not a template index")
        tables: list[array[int]] = []
        for count in (offset_count, key_count, key_count + 1, posting_count):
            table = array("I")
            table.frombytes(blob[at : at + count * table.itemsize])
            at += count * table.itemsize
            tables.append(table)
        offsets, keys, starts, postings = tables
        anchors = dict(zip(keys, range(key_count), strict=True))
        return cls(blob[_HEAD.size : _HEAD.size + body_size], offsets, anchors, starts, postings)

    def matching(self, message: str) -> list[int]:
        """The rows whose templates match the whole message, in no order that means anything."""
        text, keys = _message_keys(message)
        anchors, starts, postings = self.anchors, self.starts, self.postings
        return [
            row
            for key in keys
            if key in anchors
            for row in postings[starts[anchors[key]] : starts[anchors[key] + 1]]
            if self._matches(row, text)
        ]

    def body(self, row: int) -> bytes:
        """A template's bytes: literals with `HOLE` between them."""
        return self.bodies[self.offsets[row] : self.offsets[row + 1]]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def _matches(self, row: int, text: bytes) -> bool:
        literals = self.body(row).split(HOLE)
        first, last = literals[0], literals[-1]
        if len(literals) == 1:
            return first == text
        end = len(text) - len(last)
        at = len(first)
        if at > end or not text.startswith(first) or not text.endswith(last):
            return False
        for literal in literals[1:-1]:
            at = text.find(literal, at, end)
            if at < 0:
                return False
            at += len(literal)
        return True


@lru_cache(maxsize=2)
def _message_keys(message: str) -> tuple[bytes, frozenset[int]]:
    """A message's bytes, and the anchors that it may hold: its runs of words and its edges.

    Every layer asks for those of the same message, and they are most of what a match costs.
    """
    text = message.rstrip(BLANKS).encode("utf-8", "surrogatepass")
    keys = _runs(_WORD.findall(text))
    keys.append(_ANYWHERE)
    for size in range(1, _EDGE + 1):
        keys += (crc32(text[:size], _EDGE_BEGIN), crc32(text[-size:], _EDGE_END))
    return text, frozenset(keys)


def template_bytes(template: Template) -> bytes:
    """The template in UTF-8, `HOLE` for each hole, without the blanks at its end."""
    body = b"".join(
        HOLE if isinstance(part, Hole) else part.encode("utf-8", "surrogatepass") for part in template.parts
    )
    return body.rstrip(BLANKS.encode())


def _template_anchors(body: bytes) -> list[int]:
    """The key of every run of whole words of a template."""
    keys: list[int] = []
    literals = body.split(HOLE)
    last = len(literals) - 1
    for index, literal in enumerate(literals):
        words = _WORD.findall(literal)
        # A word at an end of its literal may be a part of a longer one, of which the hole is the rest.
        begin = int(index > 0 and _WORD.match(literal) is not None)
        end = len(words) - int(index < last and _WORD.match(literal[-1:]) is not None)
        keys += _runs(words[begin:end])
    return keys


def _runs(words: Iterable[bytes]) -> list[int]:
    """The keys of the runs of one to `RUN` neighbouring words. A shared key costs a comparison, no more."""
    keys: list[int] = []
    before = earlier = 0
    for count, word in enumerate(words):
        alone = crc32(word)
        keys.append(alone)
        if count:
            pair = crc32(word, before)
            keys.append(pair)
            if count > 1:
                keys.append(crc32(word, earlier))
            earlier = pair
        before = alone
    return keys


def _edge_anchor(body: bytes) -> int:
    """The key of a template without a whole word: the bytes it begins or ends with, else that it is anywhere."""
    literals = body.split(HOLE)
    if literals[0]:
        return crc32(literals[0][:_EDGE], _EDGE_BEGIN)
    if literals[-1]:
        return crc32(literals[-1][-_EDGE:], _EDGE_END)
    return _ANYWHERE
