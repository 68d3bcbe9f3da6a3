"""Where both ways in meet: matching, and what a log's error learns from foreseeing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from raiselens_catalog import Catalog, stubs_root
from raiselens_server.diagnose import Explainer, check, finding_at, match_record
from raiselens_server.error import Foreseen, Frame, Hole, Observed, Place, RaisedError, Role, Severity, Span
from raiselens_server.foresee import Environment, Project

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RECORD = "77c238349aca21f2"
MESSAGE = "kv-canary: scatter_req_token_ids pool_out must be int32, got torch.int64"
OPEN = "kv-canary: scatter_req_token_ids pool_out must be int32, got {pool.dtype}"
SCRIPT = """\
import torch
from sglang.kernels.ops.kv_canary.scatter_req_token_ids import launch_scatter_req_token_ids_kernel as scatter

pool = torch.zeros((8, 16), dtype=torch.int64)

scatter(
    flat_in=torch.arange(4), offsets=torch.tensor([0, 4]), req_pool_indices=torch.tensor([1]), pool_out=pool,
)
"""

UNSURE = """\
import os
import torch

STRICT = os.environ.get("STRICT") == "1"


def store(pool):
    if STRICT and pool.dtype != torch.int32:
        raise TypeError(f"pool must be int32, got {pool.dtype}")
    return pool


def main():
    pool = torch.zeros((8, 16), dtype=torch.int64)
    store(pool)
"""
UNSURE_LOG = """\
Traceback (most recent call last):
  File "{file}", line 15, in main
    store(pool)
  File "{file}", line 9, in store
    raise TypeError(f"pool must be int32, got {{pool.dtype}}")
