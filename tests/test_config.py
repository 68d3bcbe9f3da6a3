"""Settings: where they come from, and what is said of wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from raiselens_server.config import load_settings, merge
from raiselens_server.error import Diagnosis, Foreseen, Place, RaisedError, RecordMatch, Severity, Span


def finding(rule: str, record_id: str | None = None) -> Diagnosis:
    origin = Foreseen(Place("a.py", Span(1, 1, 1, 2)), Severity.ERROR, rule, "", "f", None)
    record = None if record_id is None else RecordMatch(record_id, rule, "exact")
    return Diagnosis(RaisedError("TypeError", "m", (), origin), record)


def write(folder: Path, text: str, name: str = "pyproject.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


class TestPlaces:
    def test_the_nearest_folder_upward(self, tmp_path: Path) -> None:
        write(tmp_path, "[tool.raiselens]\nsite = 'https://outer'\n")
        inner = tmp_path / "inner"
        inner.mkdir()
        write(inner, "[tool.other]\nx = 1\n")
        assert load_settings(inner / "a.py").settings.site == "https://outer"
        write(inner, "[tool.raiselens]\nsite = 'https://inner'\n")
        loaded = load_settings(inner / "a.py")
        assert (loaded.settings.site, loaded.settings.root) == ("https://inner", inner)

    def test_raiselens_toml_comes_before_pyproject(self, tmp_path: Path) -> None:
        write(tmp_path, "[tool.raiselens]\nsite = 'https://pyproject'\n")
        write(tmp_path, "site = 'https://own'\n", "raiselens.toml")
        assert load_settings(tmp_path).settings.site == "https://own"

    def test_paths_are_relative_to_the_file_that_names_them(self, tmp_path: Path) -> None:
        write(tmp_path, "[tool.raiselens]\nextra-path = ['lib']\ncatalogs = ['/abs.json']\npython = 'env/bin/python'\n")
        settings = load_settings(tmp_path / "deep" / "a.py").settings
        assert settings.extra_path == (tmp_path / "lib",)
        assert settings.catalogs == (Path("/abs.json"),)
        assert settings.python == str(tmp_path / "env/bin/python")

    def test_the_editor_is_over_the_file_in_either_spelling(self, tmp_path: Path) -> None:
        write(tmp_path, "[tool.raiselens]\nsite = 'https://file'\nselect = ['a']\n")
        loaded = merge(
            load_settings(tmp_path).settings,
            {"site": "https://editor", "diagnosticMode": "workspace", "interpreter": ["x"], "launcher": None},
            source="editor settings",
        )
        assert not loaded.problems
        assert (loaded.settings.site, loaded.settings.select) == ("https://editor", ("a",))
        assert loaded.settings.diagnostic_mode == "workspace"
        assert loaded.settings.named_by_user == {"site", "diagnostic_mode"}


class TestProblems:
    @pytest.mark.parametrize(
        ("line", "said"),
        [
            (
                "selekt = ['a']",
                "selekt: unknown setting; known: catalogs, diagnostic-mode, exclude, extra-path, ignore",
            ),
            ("select = 'a'", "select: must be a list of strings"),
            ("unsafe-fixes = 'yes'", "unsafe-fixes: must be true or false, not a string"),
            ("diagnostic-mode = 'all'", 'diagnostic-mode: must be "open-files" or "workspace", not \'all\''),
            ("path-map = ['a']", "path-map: must be a table of path in the log = path here"),
            ("python = 3", "python: must be a string, not a number"),
            ("exclude = ['*a*b*c*d*e*f*g*h*i*']", "more than 8 wildcards"),
            ("select = ['a', 3]", "select: must be a list of strings, and holds a number"),
            ("per-file-ignores = { 'a.py' = 3 }", "per-file-ignores: 'a.py': must be a list of strings, not a number"),
        ],
    )
    def test_file_line_and_key_are_named_and_the_rest_stays(self, tmp_path: Path, line: str, said: str) -> None:
        path = write(
            tmp_path, f"[project]\nname = 'x'\n\n[tool.raiselens]\nsite = 'https://s'\n{line}\nlauncher = 'ssh box'\n"
        )
        loaded = load_settings(tmp_path)
        (problem,) = map(str, loaded.problems)
        assert problem.startswith(f"{path}:6: ")
        assert said in problem
        assert (loaded.settings.site, loaded.settings.launcher) == ("https://s", "ssh box")

    def test_tables_of_their_own_are_found_too(self, tmp_path: Path) -> None:
        path = write(
            tmp_path, "[tool.raiselens]\nsite = 'https://s'\n\n[tool.raiselens.per-file-ignores]\n'a.py' = 'x'\n"
        )
        (problem,) = load_settings(tmp_path).problems
        assert (problem.file, problem.line, problem.key) == (str(path), 4, "per-file-ignores")

    def test_no_toml_is_one_line(self, tmp_path: Path) -> None:
        path = write(tmp_path, "[tool.raiselens]\nsite = \n")
        (problem,) = map(str, load_settings(tmp_path).problems)
        assert problem.startswith(f"{path}:2: not valid TOML")
        assert "\n" not in problem

    @pytest.mark.parametrize(
        ("data", "said"),
        [
            (
                b"[tool.raiselens]\nsite = '\xff'\n",
                ":2: not valid TOML, so none of its settings are in force (not UTF-8)",
            ),
            (
                b"[tool.raiselens]\nsite = 'javascript:x'\n",
                ":2: site: must begin with https:// or http://, unlike 'javascript:x'",
            ),
            (b"[tool]\nraiselens = 3\n", ":2: tool.raiselens: must be a table"),
            (b"\xef\xbb\xbf[tool.raiselens]\r\nselect = 3\r\n", ":2: select: must be a list of strings, not a number"),
            (
                b"[tool.raiselens]\nselect = " + b"[" * 9000 + b"]" * 9000,
                ": not valid TOML, so none of its settings are in force (nested too deeply)",
            ),
        ],
        ids=["latin-1", "script", "no-table", "byte-order-mark", "deep"],
    )
    def test_what_is_wrong_with_a_file_is_one_line(self, tmp_path: Path, data: bytes, said: str) -> None:
        path = tmp_path / "pyproject.toml"
        path.write_bytes(data)
        (problem,) = map(str, load_settings(tmp_path).problems)
        assert problem == f"{path}{said}"

    def test_what_may_not_be_looked_at_is_not_there(self, tmp_path: Path) -> None:
        name = "x" * 300
        assert load_settings(tmp_path / name / "a.py").settings.root == tmp_path / name
        assert load_settings(Path("a\0b")).file == load_settings(Path("a")).file

    def test_an_untrusted_file_cannot_name_programs(self, tmp_path: Path) -> None:
        write(tmp_path, "[tool.raiselens]\npython = 'evil'\nlauncher = 'evil'\nsite = 'https://s'\n")
        loaded = load_settings(tmp_path, trusted=False)
        assert (loaded.settings.python, loaded.settings.launcher, loaded.settings.site) == (None, None, "https://s")
        assert [problem.key for problem in loaded.problems] == ["python", "launcher"]


class TestRules:
    def show(self, tmp_path: Path, text: str, rule: str, file: str = "a.py") -> bool:
        write(tmp_path, f"[tool.raiselens]\n{text}\n")
        return load_settings(tmp_path).settings.shows(finding(rule, "77c238349aca21f2"), tmp_path / file)

    def test_everything_shows_by_default(self, tmp_path: Path) -> None:
        assert self.show(tmp_path, "", "any-rule")

    def test_select_is_all_that_shows(self, tmp_path: Path) -> None:
        assert self.show(tmp_path, "select = ['kv-*']", "kv-canary")
        assert not self.show(tmp_path, "select = ['kv-*']", "torch-cat")

    def test_a_record_may_be_named_by_its_id(self, tmp_path: Path) -> None:
        assert not self.show(tmp_path, "ignore = ['77c238349aca21f2']", "kv-canary")

    def test_ignore_wins_over_select(self, tmp_path: Path) -> None:
        assert not self.show(tmp_path, "select = ['kv-*']\nignore = ['kv-canary']", "kv-canary")

    def test_per_file_ignores(self, tmp_path: Path) -> None:
        text = "per-file-ignores = { 'tests/' = ['kv-*'] }"
        assert not self.show(tmp_path, text, "kv-canary", "tests/deep/a.py")
        assert self.show(tmp_path, text, "kv-canary", "src/a.py")
        assert self.show(tmp_path, text, "torch-cat", "tests/a.py")
