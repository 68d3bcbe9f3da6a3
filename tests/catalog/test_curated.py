"""Every curated record is complete, is unlike every other one, and matches what it says it matches."""

from __future__ import annotations

import ast
import linecache
import re
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from raiselens_catalog import Catalog, CatalogError, Entry, How, records_root, slug
from raiselens_catalog.bundled import bundled_source
from raiselens_catalog.curated import family_from_text
from raiselens_catalog.match import Query

KNOWLEDGE = (
    "documentation",
    "trigger_scenarios",
    "common_situations",
    "example_fix",
    "handling_strategy",
    "validation_code",
    "type_guard",
    "try_catch_pattern",
    "background_tag",
    "error_type",
    "error_class",
    "severity",
    "analyzed_at",
)


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory):
    return Catalog.open(data_dir=tmp_path_factory.mktemp("data"))


ENTRIES = list(Catalog.open(data_dir=Path("/nonexistent")).entries())
each = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.record.slug[:60])


def test_nothing_bundled_is_left_out(catalog: Catalog):
    assert catalog.problems == ()
    written = sum(path.read_text().count("\n[[record]]") for path in records_root().glob("*.toml"))
    assert len(catalog) == written


def test_ids_and_slugs_are_unique():
    assert len({entry.record.id for entry in ENTRIES}) == len(ENTRIES)
    assert len({entry.record.slug for entry in ENTRIES}) == len(ENTRIES)


@each
def test_every_field_is_complete(entry: Entry):
    record = entry.record
    assert [name for name in KNOWLEDGE if not (getattr(record, name) or "").strip()] == []
    assert re.fullmatch(r"[0-9a-f]{16}", record.id)
    assert len(record.solutions) >= 2
    assert record.prevention_tips
    assert record.tags
    assert len(record.documentation) >= 100
    assert entry.template is not None
    assert entry.template.weight >= 6


@each
def test_no_source_is_bundled(entry: Entry):
    record = entry.record
    assert (record.source_code, record.source_code_start, record.source_code_end) == (None, None, None)


@each
def test_code_is_python(entry: Entry):
    record = entry.record
    assert record.example_fix.startswith("# before\n")
    assert "\n# after\n" in record.example_fix
    for code in (record.example_fix, record.validation_code, record.type_guard, record.try_catch_pattern):
        ast.parse(code)


@each
def test_related_errors_exist(catalog: Catalog, entry: Entry):
    assert entry.related
    assert len(catalog.related(entry)) == len(entry.related)
    assert entry.record.id not in {other.record.id for other in catalog.related(entry)}


@each
def test_it_matches_first(catalog: Catalog, entry: Entry):
    assert len(entry.matches) >= 2
    for sample in entry.matches:
        best = catalog.match(sample.class_name, sample.message)[0]
        how = How.EXACT if sample.class_name else How.TEMPLATE
        assert (best.id, best.how) == (entry.record.id, how), sample


EXECUTABLE = [entry for entry in ENTRIES if entry.setup is not None]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("entry", EXECUTABLE, ids=lambda entry: entry.record.slug[:60])
def test_the_example_raises_the_error_and_its_fix_does_not(catalog: Catalog, entry: Entry, tmp_path: Path):
    torch = pytest.importorskip("torch")
    if "triton" in (entry.setup or ""):
        pytest.importorskip("triton")
    before, after = entry.record.example_fix.removeprefix("# before\n").split("\n# after\n")
    with pytest.raises(BaseException) as caught:  # noqa: PT011
        run(torch, tmp_path, entry.setup, before)
    kind = type(caught.value)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    best = catalog.match(name, str(caught.value))[0]
    assert (best.id, best.how) == (entry.record.id, How.EXACT)
    run(torch, tmp_path, entry.setup, after)


def run(torch: Any, folder: Path, setup: str | None, code: str) -> None:
    """Run an example as a module in a file: its classes are pickled by name, and Triton reads its kernels' source."""
    path = folder / "raiselens_example.py"
    path.write_text(f"import torch\n{setup}\n{code}\n")
    linecache.checkcache()
    module = types.ModuleType("raiselens_example")
    module.__file__ = str(path)
    sys.modules["raiselens_example"] = module
    try:
        exec(compile(path.read_text(), str(path), "exec"), module.__dict__)  # noqa: S102
    finally:
        del sys.modules["raiselens_example"]
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()


@each
def test_near_misses_do_not_match(catalog: Catalog, entry: Entry):
    assert entry.near_misses
    for sample in entry.near_misses:
        found = catalog.match(sample.class_name, sample.message)
        assert entry.record.id not in {c.id for c in found if c.how is not How.FUZZY}, sample


@each
def test_slugs_are_those_of_the_template(entry: Entry):
    if entry.record.id != "09c4fbdbc615cfa6":
        assert entry.record.slug == slug(entry.record.error_message)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x = ", "f.toml:1: not TOML: "),
        ("", "f.toml: no [[record]] in it; "),
        ("[other]\n", "f.toml: unknown table `other`; "),
        ('[[record]]\nrepo = "r"\n\n[[record]]\nnope = 1\n', "f.toml:1: the record has no `errorMessage`; "),
        ('[family]\nrepo = "r"\n\n[[record]]\nerrorMessage = "m x"\nnope = 1\n', "f.toml:4: unknown key `nope`; "),
        ('[[record]]\nerrorMessage = "m x"\n', "f.toml:1: the record has no `repo`; "),
        (
            '[[record]]\nrepo = "r"\nerrorMessage = "m x"\nguard = {condition = "x"}\n',
            "f.toml:1: `guard` is not complete; ",
        ),
        ('[[record]]\nrepo = "r"\nerrorMessage = "m x"\nmatches = ["m x"]\n', "f.toml:1: `matches` must be a list of "),
        ('[[record]]\nrepo = "r"\nerrorMessage = "m x"\nrelated = 3\n', "f.toml:1: `related` must be a list of "),
        ('[[record]]\nrepo = "r"\nerrorMessage = "m x"\nlineNumber = "3"\n', "f.toml:1: `lineNumber` must be "),
    ],
)
def test_broken_families_give_one_clear_line(text: str, line: str):
    with pytest.raises(CatalogError) as caught:
        family_from_text(text, file="f.toml")
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)


def test_the_cache_gives_the_same_until_a_file_changes(tmp_path: Path):
    family, cache = tmp_path / "f.toml", tmp_path / "cache/c.json"
    family.write_text('[[record]]\nrepo = "r"\nerrorMessage = "the first {x}"\n')

    def messages() -> list[str]:
        source = bundled_source([family], cache)
        hits = list(source.hits(Query("", "the second 1"))) + list(source.hits(Query("", "the first words 1")))
        found = [source.id_of(row) for hit in hits for row in hit.rows]
        assert [source.target(row).id for hit in hits for row in hit.rows] == found
        assert all(source.get(entry.record.slug) == entry for entry in source.entries())
        return [entry.record.error_message for entry in source.entries()]

    assert messages() == messages() == ["the first {x}"]
    for broken in ("", "{", '{"version": 3, "stamp": 3}', cache.read_text().replace('"table": "', '"table": "!')):
        cache.write_text(broken)
        assert messages() == ["the first {x}"]
    family.write_text('[[record]]\nrepo = "r"\nerrorMessage = "the second {x}"\n')
    assert messages() == ["the second {x}"]
