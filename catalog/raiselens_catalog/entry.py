"""An entry: a record as the catalog holds it, with its layer and what matching needs."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from raiselens_catalog.match import Target
from raiselens_catalog.record import CatalogError, Item, dumps
from raiselens_catalog.template import Template

if TYPE_CHECKING:
    from raiselens_catalog.curated import Curated, Sample
    from raiselens_catalog.record import Envelope, Guard, Record


class Layer(enum.IntEnum):
    """Where a record comes from; the greater wins."""

    BUNDLED = 0
    BUILT = 1
    USER = 2
    TEAM = 3
    WORKSPACE = 4


@dataclass(frozen=True, slots=True)
class Entry:
    """A record as the catalog holds it.

    `origin` is the file it came from; `problem` says in one line why it cannot be matched, where it cannot; `mined`
    tells records made from source from those written by people, `on_the_spot` those that no catalog keeps.
    """

    record: Record
    layer: Layer
    template: Template | None
    envelope: Envelope | None = None
    guard: Guard | None = None
    classes: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    matches: tuple[Sample, ...] = ()
    near_misses: tuple[Sample, ...] = ()
    setup: str | None = None
    origin: str = ""
    problem: str = ""
    mined: bool = False
    on_the_spot: bool = False

    def to_json(self) -> str:
        """The record as it was imported: the same JSON, with its envelope where it had one."""
        return dumps(Item(self.record, self.envelope).to_json())

    def target(self) -> Target | None:
        """What matching needs; None for a record without a usable template."""
        if self.template is None:
            return None
        record = self.record
        return Target(
            id=record.id,
            slug=record.slug,
            template=self.template,
            class_names=((record.error_class,) if record.error_class else ()) + self.classes,
            file=record.file_path or "",
            line=record.line_number or 0,
            function=self.guard.function if self.guard else "",
            layer=self.layer,
            mined=self.mined,
        )

    def over(self, hidden: Entry) -> Entry:
        """This entry in place of `hidden`, which has its id in an earlier layer."""
        return replace(
            self,
            guard=self.guard or hidden.guard,
            classes=self.classes or hidden.classes,
            related=self.related or hidden.related,
        )


def entry_of_curated(curated: Curated, layer: Layer, origin: str, envelope: Envelope | None = None) -> Entry:
    """The entry of a curated record."""
    template, problem = _template(curated.record, origin)
    return Entry(
        record=curated.record,
        layer=layer,
        template=template,
        envelope=envelope,
        guard=curated.guard,
        classes=curated.classes,
        related=curated.related,
        matches=curated.matches,
        near_misses=curated.near_misses,
        setup=curated.setup,
        origin=origin,
        problem=problem,
    )


def entry_of_item(item: Item, layer: Layer, origin: str) -> Entry:
    """The entry of a record that was imported."""
    template, problem = _template(item.record, origin)
    return Entry(
        record=item.record, layer=layer, template=template, envelope=item.envelope, origin=origin, problem=problem
    )


def _template(record: Record, origin: str) -> tuple[Template | None, str]:
    try:
        if record.message_pattern is not None:
            return Template.from_pattern(record.message_pattern, record.error_message), ""
        return Template.from_message(record.error_message), ""
    except CatalogError as error:
        return None, f"{origin}: record {record.id}: {error}"
