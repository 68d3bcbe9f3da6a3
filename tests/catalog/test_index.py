"""The index finds exactly the templates that match, and survives being written and read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raiselens_catalog import Hole, Template
from raiselens_catalog.index import TemplateIndex

pieces = st.sampled_from(["must be", " must be ", "int32", ", got ", "x", "a-b", "é ", "\n", "_", " ", "."])
templates = st.lists(pieces | st.just(Hole("h")), min_size=1, max_size=6).map(Template.from_parts)


@given(known=st.lists(templates, max_size=12), values=st.lists(pieces, max_size=3), pick=st.integers(0, 100))
def test_it_finds_what_trying_all_finds(known: list[Template], values: list[str | Hole], pick: int):
    index = TemplateIndex.load(TemplateIndex.build(known).dump())
    message = "".join(values)
    if known:
        message = known[pick % len(known)].render({"h": message})
    expected = [row for row, template in enumerate(known) if template.match(message) is not None]
    assert sorted(index.matching(message)) == expected


def test_an_empty_index():
    index = TemplateIndex.load(TemplateIndex.build([]).dump())
    assert index.matching("anything") == []
    assert len(index) == 0


@pytest.mark.parametrize("blob", [b"", b"RLX1", b"x" * 40, TemplateIndex.build([Template(("a b",))]).dump()[:-1]])
def test_other_bytes_are_refused(blob: bytes):
    with pytest.raises(ValueError, match="not a template index"):
        TemplateIndex.load(blob)
