"""Building: what is found again is not read again, an interrupted build changes nothing, mined records match."""

from __future__ import annotations

import json
import os
import sqlite3
import tarfile
import zipfile
from typing import TYPE_CHECKING, NamedTuple

import pytest

from raiselens_catalog import Catalog, CatalogError, How, Layer, markdown
from raiselens_catalog import store as store_module
from raiselens_catalog.build import build
from raiselens_catalog.describe import must_hold, negated
from raiselens_catalog.mine import Kind
from raiselens_catalog.spot import mine_on_the_spot, path_in_package
from raiselens_catalog.store import VERSION, open_store

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = """\
import torch


def check(x, rows):
    if x.dtype != torch.int32:
        raise TypeError(f"acme: x must be int32, got {x.dtype}")
    if rows is None or rows.dim() != 1:
        raise ValueError("acme: rows must be 1-D")
    assert rows.shape[0] % 8 == 0, "acme: rows must be a multiple of 8"
"""
METADATA = (
    "Metadata-Version: 2.1\nName: Acme_Kernels\nVersion: 1.2\nProject-URL: Source, https://github.com/acme/kernels\n"
)


class Frame(NamedTuple):
    file: str
    line: int
    function: str


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder as site-packages is, with one distribution of two modules and a header."""
    site = tmp_path / "site-packages"
    (site / "acme/csrc").mkdir(parents=True)
    (site / "acme/__init__.py").write_text("")
    (site / "acme/rows.py").write_text(SOURCE)
    (site / "acme/csrc/rows.h").write_text('TORCH_CHECK(n > 0, "acme: n must be positive");\n')
    info = site / "acme_kernels-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA + "\nA text.\n")
    names = ["acme/__init__.py", "acme/rows.py", "acme/csrc/rows.h"]
    (info / "RECORD").write_text("".join(f"{name},sha256=x,1\n" for name in names))
    return site


def built(tmp_path: Path, *targets: str, site: Path) -> tuple[Path, dict[str, object]]:
    output = tmp_path / "data/built.sqlite"
    report = build(targets, output=output, search_path=[site]).to_json()
    report.pop("seconds")
    return output, report


def rows(store: Path) -> list[tuple[object, ...]]:
    with sqlite3.connect(store) as connection:
        return connection.execute("SELECT id, slug, qualname FROM record ORDER BY id").fetchall()


def test_a_distribution_is_built_and_its_messages_match(tmp_path: Path, site: Path):
    output, report = built(tmp_path, "acme-kernels", site=site)
    assert report == {
        "schema": 1, "files": 3, "read": 3, "raises": 2, "asserts": 1, "checks": 1, "records": 4, "stubs": 1,
        "stub_guards": 3, "stub_guards_left_out": 0, "left_out": {},
    }  # fmt: skip
    catalog = Catalog.open(data_dir=output.parent)
    best = catalog.match("TypeError", "acme: x must be int32, got torch.int64")[0]
    assert (best.slug, best.how, best.captures) == ("acme-x-must-be-int32", How.EXACT, {"x.dtype": "torch.int64"})
    record = best.entry.record
    assert (best.entry.layer, record.repo, record.analyzed_sha) == (Layer.BUILT, "acme/kernels", "1.2")
    assert (record.file_path, record.line_number) == ("acme/rows.py", 6)
    assert record.source_code is not None
    assert record.solutions[0].startswith("Make `x` a tensor of `torch.int32`")
    assert record.validation_code == "assert x.dtype == torch.int32"
    others = {entry.record.error_message for entry in catalog.related(best.entry)}
    assert {"acme: rows must be 1-D", "acme: rows must be a multiple of 8"} <= others
    assert catalog.match("RuntimeError", "acme: n must be positive")[0].entry.record.file_path == "acme/csrc/rows.h"
    assert "## Solutions" in markdown(best.entry, catalog)


def test_a_second_build_reads_only_what_changed(tmp_path: Path, site: Path):
    output, _ = built(tmp_path, "acme-kernels", site=site)
    before = rows(output)
    _, report = built(tmp_path, "acme-kernels", site=site)
    assert (report["read"], report["records"]) == (0, 4)
    (site / "acme/rows.py").write_text("\n\n# moved\n" + SOURCE)
    _, report = built(tmp_path, "acme-kernels", site=site)
    assert report["read"] == 1
    assert rows(output) == before
    (site / "acme/rows.py").unlink()
    _, report = built(tmp_path, "acme-kernels", site=site)
    assert (report["files"], report["records"]) == (2, 1)
    assert Catalog.open(data_dir=output.parent).match("ValueError", "acme: rows must be 1-D") == ()


def test_every_kind_of_target_gives_the_same_records(tmp_path: Path, site: Path):
    wheel = tmp_path / "acme_kernels-1.2-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in sorted(site.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(site))
    sdist = tmp_path / "acme_kernels-1.2.tar.gz"
    with tarfile.open(sdist, "w:gz") as archive:
        (tmp_path / "PKG-INFO").write_text(METADATA)
        archive.add(tmp_path / "PKG-INFO", "acme_kernels-1.2/PKG-INFO")
        archive.add(site / "acme", "acme_kernels-1.2/acme")
    seen = []
    for number, target in enumerate(["acme-kernels", str(wheel), str(sdist), str(site)]):
        output, report = built(tmp_path / str(number), target, site=site)
        assert report["records"] == 4
        seen.append(rows(output))
        catalog = Catalog.open(data_dir=output.parent, bundled=False)
        (found,) = catalog.match("ValueError", "acme: rows must be 1-D")
        assert "acme: rows must be 1-D" in (found.entry.record.source_code or ""), target
    assert seen[0] == seen[1] == seen[2] == seen[3]


def test_several_processes_find_the_same(tmp_path: Path, site: Path):
    for number in range(150):
        (site / f"acme/m{number}.py").write_text(f'raise ValueError("acme: number {number} is taken")\n')
    alone = build([str(site)], output=tmp_path / "a.sqlite", jobs=1)
    shared = build([str(site)], output=tmp_path / "b.sqlite", jobs=2)
    assert alone.records == shared.records == 154
    assert rows(tmp_path / "a.sqlite") == rows(tmp_path / "b.sqlite")


def test_an_interrupted_build_leaves_the_old_catalog(tmp_path: Path, site: Path):
    output, _ = built(tmp_path, "acme-kernels", site=site)
    before = rows(output)
    (site / "acme/rows.py").write_text('raise ValueError("acme: another")\n')

    def interrupt(done: int, total: int, path: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(["acme-kernels"], output=output, search_path=[site], progress=interrupt)
    assert rows(output) == before
    assert Catalog.open(data_dir=output.parent).match("ValueError", "acme: rows must be 1-D")


def test_progress_counts_to_the_end(tmp_path: Path, site: Path):
    steps: list[tuple[int, int]] = []
    build([str(site)], output=tmp_path / "a.sqlite", progress=lambda done, total, _: steps.append((done, total)))
    assert steps == [(1, 3), (2, 3), (3, 3)]


def test_one_language_leaves_the_other_alone(tmp_path: Path, site: Path):
    output = tmp_path / "a.sqlite"
    build([str(site)], output=output)
    assert build([str(site)], output=output, languages=["python"]).records == 4
    assert build([str(site)], output=tmp_path / "b.sqlite", languages=["cpp"]).records == 1


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("nothing-of-this-name", "`nothing-of-this-name` is neither installed"),
        ("./nowhere.whl", "./nowhere.whl: no such file or folder; "),
        ("empty", "`empty` holds no source to read; "),
        ("text.whl", "text.whl: is no archive; "),
    ],
)
def test_targets_that_are_none(tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch, target: str, reason: str):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.whl").write_text("text")
    with pytest.raises(CatalogError) as caught:
        build([target], output=tmp_path / "a.sqlite", search_path=[site])
    assert str(caught.value).startswith(reason)


def test_an_output_that_is_no_catalog_is_not_to_be_removed(tmp_path: Path, site: Path):
    text = tmp_path / "notes.txt"
    text.write_text("notes " * 1000)
    with pytest.raises(CatalogError, match=r"notes\.txt: .*; that is no catalog; move it away or name another file$"):
        build(["acme-kernels"], output=text, search_path=[site])
    with pytest.raises(CatalogError, match=r"; that is a folder; name a file$"):
        build(["acme-kernels"], output=tmp_path, search_path=[site])
    assert text.read_text().startswith("notes ")


def test_a_full_disk_asks_for_room(tmp_path: Path, site: Path):
    output, _ = built(tmp_path, "acme-kernels", site=site)
    store = open_store(output)
    store.connection.execute(f"PRAGMA max_page_count = {store.connection.execute('PRAGMA page_count').fetchone()[0]}")
    with (
        pytest.raises(CatalogError, match=r"; make room on its disk and try again; what it held is unchanged$"),
        store.writing() as connection,
    ):
        connection.execute("INSERT INTO blob VALUES ('large', zeroblob(1000000))")
    store.close()


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("pyproject.toml", '[build-system]\nname = "no"\n\n[project]\nversion = "1"\nname = "acme-kernels"\n'),
        ("PKG-INFO", "Metadata-Version: 2.1\nName: acme-kernels\n"),
        ("setup.cfg", "[options]\nname = no\n\n[metadata]\nname = acme-kernels\n"),
    ],
)
def test_a_checkout_has_the_same_ids_in_a_folder_of_any_name(tmp_path: Path, file: str, text: str):
    ids = []
    for name in ("acme", "my checkout #2"):
        module = tmp_path / name / "src/acme_kernels/__init__.py"
        module.parent.mkdir(parents=True)
        module.write_text(
            "def check(n):\n    if n < 1:\n        raise ValueError(f'acme: n must be positive, got {n}')\n"
        )
        (tmp_path / name / file).write_text(text)
        build([str(tmp_path / name)], output=tmp_path / f"{name}.sqlite")
        store = open_store(tmp_path / f"{name}.sqlite")
        ids.append(store.connection.execute("SELECT record.id, name FROM record, target").fetchall())
        store.close()
    assert ids[0] == ids[1]
    assert ids[0][0][1] == "acme-kernels"


def test_curated_records_come_before_mined_ones(tmp_path: Path):
    folder = tmp_path / "sglang/kernels/ops/kv_canary"
    folder.mkdir(parents=True)
    message = "kv-canary: scatter_req_token_ids pool_out must be int32, got {pool_out.dtype}"
    source = f'def launch_scatter_req_token_ids_kernel(pool_out):\n    raise TypeError(f"{message}")\n'
    (folder / "scatter_req_token_ids.py").write_text(source)
    (tmp_path / "sglang/__init__.py").write_text("")
    build([str(tmp_path / "sglang")], output=tmp_path / "data/built.sqlite")
    catalog = Catalog.open(data_dir=tmp_path / "data")
    frame = Frame(str(folder / "scatter_req_token_ids.py"), 2, "launch_scatter_req_token_ids_kernel")
    for frames in ([], [frame]):
        candidates = catalog.match("TypeError", message.replace("{pool_out.dtype}", "torch.int64"), frames=frames)
        assert [candidate.entry.mined for candidate in candidates] == [False, True]


def test_the_raising_file_is_mined_on_the_spot(tmp_path: Path):
    path = "/env/lib/python3.12/site-packages/acme/rows.py"
    catalog = Catalog.open(data_dir=tmp_path)
    frames = [Frame("main.py", 1, "<module>"), Frame(path, 6, "check")]
    spot = mine_on_the_spot(path, SOURCE.encode())
    best = catalog.match("TypeError", "acme: x must be int32, got torch.int64", frames=frames, also=[spot])[0]
    assert (best.how, best.slug) == (How.EXACT, "acme-x-must-be-int32")
    assert best.entry.guard is not None
    assert best.entry.guard.condition == "x.dtype != torch.int32"
    assert best.entry.record.file_path == "acme/rows.py"
    assert catalog.match("TypeError", "acme: x must be int32, got torch.int64", frames=frames) == ()


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("/a/lib/python3.11/site-packages/pkg/mod.py", "pkg/mod.py"),
        ("C:\\py\\Lib\\site-packages\\pkg\\mod.py", "pkg/mod.py"),
        ("/home/me/my-site-packages/mod.py", "mod.py"),
        ("mod.py", "mod.py"),
    ],
)
def test_paths_in_packages(path: str, inside: str):
    assert path_in_package(path) == inside


@pytest.mark.parametrize(
    ("condition", "opposite"),
    [
        ("x.dtype != torch.int32", "x.dtype == torch.int32"),
        ("a is None or b not in (1, 2)", "a is not None and b in (1, 2)"),
        ("not x.is_contiguous()", "x.is_contiguous()"),
        ("a < b < c", "not a < b < c"),
        ("match x: case _", ""),
    ],
)
def test_what_must_hold(condition: str, opposite: str):
    assert negated(condition) == opposite
    assert must_hold(Kind.ASSERT, condition) == condition


def test_a_reader_sees_the_old_catalog_until_the_new_one_is_whole(tmp_path: Path, site: Path):
    output, _ = built(tmp_path, "acme-kernels", site=site)
    reader = Catalog.open(data_dir=output.parent)
    assert reader.match("ValueError", "acme: rows must be 1-D")
    store = open_store(output)
    with store.writing() as connection:
        store.forget_file(connection.execute("SELECT id FROM file WHERE path LIKE '%rows.py'").fetchone()[0])
        assert reader.match("ValueError", "acme: rows must be 1-D")
    os.utime(output)
    assert reader.match("ValueError", "acme: rows must be 1-D") == ()


def test_stores_of_others_and_of_the_future_are_refused(tmp_path: Path):
    other, future = tmp_path / "other.sqlite", tmp_path / "future.sqlite"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE t(x)")
    open_store(future, create=True).close()
    with sqlite3.connect(future) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(CatalogError, match=r"other\.sqlite: it is a database of another program; "):
        open_store(other)
    with pytest.raises(CatalogError, match=r"future\.sqlite: it was written by a newer raiselens"):
        Catalog.open(catalogs=[future], data_dir=tmp_path)
    with pytest.raises(CatalogError, match=r"none\.sqlite: no such catalog; "):
        open_store(tmp_path / "none.sqlite")


def test_a_built_file_can_be_a_team_catalog(tmp_path: Path, site: Path):
    build([str(site)], output=tmp_path / "team.sqlite")
    catalog = Catalog.open(catalogs=[tmp_path / "team.sqlite"], data_dir=tmp_path / "none")
    best = catalog.match("ValueError", "acme: rows must be 1-D")[0]
    assert best.entry.layer is Layer.TEAM
    assert json.loads(catalog.export(best.id))["errorClass"] == "ValueError"
    assert [entry.record.id for entry in catalog.search("acme rows multiple")]


def test_a_store_of_an_older_version_is_brought_up_to_date(tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch):
    build([str(site)], output=tmp_path / "old.sqlite")
    monkeypatch.setattr(store_module, "VERSION", VERSION + 2)
    added = "CREATE TABLE added(x); INSERT INTO added SELECT count(*) FROM record"
    monkeypatch.setattr(store_module, "UPGRADES", {VERSION: added, VERSION + 1: "ALTER TABLE added RENAME TO counted"})
    store = open_store(tmp_path / "old.sqlite")
    (counted,) = store.connection.execute("SELECT x FROM counted").fetchone()
    assert counted == store.connection.execute("SELECT count(*) FROM record").fetchone()[0] > 0
    store.close()
    # Once is enough: the steps would fail the second time.
    open_store(tmp_path / "old.sqlite").close()


def test_an_upgrade_that_fails_leaves_the_store_as_it_was(tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch):
    build([str(site)], output=tmp_path / "old.sqlite")
    with monkeypatch.context() as newer:
        newer.setattr(store_module, "VERSION", VERSION + 1)
        newer.setattr(store_module, "UPGRADES", {VERSION: "DROP TABLE record; SELECT * FROM missing"})
        with pytest.raises(CatalogError, match=r"old\.sqlite: cannot be used: no such table: missing"):
            open_store(tmp_path / "old.sqlite")
    assert Catalog.open(catalogs=[tmp_path / "old.sqlite"], data_dir=tmp_path / "none").match(
        "ValueError", "acme: rows must be 1-D"
    )
    store = open_store(tmp_path / "old.sqlite")
    assert store.connection.execute("SELECT count(*) FROM record").fetchone()[0] > 0
    assert store.connection.execute("PRAGMA user_version").fetchone()[0] == VERSION
