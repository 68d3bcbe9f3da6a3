"""Records are read and written without loss; what is broken is told in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raiselens_catalog import CatalogError, with_source
from raiselens_catalog.record import Item, Json, dumps, items_from_text, record_from_json, schema_keys

if TYPE_CHECKING:
    from random import Random

FULL = Path(__file__).with_name("full_record.json").read_text(encoding="utf-8").strip()


def full() -> dict[str, object]:
    value: dict[str, object] = json.loads(FULL)["record"]
    return value


def only(text: str) -> Item:
    (item,) = items_from_text(text, file="r.json")
    return item


def test_the_full_record_has_every_key_of_the_schema():
    assert set(schema_keys()) <= set(full())
    assert list(full())[: len(schema_keys())] == list(schema_keys())


def test_an_envelope_comes_back_byte_for_byte():
    assert dumps(only(FULL).to_json()) == FULL


def test_fields_are_typed():
    record = only(FULL).record
    assert record.http_status == 422
    assert record.solutions == ("Compare instead of multiplying: `a & b`", "Convert: `rows[i].bool()`")
    assert record.extras == {"reviewedBy": None, "votes": {"up": 3, "ratio": 0.75, "of": ["a", None, True]}}


def test_absent_keys_stay_absent_and_nulls_stay_null():
    given_record = {"tags": None, "id": "a", "repo": "r", "slug": "s", "errorMessage": "m", "solutions": [], "x": 1}
    assert json.dumps(record_from_json(given_record).to_json()) == json.dumps(given_record)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    dropped=st.sets(
        st.sampled_from([key for key in schema_keys() if key not in {"id", "repo", "slug", "errorMessage"}])
    ),
    nulled=st.sets(st.sampled_from(["errorClass", "tags", "solutions", "lineNumber", "sourceCode", "preventionTips"])),
    extras=st.dictionaries(st.text(min_size=1), values, max_size=4),
    order=st.randoms(use_true_random=False),
    enveloped=st.booleans(),
)
def test_any_record_round_trips(
    dropped: set[str], nulled: set[str], extras: dict[str, Json], order: Random, enveloped: bool
):
    record = {key: value for key, value in full().items() if key not in dropped}
    record |= {key: None for key in nulled if key in record}
    record |= {key: value for key, value in extras.items() if key not in schema_keys()}
    keys = list(record)
    order.shuffle(keys)
    record = {key: record[key] for key in keys}
    value = {"region": "x", "record": record} if enveloped else record
    text = dumps(value)
    assert dumps(only(text).to_json()) == text


def test_a_lone_surrogate_is_kept_and_can_be_printed():
    text = json.dumps({**full(), "documentation": "\ud800 half"})
    written = dumps(only(text).to_json())
    assert written.encode("utf-8")
    assert json.loads(written) == json.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(json.dumps([full(), {**full(), "id": "other"}], indent=1), id="list"),
        pytest.param(json.dumps(full()) + "\n\n" + json.dumps({**full(), "id": "other"}) + "\n", id="lines"),
        pytest.param(f"{FULL}\n" + json.dumps({**full(), "id": "other"}), id="lines-with-an-envelope"),
        pytest.param("\ufeff" + json.dumps([full(), {**full(), "id": "other"}]), id="byte-order-mark"),
    ],
)
def test_several_records_in_one_file(text: str):
    assert [item.record.id for item in items_from_text(text)] == ["ab12cd34ef56ab78", "other"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "r.json: the file is empty; "),
        ("{", "r.json:1: not JSON: "),
        ('{"id": 1,\n "slug": }', "r.json:2: not JSON: "),
        ("[" * 100_000, "r.json: not JSON: "),
        ("[1]", "r.json:1: a record must be a JSON object, not a number; "),
        ('{"record": null}', "r.json:1: a record must be a JSON object, not null; "),
        ('{"id": "a"}', "r.json:1: the record has no `repo`; "),
        ('{"id": " ", "repo": "r", "slug": "s", "errorMessage": "m"}', "r.json:1: `id` is empty; "),
        (
            '{"id": "a", "repo": "r", "slug": "s", "errorMessage": "m", "schemaVersion": 3}',
            "r.json:1: schemaVersion 3 ",
        ),
        (
            '{"id": "a", "repo": "r", "slug": "s", "errorMessage": "m", "lineNumber": "7"}',
            "r.json:1: `lineNumber` must be a whole number, not a string; ",
        ),
        (
            '{"id": "a", "repo": "r", "slug": "s", "errorMessage": "m", "tags": ["a", 1]}',
            "r.json:1: `tags` must be a list of strings, not a list; ",
        ),
        ('{"id": "a", "repo": "r", "slug": "s", "errorMessage": "m"}\n{"id": }', "r.json:2: not JSON: "),
        (
            '[\n {"id": "a", "repo": "r", "slug": "s", "errorMessage": "m"},\n {"id": "b"}]',
            "r.json:3: the record has no",
        ),
        ('{"id": "a", "repo": "r", "slug": "s", "errorMessage": "m", "x": NaN}', "r.json: not JSON: NaN is not JSON; "),
        (
            '{"id": "a", "repo": "r", "slug": "s", "errorMessage": "m", "x": 1e999}',
            "r.json: not JSON: the number 1e999 ",
        ),
    ],
)
def test_broken_files_give_one_clear_line(text: str, line: str):
    with pytest.raises(CatalogError) as caught:
        items_from_text(text, file="r.json")
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)
    assert caught.value.remedy


def test_source_is_filled_around_the_raise():
    source = "\n".join(f"line {number}" for number in range(1, 101))
    record = with_source(record_from_json(full()), source, line=50)
    assert (record.source_code_start, record.source_code_end, record.line_number) == (32, 68, 50)
    assert record.source_code is not None
    assert record.source_code.split("\n") == [f"line {number}" for number in range(32, 69)]


def test_a_line_outside_the_source_changes_nothing():
    record = record_from_json(full())
    assert with_source(record, "one line", line=2) == record
