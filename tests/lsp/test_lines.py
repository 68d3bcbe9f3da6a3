"""Positions: UTF-16 and UTF-8, the protocol's line ends and ours, and incremental changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from raiselens_server.error import Span
from raiselens_server.lsp.lines import Encoding, FrozenTable, path_of, split_lines, uri_of
from raiselens_server.lsp.text import Document

ODD = "a\u2028b\fc\x85d\x1ce\vf"
TEXTS = st.text(alphabet=st.sampled_from("ab\n\r\f\u2028\x85é𝛼"), max_size=12)
ENCODINGS = st.sampled_from(list(Encoding))


def table(text: str, encoding: Encoding = Encoding.UTF16) -> FrozenTable:
    return FrozenTable(split_lines(text), encoding)


def document(text: str, encoding: Encoding = Encoding.UTF16) -> Document:
    return Document("file:///a.py", source=text, version=1, language_id="python", encoding=encoding)


class TestLines:
    def test_only_the_protocol_s_line_ends_count(self) -> None:
        assert split_lines(f"{ODD}\r\nx\ry\n") == [f"{ODD}\r\n", "x\r", "y\n"]

    def test_ours_end_at_a_newline_only(self) -> None:
        # A progress bar in a log: `\r` begins a line of the protocol's, not one of ours.
        text = "start\n10%\r20%\rdone\nTypeError: x\n"
        lines = table(text)
        assert lines.position(3, 1) == types.Position(4, 0)
        assert lines.position(2, 9) == types.Position(3, 0)
        assert lines.point(types.Position(3, 2)) == (2, 11)


class TestColumns:
    TEXT = "x = '𝛼é' + y\n"

    @pytest.mark.parametrize(("encoding", "units"), [(Encoding.UTF8, 15), (Encoding.UTF16, 12), (Encoding.UTF32, 11)])
    def test_each_encoding_counts_its_own_units(self, encoding: Encoding, units: int) -> None:
        column = self.TEXT.index("y") + 1
        lines = table(self.TEXT, encoding)
        assert lines.position(1, column) == types.Position(0, units)
        assert lines.point(types.Position(0, units)) == (1, column)

    def test_half_a_surrogate_pair_counts_to_its_beginning(self) -> None:
        assert table("𝛼b\n").point(types.Position(0, 1)) == (1, 1)

    def test_places_outside_are_moved_inside(self) -> None:
        lines = table("ab\nc")
        assert lines.position(1, 99) == types.Position(0, 2)
        assert lines.position(9, 1) == types.Position(1, 0)
        assert lines.point(types.Position(0, 99)) == (1, 3)
        assert lines.point(types.Position(9, 0)) == (2, 2)
        assert table("").point(types.Position(3, 3)) == (1, 1)

    def test_a_range_of_a_span(self) -> None:
        where = table("𝛼 = f(\n    1)\n").range(Span(1, 5, 2, 7))
        assert where == types.Range(types.Position(0, 5), types.Position(1, 6))


@given(TEXTS, ENCODINGS, st.integers(0, 20), st.integers(0, 20))
def test_a_point_of_ours_comes_back(text: str, encoding: Encoding, line: int, column: int) -> None:
    lines = table(text, encoding)
    rows = text.split("\n")
    line = line % len(rows) + 1
    row = rows[line - 1]
    column = column % (len(row) + 1) + 1
    # A `\r` before the newline belongs to the line's end, where the protocol has no position.
    if "\r" not in row:
        assert lines.point(lines.position(line, column)) == (line, column)


class TestChanges:
    @given(st.lists(st.tuples(TEXTS, st.integers(0, 99), st.integers(0, 99)), max_size=6), TEXTS, ENCODINGS)
    def test_a_change_of_a_range_is_that_of_the_text(
        self, changes: list[tuple[str, int, int]], text: str, encoding: Encoding
    ) -> None:
        doc = document(text, encoding)
        for new, first, second in changes:
            begin, end = sorted((first % (len(text) + 1), second % (len(text) + 1)))
            # Between `\r` and `\n` there is no position.
            begin -= text[begin - 1 : begin + 1] == "\r\n"
            end += text[end - 1 : end + 1] == "\r\n"
            where = types.Range(_position(text, begin, encoding), _position(text, end, encoding))
            doc.apply_change(types.TextDocumentContentChangePartial(range=where, text=new))
            text = text[:begin] + new + text[end:]
            assert doc.source == text
            assert list(doc.lines) == split_lines(text)

    def test_a_whole_new_text(self) -> None:
        doc = document("a\n")
        doc.apply_change(types.TextDocumentContentChangeWholeDocument(text=f"{ODD}\nb"))
        assert list(doc.lines) == [f"{ODD}\n", "b"]

    @given(TEXTS, TEXTS, ENCODINGS)
    def test_the_edit_between_two_texts_makes_one_of_the_other(self, old: str, new: str, encoding: Encoding) -> None:
        doc = document(old, encoding)
        for edit in table(old, encoding).changes_to(new):
            doc.apply_change(types.TextDocumentContentChangePartial(range=edit.range, text=edit.new_text))
        assert doc.source == new


def _position(text: str, offset: int, encoding: Encoding) -> types.Position:
    """The slow way: by splitting all that comes before."""
    before = split_lines(text[:offset])
    if not before or before[-1].endswith("\n") or (before[-1].endswith("\r") and text[offset : offset + 1] != "\n"):
        return types.Position(len(before), 0)
    return types.Position(
        len(before) - 1, encoding.units(before[-1].rstrip("\r") if offset < len(text) else before[-1])
    )


def test_documents_in_no_file_get_a_name(tmp_path: object) -> None:
    from pathlib import Path

    assert path_of("untitled:Untitled-1", Path("/repo")) == "/repo/Untitled-1.py"
    assert path_of("file:///a%20b/c.py", Path("/repo")) == "/a b/c.py"
    assert uri_of("/a b/c.py") == "file:///a%20b/c.py"
