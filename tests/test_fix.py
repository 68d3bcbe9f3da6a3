"""Applying edits and repairs to text."""

from __future__ import annotations

import pytest

from raiselens_server.error import (
    Diagnosis,
    Edit,
    Foreseen,
    Place,
    RaisedError,
    Repair,
    RepairKind,
    Severity,
    Span,
)
from raiselens_server.fix import EditError, apply_edits, choose, fix_texts


def edit(line: int, column: int, end_line: int, end_column: int, text: str, file: str = "a.py") -> Edit:
    return Edit(Place(file, Span(line, column, end_line, end_column)), text)


def repair(*edits: Edit, safe: bool = True, preferred: bool = False, title: str = "t") -> Repair:
    return Repair(title, RepairKind.CHANGE_ARGUMENT, safe, preferred, edits)


def finding(*repairs: Repair, line: int = 1) -> Diagnosis:
    origin = Foreseen(Place("a.py", Span(line, 1, line, 2)), Severity.ERROR, "r", "", "f", None)
    return Diagnosis(RaisedError("TypeError", "m", (), origin), None, repairs)


class TestEdits:
    def test_several_at_once_in_any_order(self) -> None:
        edits = [edit(2, 1, 2, 2, "Y"), edit(1, 1, 1, 2, "X"), edit(1, 3, 1, 3, "!")]
        assert apply_edits("ab\ncd\n", edits) == "Xb!\nYd\n"

    def test_columns_count_characters(self) -> None:
        assert apply_edits("𝛼𝛽 = 1\n", [edit(1, 2, 1, 3, "γ")]) == "𝛼γ = 1\n"

    def test_new_lines_take_the_file_s_own_ends(self) -> None:
        assert apply_edits("a\r\nb\r\n", [edit(1, 2, 1, 2, "\nx")]) == "a\r\nx\r\nb\r\n"

    def test_the_end_of_a_text_without_a_last_line_end(self) -> None:
        assert apply_edits("a", [edit(1, 2, 1, 2, "b")]) == "ab"

    @pytest.mark.parametrize(
        "edits",
        [
            [edit(1, 1, 1, 3, "x"), edit(1, 2, 1, 3, "y")],
            [edit(3, 1, 3, 1, "x")],
            [edit(1, 9, 1, 9, "x")],
            [edit(1, 2, 1, 1, "x")],
        ],
    )
    def test_what_does_not_fit_is_refused(self, edits: list[Edit]) -> None:
        with pytest.raises(EditError):
            apply_edits("ab\n", edits)


class TestChoice:
    def test_preferred_then_safe_then_unsafe_only_when_asked(self) -> None:
        unsafe, safe, preferred = (
            repair(safe=False, title="unsafe"),
            repair(title="safe"),
            repair(preferred=True, title="preferred"),
        )
        assert choose(finding(unsafe, safe, preferred), unsafe=False) is preferred
        assert choose(finding(unsafe, safe), unsafe=False) is safe
        assert choose(finding(unsafe), unsafe=False) is None
        assert choose(finding(unsafe), unsafe=True) is unsafe


class TestRounds:
    """A made-up checker: every `bad` is a finding that a repair turns into `good`."""

    def run(self, texts: dict[str, str], new: str = "good", **options: bool) -> tuple[dict[str, str], int, int]:
        now = texts

        def check(file: str) -> tuple[Diagnosis, ...]:
            found = []
            for number, line in enumerate(now[file].split("\n"), 1):
                at = line.find("bad")
                if at >= 0:
                    found.append(finding(repair(edit(number, at + 1, number, at + 4, new, file)), line=number))
            return tuple(found)

        fixed = fix_texts(texts, check, now.__setitem__, **options)
        return fixed.changed, fixed.applied, sum(map(len, fixed.left.values()))

    def test_until_none_is_left(self) -> None:
        assert self.run({"a.py": "bad; bad\nbad\n", "b.py": "fine\n"}) == ({"a.py": "good; good\ngood\n"}, 3, 0)

    def test_what_would_no_longer_parse_is_left_alone(self) -> None:
        assert self.run({"a.py": "x = bad\n"}, new="(") == ({}, 0, 1)

    def test_a_repair_that_does_not_help_ends(self) -> None:
        assert self.run({"a.py": "bad\n"}, new="bad") == ({}, 0, 1)

    def test_two_repairs_that_undo_each_other_leave_the_text_as_it_was(self) -> None:
        now = {"a.py": "x = 1\n"}

        def check(file: str) -> tuple[Diagnosis, ...]:
            return (finding(repair(edit(1, 5, 1, 6, "2" if "1" in now[file] else "1", file))),)

        fixed = fix_texts(dict(now), check, now.__setitem__)
        assert (fixed.changed, fixed.applied, now) == ({}, 0, {"a.py": "x = 1\n"})
        assert len(fixed.left["a.py"]) == 1

    def test_two_insertions_at_one_place_are_made_one_after_the_other(self) -> None:
        now = {"a.py": "f(x)\n"}

        def check(file: str) -> tuple[Diagnosis, ...]:
            wanted = [word for word in ("a=1", "b=2") if word not in now[file]]
            # Once one is there, the other goes behind it: what is at the end is known only then.
            end = now[file].index(")") + 1
            return tuple(
                finding(repair(edit(1, end, 1, end, f", {word}", file)), line=i) for i, word in enumerate(wanted)
            )

        assert fix_texts(dict(now), check, now.__setitem__).changed == {"a.py": "f(x, a=1, b=2)\n"}

    def test_repairs_that_are_at_odds_are_made_one_at_a_time(self) -> None:
        now = {"a.py": "1\n1\n"}

        def check(file: str) -> tuple[Diagnosis, ...]:
            first, second = now[file].split()
            if first == second == "2":
                return (finding(), finding(line=2), finding(line=3))
            lines = [] if "2" in now[file] else [1, 2]
            return tuple(finding(repair(edit(line, 1, line, 2, "2", file)), line=line) for line in lines)

        fixed = fix_texts(dict(now), check, now.__setitem__)
        assert (fixed.changed, fixed.applied) == ({"a.py": "2\n1\n"}, 1)

    def test_of_a_circle_the_text_with_fewest_findings_stays(self) -> None:
        now = {"a.py": "x = 1\n", "b.py": "x = 3\n"}
        after = {"1": "2", "2": "3", "3": "1"}

        def check(file: str) -> tuple[Diagnosis, ...]:
            digit = now[file][4]
            mend = finding(repair(edit(1, 5, 1, 6, after[digit], file)))
            return (mend,) if digit == "2" else (mend, finding(line=2))

        fixed = fix_texts(dict(now), check, now.__setitem__)
        assert now == {"a.py": "x = 2\n", "b.py": "x = 2\n"}
        assert (fixed.applied, {file: len(left) for file, left in fixed.left.items()}) == (3, {"a.py": 1, "b.py": 1})

    def test_an_edit_outside_the_files_is_left_alone(self) -> None:
        texts = {"a.py": "x\n"}
        found = (finding(repair(edit(1, 1, 1, 2, "y", "elsewhere.py"))),)
        assert fix_texts(texts, lambda _: found, lambda _file, _text: None).changed == {}

    def test_two_findings_mended_by_one_edit(self) -> None:
        now = {"a.py": "x = 1\n"}

        def check(file: str) -> tuple[Diagnosis, ...]:
            mend = repair(edit(1, 5, 1, 6, "2", file))
            return (finding(mend), finding(mend, line=2)) if "1" in now[file] else ()

        assert fix_texts(dict(now), check, now.__setitem__).changed == {"a.py": "x = 2\n"}
