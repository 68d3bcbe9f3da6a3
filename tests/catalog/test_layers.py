"""Layers: the later wins in show, export and matching; imports come back unchanged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from raiselens_catalog import Catalog, CatalogError, How, Layer, records_root, stubs_root, user_data_dir

FULL = Path(__file__).with_name("full_record.json").read_text(encoding="utf-8").strip()
POOL = "77c238349aca21f2"
OFFSETS = "09c4fbdbc615cfa6"
MESSAGE = "kv-canary: scatter_req_token_ids pool_out must be int32, got torch.int64"


class Frame(NamedTuple):
    file: str
    line: int
    function: str


class Hole(NamedTuple):
    start: int
    end: int
    expr: str


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RAISELENS_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def write(path: Path, **changes: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**json.loads(FULL)["record"], **changes}), encoding="utf-8")
    return path


def test_the_bundled_layer_knows_the_seed_records():
    catalog = Catalog.open()
    assert catalog.problems == ()
    assert catalog.require(OFFSETS).record.slug == "kv-canary-scatter-req-token-ids-offsets-must-be-i"
    assert catalog.require("kv-canary-scatter-req-token-ids-pool-out-must-be-int32").record.id == POOL


def test_an_imported_record_exports_unchanged_also_after_opening_again(tmp_path: Path):
    seed = tmp_path / "seed.json"
    seed.write_text(FULL + "\n", encoding="utf-8")
    catalog = Catalog.open()
    (entry,) = catalog.import_file(seed)
    assert entry.layer is Layer.USER
    assert catalog.export("ab12cd34ef56ab78") == FULL
    assert Catalog.open().export("acme-rows-must-be-bool-g") == FULL


def test_an_imported_record_hides_the_bundled_one_and_keeps_its_guard(tmp_path: Path):
    text = Catalog.open().export(POOL)
    changed = json.loads(text)
    changed["record"]["documentation"] = "Another text."
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(changed), encoding="utf-8")
    Catalog.open().import_file(path)
    catalog = Catalog.open()
    assert json.loads(catalog.export(POOL)) == changed
    best = catalog.match("TypeError", MESSAGE)[0]
    assert best.entry.record.documentation == "Another text."
    assert best.entry.guard is not None
    assert best.entry.guard.condition == "pool_out.dtype != torch.int32"


def test_later_layers_win(tmp_path: Path):
    Catalog.open().import_file(write(tmp_path / "user.json", documentation="user"))
    team = write(tmp_path / "team.json", documentation="team")
    workspace = tmp_path / "repo"
    write(workspace / ".raiselens/records/own.json", documentation="workspace")
    message = "acme: rows[3] must be bool (got torch.uint8)"

    def said(catalog: Catalog) -> str | None:
        candidate = catalog.match("TypeError", message)[0]
        assert candidate.captures == {"i": "3", "rows[i].dtype": "torch.uint8"}
        return candidate.entry.record.documentation

    assert said(Catalog.open()) == "user"
    assert said(Catalog.open(catalogs=[team])) == "team"
    assert said(Catalog.open(catalogs=[team], workspace=workspace)) == "workspace"


def test_a_workspace_can_hold_curated_families(tmp_path: Path):
    family = tmp_path / ".raiselens/records/own.toml"
    family.parent.mkdir(parents=True)
    family.write_text('[[record]]\nrepo = "own"\nerrorMessage = "own: {x} is odd"\nerrorClass = "OwnError"\n')
    catalog = Catalog.open(workspace=tmp_path)
    assert catalog.match("own.errors.OwnError", "own: 3 is odd")[0].slug == "own-x-is-odd"


def test_broken_files_of_the_user_are_told_and_left_out(tmp_path: Path, data: Path):
    data.mkdir()
    (data / "user.sqlite").write_text("no database", encoding="utf-8")
    (tmp_path / ".raiselens/records").mkdir(parents=True)
    (tmp_path / ".raiselens/records/bad.toml").write_text("[[record]]\nrepo = \n")
    catalog = Catalog.open(workspace=tmp_path)
    first, second = catalog.problems
    assert first.startswith(f"{data / 'user.sqlite'}: cannot be used: file is not a database; ")
    assert second.startswith(f"{tmp_path / '.raiselens/records/bad.toml'}:2: not TOML")
    assert catalog.get(POOL) is not None


def test_a_named_catalog_must_be_readable(tmp_path: Path):
    with pytest.raises(CatalogError, match=r"nowhere\.json: cannot be read: No such file"):
        Catalog.open(catalogs=[tmp_path / "nowhere.json"])


def test_a_hostile_pattern_is_told_and_never_matched(tmp_path: Path):
    team = write(tmp_path / "team.json", messagePattern="(a+)+$", errorMessage="aaaa")
    catalog = Catalog.open(catalogs=[team])
    assert "record ab12cd34ef56ab78: messagePattern `(a+)+$` is refused" in catalog.problems[0]
    assert catalog.match("TypeError", "a" * 50_000 + "!") == ()
    assert catalog.require("ab12cd34ef56ab78").record.error_message == "aaaa"


def test_a_failed_import_writes_nothing(tmp_path: Path, data: Path):
    path = tmp_path / "two.jsonl"
    path.write_text(FULL + '\n{"id": "x"}\n', encoding="utf-8")
    with pytest.raises(CatalogError, match=r"two\.jsonl:2: the record has no `repo`"):
        Catalog.open().import_file(path)
    assert not (data / "user.sqlite").exists()


def test_an_unknown_record_is_told():
    with pytest.raises(CatalogError, match="no record has the id or slug `nope`; find it with"):
        Catalog.open().export("nope")


def test_what_show_accepts():
    catalog = Catalog.open()
    assert [entry.record.id for entry in catalog.find(POOL)] == [POOL]
    assert catalog.find(MESSAGE)[0].record.id == POOL
    assert catalog.find(f"TypeError: {MESSAGE}")[0].record.id == POOL
    assert catalog.find("pool_out int32")[0].record.id == POOL
    assert catalog.find("no such words here") == ()


def test_search_wants_every_word():
    catalog = Catalog.open()
    assert {entry.record.id for entry in catalog.search("offsets TypeError int64")} >= {OFFSETS}
    assert catalog.search("offsets zebra") == ()
    assert len(catalog.search("kv-canary", limit=2)) == 2


def test_related_errors_resolve():
    catalog = Catalog.open()
    related = catalog.related(catalog.require(POOL))
    assert OFFSETS in {entry.record.id for entry in related}


def test_guards_are_found_by_name_and_condition():
    catalog = Catalog.open()
    name = "sglang.kernels.ops.kv_canary.scatter_req_token_ids.launch_scatter_req_token_ids_kernel"
    found = catalog.match_guard(name, "pool_out.dtype != torch.int32")
    assert found is not None
    assert found.record.id == POOL
    assert catalog.match_guard(name, "pool_out.dtype != torch.int64") is None


def test_the_data_folder_can_be_named(data: Path):
    assert user_data_dir() == data


def test_records_and_stubs_are_found():
    assert (records_root() / "kv_canary_scatter.toml").is_file()
    assert (stubs_root() / "sglang/kernels/ops/kv_canary/scatter_req_token_ids.py").is_file()


PLACE = "/env/lib/python3.11/site-packages/sglang/kernels/ops/kv_canary/scatter_req_token_ids.py"
FUNCTION = "launch_scatter_req_token_ids_kernel"


def test_how_a_record_matched():
    catalog = Catalog.open()
    assert catalog.match("TypeError", MESSAGE)[0].how is How.EXACT
    assert catalog.match("builtins.TypeError", MESSAGE)[0].how is How.EXACT
    assert catalog.match("", MESSAGE)[0].how is How.TEMPLATE
    assert catalog.match("ValueError", MESSAGE)[0].how is How.TEMPLATE
    reworded = catalog.match("TypeError", "kv-canary: scatter_req_token_ids pool_out has to be int32, got torch.int64")
    assert [(candidate.id, candidate.how) for candidate in reworded[:1]] == [(POOL, How.FUZZY)]
    assert catalog.match("TypeError", "something else entirely went wrong here today") == ()


def test_frames_decide_between_equal_templates(tmp_path: Path):
    for number, path in enumerate(["src/acme/a.py", "src/acme/b.py"]):
        write(tmp_path / f"{number}.json", id=f"id{number}", slug=f"s{number}", filePath=path)
    catalog = Catalog.open(catalogs=[tmp_path / "0.json", tmp_path / "1.json"])
    message = "acme: rows[3] must be bool (got torch.uint8)"
    assert [candidate.rank for candidate in catalog.match("TypeError", message)] == [0, 0]
    frames = [Frame("/x/main.py", 3, "<module>"), Frame("/site-packages/acme/b.py", 12, "check")]
    assert [(c.id, c.rank) for c in catalog.match("TypeError", message, frames=frames)] == [("id1", 0), ("id0", 1)]


def test_an_agreeing_frame_ranks_before_longer_literals(tmp_path: Path):
    write(
        tmp_path / "short.json",
        id="short",
        slug="short",
        messagePattern="kv-canary: (.+?)",
        errorMessage="kv-canary: {m}",
    )
    catalog = Catalog.open(catalogs=[tmp_path / "short.json"])
    frames = [Frame(PLACE, 81, FUNCTION)]
    assert [c.id for c in catalog.match("TypeError", MESSAGE, frames=frames)] == [POOL, "short"]
    assert [c.id for c in catalog.match("TypeError", MESSAGE)] == [POOL, "short"]


def test_a_foreseen_message_keeps_its_unknown_parts_out_of_the_captures():
    message = "kv-canary: scatter_req_token_ids offsets length {offsets.shape[0]} != bs+1 (5)"
    start = message.index("{")
    hole = Hole(start, message.index("}") + 1, "offsets.shape[0]")
    best = Catalog.open().match("ValueError", message, frames=[Frame(PLACE, 88, FUNCTION)], holes=[hole])[0]
    assert best.how is How.EXACT
    assert best.captures == {"bs + 1": "5"}
