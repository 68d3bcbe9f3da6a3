"""The static site: every part of a record is on its page, every link leads somewhere, nothing breaks out of its place."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from raiselens_catalog import Catalog, CatalogError
from raiselens_catalog.build import build
from raiselens_catalog.layers import MemorySource
from raiselens_catalog.site import write_site

FULL = Path(__file__).with_name("full_record.json")


class Links(HTMLParser):
    """The local targets of a page, and whether all its tags are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in {"meta", "link", "input"}:
            self.open.append(tag)
        self.targets += [value for name, value in attrs if name in {"href", "src"} and value]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    catalog = Catalog.open(catalogs=[FULL], data_dir=folder / "none")
    assert write_site(catalog, folder) == len(catalog)
    return folder


def test_a_page_has_all_parts(site: Path):
    page = (site / "errors/ab12cd34ef56ab78.html").read_text(encoding="utf-8")
    for heading in (
        "Error message", "What it means", "Source", "Solutions", "Example fix", "Validation code", "Type guard",
        "Handling", "When it happens", "Prevention", "Tags",
    ):  # fmt: skip
        assert f"<h2>{heading}</h2>" in page
    assert "acme: rows[{i}] must be bool" in page
    assert '<a href="../background/tensor-dtype-mismatch.html">' in page
    assert "Analysed acme/kernels@0011223344 (2026-01-02)." in page
    assert "#L11-L12" in page


def test_the_data_is_what_was_imported(site: Path):
    data = (site / "api/errors/ab12cd34ef56ab78.json").read_text(encoding="utf-8")
    assert data == FULL.read_text(encoding="utf-8").strip()


def test_every_link_leads_to_a_page_and_every_tag_is_closed(site: Path):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 200
    for path in pages:
        links = Links()
        links.feed(path.read_text(encoding="utf-8").replace("<!doctype html>", ""))
        assert links.open == []
        for target in links.targets:
            if not target.startswith(("http", "#", "data:")):
                assert (path.parent / target).is_file(), (path, target)


def test_the_search_knows_every_record(site: Path):
    rows = json.loads((site / "search.json").read_text(encoding="utf-8"))
    assert len(rows) == len(list((site / "errors").iterdir()))
    assert all((site / f"errors/{row[0]}.html").is_file() for row in rows)


def test_markup_and_paths_from_a_record_stay_text(tmp_path: Path):
    entry = Catalog.open(catalogs=[FULL], data_dir=tmp_path).require("ab12cd34ef56ab78")
    evil = replace(
        entry.record,
        repo="../../<b>",
        error_message="<script>alert(1)</script>",
        documentation='<img src=x onerror="alert(1)">',
        github_url="javascript:alert(1)",
        background_tag="../../../up",
    )
    outside = replace(evil, id="../../outside")
    entries = [replace(entry, record=record, related=()) for record in (evil, outside)]
    folder = tmp_path / "site"
    assert write_site(Catalog([MemorySource(entry.layer, entries)]), folder) == 1
    assert not list(tmp_path.glob("*.html")) + list(tmp_path.glob("outside*"))
    page = (folder / "errors/ab12cd34ef56ab78.html").read_text(encoding="utf-8")
    assert not re.search(r"<(script>|img|b>)|javascript:", page)


def test_half_a_character_in_a_record_is_published_as_jsons_escape(tmp_path: Path):
    entry = Catalog.open(catalogs=[FULL], data_dir=tmp_path).require("ab12cd34ef56ab78")
    record = replace(entry.record, error_message="half \ud800 {x}", slug="half", repo="acme/half")
    folder = tmp_path / "site"
    half = replace(entry, record=record, related=())
    assert write_site(Catalog([MemorySource(entry.layer, [half])]), folder) == 1
    data = json.loads((folder / "api/errors/ab12cd34ef56ab78.json").read_text(encoding="utf-8"))
    assert data["record"]["errorMessage"] == "half \ud800 {x}"
    assert "half \\ud800 {x}" in (folder / "errors/ab12cd34ef56ab78.html").read_text(encoding="utf-8")


def test_excerpts_of_mined_libraries_are_not_published(tmp_path: Path):
    (tmp_path / "acme.py").write_text('secret_name = 1\nraise ValueError("acme: the message of a mined error")\n')
    build([str(tmp_path)], output=tmp_path / "built.sqlite")
    catalog = Catalog.open(data_dir=tmp_path, bundled=False)
    write_site(catalog, tmp_path / "site")
    (page,) = (tmp_path / "site/errors").iterdir()
    text = page.read_text(encoding="utf-8")
    assert "the message of a mined error" in text
    assert "secret_name" not in text + (tmp_path / f"site/api/errors/{page.stem}.json").read_text()


def test_a_long_list_is_several_pages(tmp_path: Path):
    rows = "\n".join(f'raise ValueError("acme: error number {number} of many")' for number in range(1100))
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme/main.py").write_text(rows)
    build([str(tmp_path / "acme")], output=tmp_path / "built.sqlite")
    write_site(Catalog.open(data_dir=tmp_path, bundled=False), tmp_path / "site")
    pages = sorted(path.name for path in (tmp_path / "site/repos").iterdir())
    assert pages == ["acme.html", "acme.page-2.html", "acme.page-3.html"]
    texts = [(tmp_path / "site/repos" / page).read_text(encoding="utf-8") for page in pages]
    assert [text.count('href="../errors/') for text in texts] == [500, 500, 100]
    assert all(f'href="{page}"' in text for text in texts for page in pages)


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CatalogError, match="file: cannot be written: "):
        write_site(Catalog.open(data_dir=tmp_path), tmp_path / "file")
