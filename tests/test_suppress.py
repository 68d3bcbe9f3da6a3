"""Ignore comments: what they cover, and what is said of those that cover nothing."""

from __future__ import annotations

from raiselens_server.error import Diagnosis, Foreseen, Place, RaisedError, RecordMatch, Severity, Span
from raiselens_server.suppress import find_ignores, suppress


def finding(line: int, end_line: int, rule: str = "some-rule") -> Diagnosis:
    origin = Foreseen(Place("a.py", Span(line, 1, end_line, 2)), Severity.ERROR, rule, "", "f", None)
    return Diagnosis(RaisedError("TypeError", "m", (), origin), RecordMatch("77c2", rule, "exact"))


def left(text: str, *findings: Diagnosis) -> list[str]:
    return [f"{item.rule}: {item.error.message}" for item in suppress(text, "a.py", findings)]


def test_a_comment_covers_its_statement() -> None:
    assert left("f(x)  # raiselens: ignore[some-rule]\n", finding(1, 1)) == []


def test_any_line_of_the_statement_will_do() -> None:
    assert left("f(\n    x,  # raiselens: ignore[some-rule]\n)\n", finding(1, 3)) == []


def test_without_brackets_it_covers_every_rule() -> None:
    assert left("f(x)  # raiselens: ignore\n", finding(1, 1, "a"), finding(1, 1, "b")) == []


def test_several_rules_and_record_ids() -> None:
    assert left("f(x)  # noqa  # raiselens: ignore[other, 77c2]\n", finding(1, 1)) == [
        "unused-ignore: Unused `raiselens: ignore[other]`: it hides no finding"
    ]


def test_another_rule_is_not_covered_and_the_comment_is_unused() -> None:
    assert left("f(x)  # raiselens: ignore[other]\n", finding(1, 1)) == [
        "some-rule: m",
        "unused-ignore: Unused `raiselens: ignore[other]`: it hides no finding",
    ]


def test_the_line_above_is_not_covered() -> None:
    assert left("# raiselens: ignore[some-rule]\nf(x)\n", finding(2, 2)) == [
        "some-rule: m",
        "unused-ignore: Unused `raiselens: ignore[some-rule]`: it hides no finding",
    ]


def test_strings_hold_no_comments() -> None:
    text = 's = "# raiselens: ignore[a]"\nt = f"{s}# raiselens: ignore"\nu = """\n# raiselens: ignore[b]\n"""\n'
    assert find_ignores(text) == ()


def test_similar_words_are_no_ignores() -> None:
    assert find_ignores("f()  # raiselens: ignored\ng()  # raiselens: ignore [x] later\n# raiselens: fine\n")[1:] == ()


def test_places_count_characters_also_behind_wide_ones_and_in_broken_code() -> None:
    text = "s = '𝛼𝛽'  # raiselens: ignore[x]\ndef broken(:\n"
    (ignore,) = find_ignores(text)
    assert ignore.span == Span(1, 11, 1, 33)


def test_carriage_returns_end_no_comment_early() -> None:
    (ignore,) = find_ignores("f()  # raiselens: ignore[x]\r\ng()\r\n")
    assert ignore.rules == ("x",)
