"""Addresses of a text under edits: a statement keeps its address, also when lines above it come and go.

An address is a byte offset into the text as it was first read. The text of a region that was replaced since lies at
addresses of its own, `SLOT` apart. So what is known by address (IR, sites, findings) outlives an edit elsewhere, and
only who shows a place asks where it is now.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SLOT: Final = 1 << 40
"""The room between the addresses of two replaced regions; no file is as long."""


@dataclass(slots=True)
class Patch:
    """A region of the first text, half-open, and the text that stands there now."""

    start: int
    end: int
    text: bytes

    @property
    def growth(self) -> int:
        """How much longer the text has become."""
        return len(self.text) - (self.end - self.start)


class Layout:
    """A text, and its regions that were replaced; these are disjoint."""

    def __init__(self, first: bytes) -> None:
        self.first = first
        self._patches: list[Patch] = []

    @property
    def edited(self) -> bool:
        """Whether anything was replaced."""
        return bool(self._patches)

    def offset(self, address: int) -> int:
        """Where an address is now, as a byte offset."""
        if not self._patches:
            return address
        slot, inside = divmod(address, SLOT)
        if slot:
            patch = self._patches[slot - 1]
            return self._moved(patch.start) + inside
        return self._moved(address)

    def _moved(self, address: int) -> int:
        return address + sum(patch.growth for patch in self._patches if patch.end <= address)

    def slice(self, start: int, end: int) -> bytes:
        """The text between two addresses of one region."""
        slot, inside = divmod(start, SLOT)
        if slot:
            return self._patches[slot - 1].text[inside : inside + end - start]
        return self.first[start:end]

    def address(self, offset: int) -> int:
        """The address of a byte offset of the text as it is now."""
        moved = 0
        for patch in sorted(self._patches, key=lambda patch: patch.start):
            start = patch.start + moved
            if offset < start:
                break
            if offset < start + len(patch.text):
                return (self._patches.index(patch) + 1) * SLOT + offset - start
            moved += patch.growth
        return offset - moved

    def region(self, start: int, end: int) -> tuple[int, int]:
        """Where a region of the first text, replaced or not, is now."""
        begin = self._moved(start)
        for patch in self._patches:
            if patch.start == start:
                return begin, begin + len(patch.text)
        return begin, begin + end - start

    def replace(self, start: int, end: int, text: bytes) -> int:
        """Put `text` in the place of a region of the first text, or of what stands there now; its address."""
        for slot, patch in enumerate(self._patches, 1):
            if patch.start == start:
                patch.text = text
                return slot * SLOT
        self._patches.append(Patch(start, end, text))
        return len(self._patches) * SLOT

    def next_address(self, start: int) -> int:
        """The address that `replace` would answer for the region that begins at `start`."""
        for slot, patch in enumerate(self._patches, 1):
            if patch.start == start:
                return slot * SLOT
        return (len(self._patches) + 1) * SLOT
