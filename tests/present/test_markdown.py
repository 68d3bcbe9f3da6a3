"""Hovers: text of a log or a source never becomes markup."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from raiselens_server.error import (
    Diagnosis,
    Foreseen,
    Observed,
    Place,
    RaisedError,
    Repair,
    RepairKind,
    Role,
    Severity,
    Span,
)
from raiselens_server.present.headline import headline
from raiselens_server.present.markdown import code, finding_markdown, observed_markdown

PLACE = Place("a.py", Span(1, 1, 1, 5))


def foreseen(message: str, condition: str = "x != 1", **more: object) -> Diagnosis:
    origin = Foreseen(PLACE, Severity.ERROR, "rule", condition, "pkg.f", "x", **more)  # type: ignore[arg-type]
    repairs = (Repair("Pass `1`", RepairKind.CHANGE_ARGUMENT, safe=False, preferred=False, edits=()),)
    return Diagnosis(RaisedError("ValueError", message, (), origin), None, repairs)


def test_a_finding_says_what_why_and_how_to_mend_it() -> None:
    page = finding_markdown(foreseen("one please", when="tp > 1", message_certain=False))
    assert page == (
        "`ValueError: one please`  \n"
        "raised by `pkg.f`, guard `x != 1`  \n"
        "where `tp > 1`  \n"
        "an earlier check was not decided, so that another message may come first\n\n"
        "- Unsafe fix: Pass `1`"
    )


def test_without_a_message_the_condition_is_the_headline() -> None:
    diagnosis = foreseen("", condition="x.dim() == 3")
    assert headline(diagnosis.error) == "ValueError: x.dim() == 3"
    assert finding_markdown(diagnosis).startswith("`ValueError: x.dim() == 3`  \nraised by `pkg.f`\n\n")


def test_an_observed_error_says_where_it_was_seen() -> None:
    origin = Observed(3, 1, Role.CAUSE, ranks=("rank0", "rank3"), count=7)
    page = observed_markdown(Diagnosis(RaisedError("OSError", "gone", (), origin), None))
    assert page == "`OSError: gone`  \nthe cause of another error; in rank0, rank3; 7 times"


@pytest.mark.parametrize("text", ["a `b` c", "``x`", "`", "<img src=x>", "[a](javascript:b)", "line\nend"])
def test_a_code_span_holds_any_text(text: str) -> None:
    (paragraph,) = (token for token in MarkdownIt().parse(code(text)) if token.type == "inline")
    assert paragraph.children is not None
    (span,) = paragraph.children
    assert (span.type, span.content) == ("code_inline", " ".join(text.split()))
