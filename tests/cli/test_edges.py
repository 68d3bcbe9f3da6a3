"""What scripts do to a command line: locked folders, odd names, full disks, pipes that nobody reads."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from raiselens_server.cli.main import run

COMMAND = [sys.executable, "-m", "raiselens_server.cli.main"]
GUARDED = "def need(x):\n    if x != 1:\n        raise ValueError('one please')\n\n\nneed(2)\n"
MEND = ("--fix", "--unsafe-fixes")
CAPABILITIES = "-dac_override,-dac_read_search"


def raiselens(*arguments: str | Path, before: tuple[str, ...] = (), **options: Any) -> subprocess.CompletedProcess[str]:
    command = [*before, *COMMAND, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, **options)


@pytest.fixture
def heeding_permissions() -> tuple[str, ...]:
    """What to put before a command so that permissions count for it: root may read and write everything."""
    if os.geteuid() != 0:
        return ()
    if shutil.which("setpriv") is None:
        pytest.skip("root without setpriv cannot give up its privileges")
    return ("setpriv", f"--bounding-set={CAPABILITIES}", f"--inh-caps={CAPABILITIES}")


@pytest.fixture
def locked(tmp_path: Path) -> Any:
    folder = tmp_path / "locked"
    folder.mkdir()
    (folder / "a.py").write_text(GUARDED)
    folder.chmod(0)
    yield folder
    folder.chmod(0o700)


class TestPermissions:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("check", "locked"), "raiselens check: locked: Permission denied"),
            (("check", "locked/a.py"), "raiselens check: locked/a.py: Permission denied"),
            (("verify", "locked/a.py:6"), "raiselens: verify: locked/a.py: Permission denied"),
            (("explain", "locked/a.py"), "raiselens: explain: locked/a.py: Permission denied"),
            (("catalog", "build", "locked"), "raiselens: catalog build: locked: cannot be read: Permission denied; …"),
            (("check", ".", "--python", "locked"), "raiselens: --python locked: this folder holds no site-packages; …"),
            (("check", ".", "--catalog", "locked/a"), "raiselens: --catalog locked/a: cannot be read: Permission …"),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
    )
    def test_a_locked_folder_is_one_line(
        self, locked: Path, heeding_permissions: tuple[str, ...], arguments: tuple[str, ...], said: str
    ) -> None:
        done = raiselens(*arguments, before=heeding_permissions, cwd=locked.parent)
        assert done.returncode == 2
        (line,) = done.stderr.splitlines()
        assert line.startswith(said.rstrip("…"))

    def test_met_on_a_walk_it_is_no_failure(self, locked: Path, heeding_permissions: tuple[str, ...]) -> None:
        done = raiselens("check", ".", "--format", "json", before=heeding_permissions, cwd=locked.parent)
        assert (done.returncode, done.stderr) == (0, "skipped locked: Permission denied\n")
        assert json.loads(done.stdout)["skipped"] == [{"file": "locked", "reason": "Permission denied"}]

    def test_what_cannot_be_written_is_named_and_the_rest_is_repaired(
        self, tmp_path: Path, heeding_permissions: tuple[str, ...]
    ) -> None:
        for name in ("a.py", "b.py", "c.py"):
            (tmp_path / name).write_text(GUARDED)
        (tmp_path / "b.py").chmod(0o444)
        done = raiselens("check", ".", *MEND, "--format", "json", before=heeding_permissions, cwd=tmp_path)
        report = json.loads(done.stdout)
        assert done.returncode == 2
        assert report["errors"] == [{"file": "b.py", "reason": "cannot be repaired: Permission denied"}]
        assert done.stderr == "raiselens check: b.py: cannot be repaired: Permission denied\n"
        assert (report["fixed"], [finding["file"] for finding in report["findings"]]) == (2, ["b.py"])
        assert [(tmp_path / name).read_text() == GUARDED for name in ("a.py", "b.py", "c.py")] == [False, True, False]

    def test_a_name_that_no_file_can_have(self, tmp_path: Path) -> None:
        name = "x" * 300
        done = raiselens("check", name, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (2, f"raiselens check: {name}: File name too long\n")


class TestOddFiles:
    def test_links_that_lead_nowhere_and_files_that_are_none(self, tmp_path: Path) -> None:
        (tmp_path / "one.py").symlink_to("two.py")
        (tmp_path / "two.py").symlink_to("one.py")
        (tmp_path / "here").symlink_to(".")
        os.mkfifo(tmp_path / "pipe.py")
        walked = raiselens("check", ".", cwd=tmp_path)
        assert (walked.returncode, walked.stdout) == (0, "No file was checked.\n")
        assert walked.stderr == "skipped one.py: link to nothing\nskipped two.py: link to nothing\n"
        named = raiselens("check", "one.py", "pipe.py", cwd=tmp_path)
        assert named.returncode == 2
        assert named.stderr.splitlines() == [
            f"raiselens check: one.py: {os.strerror(errno.ELOOP)}",
            "raiselens check: pipe.py: no regular file; `-` reads standard input",
        ]


class TestOddNames:
    @pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes on Linux only")
    def test_bytes_that_are_no_utf8(self, tmp_path: Path) -> None:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.py")).write_text(GUARDED)
        shown = json.loads(raiselens("check", ".", "--format", "json", cwd=tmp_path).stdout)["findings"][0]["file"]
        assert os.fsencode(shown) == b"caf\xe9.py"
        log = json.loads(raiselens("check", ".", "--format", "sarif", cwd=tmp_path).stdout)
        location = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
        assert location["artifactLocation"]["uri"] == "caf%E9.py"
        assert r"--> caf\udce9.py:6:1" in raiselens("check", ".", cwd=tmp_path).stdout
        assert raiselens("catalog", "build", ".", "-o", "x.sqlite", cwd=tmp_path).returncode == 2
        assert raiselens("check", ".", *MEND, cwd=tmp_path).returncode == 0

    def test_a_name_cannot_steer_the_terminal_or_break_a_line(self, tmp_path: Path) -> None:
        (tmp_path / "a\x1b[31m\nb.py").write_text(GUARDED)
        shown = raiselens("check", ".", cwd=tmp_path).stdout
        assert "\x1b" not in shown
        assert r"--> a\x1b[31m\x0ab.py:6:1" in shown
        refused = raiselens("check", "no\nsuch.py", cwd=tmp_path)
        assert refused.stderr == "raiselens check: no\\x0asuch.py: no such file or folder\n"

    @pytest.mark.parametrize("command", ["show", "search", "export"])
    def test_half_a_character_in_a_question(self, command: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(["catalog", command, "\udcff-xyzzy"]) in {1, 2}
        assert "internal error" not in capsys.readouterr().err


class TestStreams:
    @pytest.fixture
    def files(self, tmp_path: Path) -> Path:
        for number in range(20):
            (tmp_path / f"m{number}.py").write_text(GUARDED)
        return tmp_path

    @pytest.mark.parametrize("form", ["text", "json", "sarif", "github"])
    def test_findings_count_also_where_nobody_reads_them(self, files: Path, form: str) -> None:
        process = subprocess.Popen(
            [*COMMAND, "check", ".", "--format", form], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=files
        )
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 1

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full")
    @pytest.mark.parametrize("arguments", [("check", "."), ("--help",), ("catalog", "search", "tensor")], ids=" ".join)
    def test_a_full_disk(self, files: Path, arguments: tuple[str, ...]) -> None:
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(
                [*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, cwd=files, check=False, timeout=60
            )
        assert done.returncode == 2
        assert done.stderr == b"raiselens: standard output cannot be written: No space left on device\n"

    @pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
    def test_closed_streams(self, files: Path, closed: str) -> None:
        line = f"{' '.join(COMMAND)} check m1.py {closed}"
        done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, cwd=files, check=False, timeout=60)
        assert (done.returncode, done.stderr) == (1, b"")