TypeError: pool must be int32, got torch.int64
"""


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    return Catalog.open(data_dir=tmp_path_factory.mktemp("data"))


@pytest.fixture
def environment() -> Environment:
    return Environment((), (str(stubs_root()),))


def foreseen(message: str, *, condition: str = "", callee: str = "", holes: tuple[Hole, ...] = ()) -> RaisedError:
    place = Place("a.py", Span(1, 1, 1, 2))
    origin = Foreseen(place, Severity.ERROR, "r", condition, callee, None, holes)
    return RaisedError("TypeError", message, (), origin)


def observed(message: str, *, role: Role = Role.ROOT, frames: tuple[Frame, ...] = ()) -> RaisedError:
    return RaisedError("TypeError", message, frames, Observed(1, 1, role))


class TestMatching:
    def test_foreseen_and_observed_have_one_record(self, catalog: Catalog) -> None:
        start = OPEN.index("{")
        for error in (
            foreseen(MESSAGE),
            observed(MESSAGE),
            foreseen(OPEN, holes=(Hole(start, len(OPEN), "pool.dtype"),)),
        ):
            record = match_record(catalog, error)
            assert record is not None
            assert (record.record_id, record.how) == (RECORD, "exact")

    def test_only_an_observed_error_is_matched_by_resemblance(self, catalog: Catalog) -> None:
        near = MESSAGE.replace("must be", "has to be")
        seen = match_record(catalog, observed(near))
        assert seen is not None
        assert (seen.record_id, seen.how) == (RECORD, "fuzzy")
        assert match_record(catalog, foreseen(near)) is None

    def test_what_nothing_matches_has_no_record(self, catalog: Catalog) -> None:
        assert match_record(catalog, observed("no record speaks of this, nor anything like it")) is None
        assert match_record(catalog, foreseen("", condition="x", callee="f")) is None


class TestFindingAt:
    def test_the_statement_comes_before_what_it_is_related_to(
        self, catalog: Catalog, environment: Environment, tmp_path: Path
    ) -> None:
        path = tmp_path / "main.py"
        path.write_text(SCRIPT)
        (finding,) = check(Project(environment, [str(path)]), catalog, str(path)).diagnoses
        for line in (4, 6, 7, 8):
            assert finding_at([finding], str(path), line) is finding
        for line in (1, 3, 5, 9):
            assert finding_at([finding], str(path), line) is None
        assert finding_at([finding], "other.py", 6) is None


class TestExplaining:
    LOG = (
        f'Traceback (most recent call last):\n  File "{{}}", line 7, in <module>\n    scatter(\nTypeError: {MESSAGE}\n'
    )

    def test_an_error_of_a_log_is_repaired_where_its_code_is(
        self, catalog: Catalog, environment: Environment, tmp_path: Path
    ) -> None:
        (tmp_path / "app").mkdir()
        path = tmp_path / "app" / "main.py"
        path.write_text(SCRIPT)
        explainer = Explainer(catalog, environment, tmp_path, (("/srv/image", str(tmp_path)),))
        for printed in (str(path), "app/main.py", "/srv/image/app/main.py", "/elsewhere/app/main.py"):
            explained = explainer.explain_text(self.LOG.format(printed))
            (diagnosis,) = explained.diagnoses
            assert explained.local == {printed: str(path)}
            assert diagnosis.error.frames[0].file == printed
            assert diagnosis.repairs[0].title == "Allocate `pool` as torch.int32"
            assert diagnosis.repairs[0].edits[0].place.file == str(path)

    def test_code_beside_the_workspace_is_the_user_s_too_but_a_library_is_not(
        self, catalog: Catalog, environment: Environment, tmp_path: Path
    ) -> None:
        for folder, offered in (("beside", True), ("venv/lib/python3.11/site-packages/pkg", False)):
            path = tmp_path / folder / "main.py"
            path.parent.mkdir(parents=True)
            path.write_text(SCRIPT)
            explainer = Explainer(catalog, environment, tmp_path / "work")
            (diagnosis,) = explainer.explain_text(self.LOG.format(path)).diagnoses
            assert bool(diagnosis.repairs) is offered

    def test_code_that_is_not_here_is_explained_without_repairs(
        self, catalog: Catalog, environment: Environment, tmp_path: Path
    ) -> None:
        (diagnosis,) = Explainer(catalog, environment, tmp_path).explain_text(self.LOG.format("/srv/x.py")).diagnoses
        assert (diagnosis.rule, diagnosis.repairs) == ("kv-canary-scatter-req-token-ids-pool-out-must-be-int32", ())

    def test_another_line_of_the_file_is_another_error(
        self, catalog: Catalog, environment: Environment, tmp_path: Path
    ) -> None:
        path = tmp_path / "main.py"
        path.write_text(SCRIPT)
        log = self.LOG.format(path).replace("line 7", "line 4").replace("scatter(", SCRIPT.splitlines()[3])
        (diagnosis,) = Explainer(catalog, environment, tmp_path).explain_text(log).diagnoses
        assert diagnosis.repairs == ()

    @pytest.mark.parametrize(
        ("edit", "offered"),
        [
            (lambda text: text, True),
            (lambda text: f"# a line was added\n{text}", True),
            (lambda text: text.replace("scatter(\n", "scatter(  # now\n"), False),
            (lambda text: f"{text}\n{text[text.index('scatter(') :]}", True),
            (lambda text: f"\n{text}\n{text[text.index('scatter(') :]}", False),
        ],
        ids=["as it was", "moved", "edited", "twice, one in its place", "twice, none in its place"],
    )
    def test_the_code_must_read_as_it_did_when_it_ran(
        self,
        catalog: Catalog,
        environment: Environment,
        tmp_path: Path,
        edit: Callable[[str], str],
        *,
        offered: bool,
    ) -> None:
        path = tmp_path / "main.py"
        path.write_text(edit(SCRIPT))
        log = self.LOG.format(path).replace("line 7", "line 6")
        (diagnosis,) = Explainer(catalog, environment, tmp_path).explain_text(log).diagnoses
        assert bool(diagnosis.repairs) is offered

    def test_a_file_is_known_by_its_name_where_its_lines_agree(
        self, catalog: Catalog, environment: Environment, tmp_path: Path
    ) -> None:
        (tmp_path / "main.py").write_text(SCRIPT)
        log = self.LOG.format("/srv/x/y/main.py").replace("line 7", "line 6")
        explainer = Explainer(catalog, environment, tmp_path)
        assert explainer.explain_text(log).local == {"/srv/x/y/main.py": str(tmp_path / "main.py")}
        assert explainer.explain_text(log.replace("scatter(", "gather(")).local == {}

    def test_another_message_of_the_same_class_is_another_error(
        self, catalog: Catalog, environment: Environment, tmp_path: Path
    ) -> None:
        path = tmp_path / "main.py"
        path.write_text(SCRIPT)
        log = self.LOG.format(path).replace("line 7", "line 6").replace("pool_out must", "flat_in must")
        (diagnosis,) = Explainer(catalog, environment, tmp_path).explain_text(log).diagnoses
        assert diagnosis.repairs == ()

    def test_the_run_proves_what_foreseeing_could_not_decide(
        self, catalog: Catalog, environment: Environment, tmp_path: Path
    ) -> None:
        path = tmp_path / "main.py"
        path.write_text(UNSURE)
        explainer = Explainer(catalog, environment, tmp_path)
        assert not explainer.project.check(str(path)).errors
        log = UNSURE_LOG.format(file=path)
        (diagnosis,) = explainer.explain_text(log).diagnoses
        assert diagnosis.repairs[0].title == "Allocate `pool` as torch.int32"
        other = log.replace("pool must be int32", "pool must be int16")
        assert explainer.explain_text(other).diagnoses[0].repairs == ()
        assert not explainer.project.check(str(path)).errors

    def test_any_library_is_explained_by_the_file_that_raised(
        self, catalog: Catalog, environment: Environment, tmp_path: Path
    ) -> None:
        library = tmp_path / "site-packages" / "odd"
        library.mkdir(parents=True)
        source = "def check(size):\n    if size % 7:\n        raise ValueError(f'size {size} is no week')\n"
        (library / "weeks.py").write_text(source)
        log = (
            "Traceback (most recent call last):\n"
            f'  File "{library / "weeks.py"}", line 3, in check\n'
            "    raise ValueError(f'size {size} is no week')\n"
            "ValueError: size 8 is no week\n"
        )
        explainer = Explainer(catalog, environment, tmp_path / "work")
        (diagnosis,) = explainer.explain_text(log).diagnoses
        assert diagnosis.record is not None
        assert (diagnosis.record.how, diagnosis.record.captures) == ("exact", {"size": "8"})
        entry = explainer.entry(diagnosis)
        assert entry is not None
        assert entry.record.error_message == "size {size} is no week"
