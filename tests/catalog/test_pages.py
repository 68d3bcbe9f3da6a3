"""A page has all the parts of the seeds' page, and nothing of a record can break out of its place."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from raiselens_catalog import Catalog, Entry, hover, json_text, markdown
from raiselens_catalog.pages import title

FULL = Path(__file__).with_name("full_record.json")


@pytest.fixture
def entry(tmp_path: Path):
    return Catalog.open(catalogs=[FULL], data_dir=tmp_path).require("ab12cd34ef56ab78")


def test_a_page_has_all_parts(entry: Entry, tmp_path: Path):
    page = markdown(entry, Catalog.open(catalogs=[FULL], data_dir=tmp_path))
    record = entry.record
    for part in (
        "# acme: rows\\[{i}\\] must be bool",
        "acme/kernels · error · TypeError · code ACME-17 · validation",
        record.error_message,
        record.documentation,
        "Thrown at [src/acme/rows.py:12](https://github.com/acme/kernels/blob/",
        record.source_code,
        "(pinned to `0011223344`)",
        "1. Compare instead of multiplying: `a & b`\n2. Convert: `rows[i].bool()`",
        record.example_fix,
        record.validation_code,
        record.type_guard,
        "Strategy: type-guard",
        record.try_catch_pattern,
        "**Trigger:** A mask made by arithmetic.",
        "**Common situations:** Comparisons were multiplied.",
        "- Keep masks boolean",
        "`mask` `dtype-validation` · background: `tensor-dtype-mismatch`",
        "Analysed acme/kernels@0011223344 (2026-01-02).",
    ):
        assert part in page


def test_related_errors_are_links(tmp_path: Path):
    catalog = Catalog.open(data_dir=tmp_path)
    page = markdown(catalog.require("77c238349aca21f2"), catalog)
    assert "(raiselens:09c4fbdbc615cfa6)" in page


def test_a_hover_is_shorter_and_shows_this_run(entry: Entry, tmp_path: Path):
    text = hover(entry, {"i": "3"})
    assert "Here: `i` = `3`" in text
    assert len(text) < len(markdown(entry))


def test_what_is_absent_leaves_no_heading(entry: Entry):
    bare = replace(
        entry,
        record=replace(
            entry.record, documentation=None, solutions=(), example_fix=None, handling_strategy=None,
            try_catch_pattern=None, tags=(), background_tag=None, file_path=None, github_url=None,
        ),
    )  # fmt: skip
    page = markdown(bare)
    for heading in ("What it means", "Solutions", "Example fix", "Handling", "Tags", "Source"):
        assert f"## {heading}" not in page


def test_markup_from_a_record_stays_text(entry: Entry):
    evil = replace(
        entry,
        record=replace(
            entry.record,
            error_message="```\n<script>alert(1)</script>",
            documentation='<img src=x onerror="alert(1)"> [click](javascript:alert(1))',
            github_url="javascript:alert(1)",
        ),
    )
    for text in (markdown(evil), hover(evil, {"`x`": "<b>"})):
        html = MarkdownIt("commonmark", {"html": True}).render(text)
        assert not re.search(r"<(script|img|b)\b|href=\"javascript", html)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("x must be int32, got {x.dtype}", "x must be int32, got"),
        ("{a} is on {b}", "{a} is on {b}"),
        ("two\nlines", "two lines"),
        ("w" * 300, "w" * 119 + "…"),
    ],
)
def test_titles(entry: Entry, message: str, expected: str):
    assert title(replace(entry.record, error_message=message)) == expected


def test_json_is_the_record(entry: Entry):
    assert json.loads(json_text(entry.record)) == json.loads(FULL.read_text())["record"]
