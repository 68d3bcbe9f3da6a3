"""Whose libraries are inspected, on made-up trees: nothing in them is ever run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from raiselens_server.source.interpreter import (
    InterpreterError,
    build_environment,
    find_interpreter,
    running_interpreter,
)

NOBODY: dict[str, str] = {}
TRAP = "import os; os.abort()\n"


def venv(prefix: Path, version: str = "3.12.1", *, config: str = "") -> Path:
    """A virtual environment of files only; its interpreter would fail the test if it were started."""
    minor = version.split(".")[1]
    site = prefix / "lib" / f"python3.{minor}" / "site-packages"
    site.mkdir(parents=True)
    (prefix / "bin").mkdir()
    (prefix / "pyvenv.cfg").write_text(f"home = /nowhere/bin\nversion = {version}\n{config}")
    python = prefix / "bin" / "python"
    python.write_text("#!/bin/sh\ntouch started\n")
    python.chmod(0o755)
    return site


class TestOrder:
    def test_the_named_one_comes_first(self, tmp_path: Path) -> None:
        named, active, near = (venv(tmp_path / name) for name in ("named", "active", ".venv"))
        environ = {"VIRTUAL_ENV": str(tmp_path / "active")}
        found = find_interpreter(tmp_path, named=str(tmp_path / "named"), environ=environ)
        assert found.paths == (str(named),)
        assert find_interpreter(tmp_path, environ=environ).paths == (str(active),)
        assert find_interpreter(tmp_path, environ=NOBODY).paths == (str(near),)

    def test_dot_venv_is_looked_for_upward_from_the_path(self, tmp_path: Path) -> None:
        site = venv(tmp_path / ".venv")
        deep = tmp_path / "a" / "b"
        deep.mkdir(parents=True)
        (deep / "x.py").touch()
        assert find_interpreter(deep / "x.py", environ=NOBODY).paths == (str(site),)

    def test_the_nearest_dot_venv_wins(self, tmp_path: Path) -> None:
        venv(tmp_path / ".venv")
        inner = venv(tmp_path / "project" / ".venv")
        assert find_interpreter(tmp_path / "project", environ=NOBODY).paths == (str(inner),)

    def test_else_it_is_the_running_one(self, tmp_path: Path) -> None:
        found = find_interpreter(tmp_path, environ=NOBODY)
        assert found == running_interpreter(NOBODY)
        assert found.version == sys.version_info[:2]

    def test_a_virtual_env_variable_that_points_nowhere_is_passed_over(self, tmp_path: Path) -> None:
        site = venv(tmp_path / ".venv")
        assert find_interpreter(tmp_path, environ={"VIRTUAL_ENV": "/gone"}).paths == (str(site),)


class TestNamed:
    def test_an_executable_means_its_environment_even_as_a_link(self, tmp_path: Path) -> None:
        site = venv(tmp_path / "env")
        python = tmp_path / "env" / "bin" / "python"
        python.unlink()
        python.symlink_to("/usr/bin/env")
        found = find_interpreter(tmp_path, named=str(python), environ=NOBODY)
        assert (found.paths, found.executable) == ((str(site),), str(python))

    def test_a_name_is_looked_up_on_the_path(self, tmp_path: Path) -> None:
        site = venv(tmp_path / "env")
        assert find_interpreter(tmp_path, named="python", environ={"PATH": str(tmp_path / "env/bin")}).paths == (
            str(site),
        )

    def test_windows_layout(self, tmp_path: Path) -> None:
        site = tmp_path / "env" / "Lib" / "site-packages"
        site.mkdir(parents=True)
        scripts = tmp_path / "env" / "Scripts"
        scripts.mkdir()
        (scripts / "python.exe").touch()
        (tmp_path / "env" / "pyvenv.cfg").write_text("home = C:\\Python312\nversion_info = 3.12.4.final.0\n")
        found = find_interpreter(tmp_path, named=str(scripts / "python.exe"), environ=NOBODY)
        assert (found.version, found.paths) == ((3, 12), (str(site),))

    def test_what_is_not_there_is_one_clear_line(self, tmp_path: Path) -> None:
        with pytest.raises(InterpreterError, match=r"^/no/such/python: no such interpreter or environment$"):
            find_interpreter(tmp_path, named="/no/such/python", environ=NOBODY)

    def test_a_folder_without_libraries_is_one_clear_line(self, tmp_path: Path) -> None:
        with pytest.raises(InterpreterError, match="holds no site-packages"):
            find_interpreter(tmp_path, named=str(tmp_path), environ=NOBODY)


class TestAsking:
    def test_files_that_tell_are_never_asked(self, tmp_path: Path) -> None:
        venv(tmp_path / "env")
        find_interpreter(tmp_path, named=str(tmp_path / "env/bin/python"), may_ask=True, environ=NOBODY)
        assert not (tmp_path / "started").exists()
        assert not Path("started").exists()

    def test_a_wrapper_is_asked_only_where_the_user_named_it(self, tmp_path: Path) -> None:
        wrapper = tmp_path / "shims" / "python"
        wrapper.parent.mkdir()
        wrapper.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        wrapper.chmod(0o755)
        with pytest.raises(InterpreterError, match="only what --python names is asked"):
            find_interpreter(tmp_path, named=str(wrapper), environ=NOBODY)
        found = find_interpreter(tmp_path, named=str(wrapper), may_ask=True, environ=NOBODY)
        assert found.version == sys.version_info[:2]

    def test_a_program_that_is_no_python_is_one_clear_line(self, tmp_path: Path) -> None:
        program = tmp_path / "tool"
        program.write_text("#!/bin/sh\necho hello\n")
        program.chmod(0o755)
        with pytest.raises(InterpreterError, match="not a Python interpreter"):
            find_interpreter(tmp_path, named=str(program), may_ask=True, environ=NOBODY)


class TestLinkedFolders:
    def test_pth_files_are_read_as_text(self, tmp_path: Path) -> None:
        site = venv(tmp_path / ".venv")
        for name in ("one", "two", "hidden"):
            (tmp_path / name).mkdir()
        (site / "b.pth").write_text(f"# a comment\n{TRAP}\n{tmp_path / 'two'}\n/gone\n")
        (site / "a.pth").write_text("../../../../one\n")
        (site / ".hidden.pth").write_text(f"{tmp_path / 'hidden'}\n")
        assert find_interpreter(tmp_path, environ=NOBODY).paths == (
            str(site),
            str(tmp_path / "one"),
            str(tmp_path / "two"),
        )

    def test_editable_finders_are_read_as_text(self, tmp_path: Path) -> None:
        site = venv(tmp_path / ".venv")
        package = tmp_path / "src" / "mine"
        package.mkdir(parents=True)
        (tmp_path / "flat.py").touch()
        (site / "__editable___mine_1_0_finder.py").write_text(
            f"{TRAP}MAPPING: dict[str, str] = {{'mine': {str(package)!r}, 'flat': {str(tmp_path / 'flat')!r}}}\n"
        )
        assert find_interpreter(tmp_path, environ=NOBODY).paths == (str(site), str(tmp_path / "src"), str(tmp_path))

    @pytest.mark.parametrize("text", ["MAPPING = {", "MAPPING = dict(a=1)", "MAPPING = {'a': 1}", "x = 1"])
    def test_a_finder_that_says_nothing_adds_nothing(self, tmp_path: Path, text: str) -> None:
        site = venv(tmp_path / ".venv")
        (site / "__editable___odd_finder.py").write_text(text)
        assert find_interpreter(tmp_path, environ=NOBODY).paths == (str(site),)

    def test_a_package_under_another_name_on_disk_is_left_out(self, tmp_path: Path) -> None:
        site = venv(tmp_path / ".venv")
        (tmp_path / "src").mkdir()
        (site / "__editable___odd_finder.py").write_text(f"MAPPING = {{'mine': {str(tmp_path / 'src')!r}}}")
        assert find_interpreter(tmp_path, environ=NOBODY).paths == (str(site),)

    def test_system_packages_count_where_the_environment_says_so(self, tmp_path: Path) -> None:
        base = tmp_path / "base" / "lib" / "python3.12" / "site-packages"
        base.mkdir(parents=True)
        home = tmp_path / "base" / "bin"
        home.mkdir()
        shared = venv(tmp_path / "a" / ".venv", config=f"include-system-site-packages = true\nhome = {home}\n")
        alone = venv(tmp_path / "b" / ".venv", config=f"include-system-site-packages = false\nhome = {home}\n")
        assert find_interpreter(tmp_path / "a", environ=NOBODY).paths == (str(shared), str(base))
        assert find_interpreter(tmp_path / "b", environ=NOBODY).paths == (str(alone),)

    def test_user_packages_belong_to_an_installation_not_to_an_environment(self, tmp_path: Path) -> None:
        installation = tmp_path / "python" / "lib" / "python3.12" / "site-packages"
        user = tmp_path / "home" / ".local" / "lib" / "python3.12" / "site-packages"
        installation.mkdir(parents=True)
        user.mkdir(parents=True)
        environ = {"HOME": str(tmp_path / "home")}
        found = find_interpreter(tmp_path, named=str(tmp_path / "python"), environ=environ)
        assert found.paths == (str(user), str(installation))
        site = venv(tmp_path / ".venv")
        assert find_interpreter(tmp_path, environ=environ).paths == (str(site),)


def test_the_search_path_has_roots_then_extra_paths_then_libraries(tmp_path: Path) -> None:
    site = venv(tmp_path / ".venv")
    root, extra = tmp_path / "repo", tmp_path / "extra"
    (root / "src").mkdir(parents=True)
    extra.mkdir()
    interpreter = find_interpreter(tmp_path, environ=NOBODY)
    environment = build_environment(interpreter, [root], [extra], [tmp_path / "built", tmp_path / "stubs"])
    assert environment.search_path == (str(root), str(root / "src"), str(extra), str(site))
    assert environment.stubs == (str(tmp_path / "built"), str(tmp_path / "stubs"))
    assert environment.python_version == (3, 12)
