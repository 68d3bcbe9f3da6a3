"""Which files a walk finds, and what their text is."""

from __future__ import annotations

from pathlib import Path

import pytest

from raiselens_server.source.files import Skipped, SourceError, decode_source, read_source, walk, write_atomically


def tree(root: Path, *files: str, **texts: str) -> None:
    for name in files:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    for name, text in texts.items():
        (root / name).write_text(text)


def found(root: Path, *exclude: str) -> list[str]:
    return [item.relative_to(root).as_posix() for item in walk(root, exclude) if isinstance(item, Path)]


def test_python_files_in_a_stable_order(tmp_path: Path) -> None:
    tree(tmp_path, "b.py", "a.py", "pkg/c.py", "pkg/d.pyw", "pkg/data.txt", "pkg/stub.pyi")
    assert found(tmp_path) == ["a.py", "b.py", "pkg/c.py", "pkg/d.pyw"]


def test_environments_and_caches_are_not_walked(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", ".venv/lib/x.py", "node_modules/y.py", "__pycache__/z.py", "site-packages/q.py")
    assert found(tmp_path) == ["a.py"]


def test_gitignore_is_respected_also_from_above_and_with_exceptions(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    tree(tmp_path, "a.py", "gen/x.py", "gen/keep.py", "sub/b.py", "sub/skip.py", "sub/deep/skip.py")
    (tmp_path / ".gitignore").write_text("gen/*\n!gen/keep.py\n")
    (tmp_path / "sub" / ".gitignore").write_text("/skip.py\n")
    assert found(tmp_path) == ["a.py", "gen/keep.py", "sub/b.py", "sub/deep/skip.py"]
    assert [path.name for path in walk(tmp_path / "gen") if isinstance(path, Path)] == ["keep.py"]


def test_a_named_folder_is_walked_whatever_leaves_it_out(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("site-packages/\n")
    tree(tmp_path, "site-packages/lib/a.py")
    assert found(tmp_path / "site-packages") == ["lib/a.py"]


def test_a_pattern_that_could_match_without_end_is_left_out(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*a*a*a*a*a*a*a*a*a*b\nignored.py\n")
    tree(tmp_path, "a" * 120 + ".py", "ignored.py")
    assert found(tmp_path) == ["a" * 120 + ".py"]


def test_exclude_patterns(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", "tests/b.py", "pkg/tests/c.py")
    assert found(tmp_path, "tests/") == ["a.py"]
    assert found(tmp_path, "/tests/") == ["a.py", "pkg/tests/c.py"]


def test_links_to_folders_are_not_followed_and_a_dead_link_is_told(tmp_path: Path) -> None:
    tree(tmp_path, "pkg/a.py")
    (tmp_path / "pkg" / "loop").symlink_to(tmp_path)
    (tmp_path / "dead.py").symlink_to(tmp_path / "gone.py")
    items = list(walk(tmp_path))
    assert [item for item in items if isinstance(item, Path)] == [tmp_path / "pkg" / "a.py"]
    assert [item for item in items if isinstance(item, Skipped)] == [
        Skipped(str(tmp_path / "dead.py"), "link to nothing")
    ]


@pytest.mark.parametrize(
    ("data", "text", "encoding", "mark"),
    [
        (b"x = 1\r\n", "x = 1\r\n", "utf-8", False),
        (b"\xef\xbb\xbfx = 1\n", "x = 1\n", "utf-8", True),
        ("# coding: latin-1\nx = 'é'\n".encode("latin-1"), "# coding: latin-1\nx = 'é'\n", "iso-8859-1", False),
        (b"", "", "utf-8", False),
    ],
)
def test_text_is_decoded_as_python_does_and_goes_back_as_it_was(
    data: bytes, text: str, encoding: str, mark: bool
) -> None:
    source = decode_source(data)
    assert (source.text, source.encoding, source.mark) == (text, encoding, mark)
    assert source.encoded(source.text) == data


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"x = '\xe9'\n", b"# coding: klingon\n", b"a\0b"])
def test_what_is_no_text_says_so(data: bytes) -> None:
    with pytest.raises(SourceError):
        decode_source(data)


def test_writing_keeps_mode_and_link(tmp_path: Path) -> None:
    target = tmp_path / "real.py"
    target.write_text("x = 1\n")
    target.chmod(0o750)
    link = tmp_path / "link.py"
    link.symlink_to(target)
    write_atomically(link, b"x = 2\n")
    assert link.is_symlink()
    assert read_source(target).text == "x = 2\n"
    assert target.stat().st_mode & 0o777 == 0o750
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.py", "real.py"]
