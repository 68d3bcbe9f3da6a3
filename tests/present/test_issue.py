"""A page to paste into an issue: valid Markdown whatever the log holds, the rest folded."""

from __future__ import annotations

import itertools

import pytest
from markdown_it import MarkdownIt

from raiselens_server.diagnose import Explained
from raiselens_server.error import Diagnosis, Frame, Observed, RaisedError, Role
from raiselens_server.present.explained import explained_text
from raiselens_server.present.issue import explained_issue, fence
from raiselens_server.present.observed import MOST_BRIEF, Surroundings, users_frames
from raiselens_server.present.styled import plain

AROUND = Surroundings(lambda _: None, lambda _: None, lambda file: file)
FRAMES = (
    Frame("/srv/app/main.py", 12, "main", None, "run(batch)"),
    Frame("/srv/app/run.py", 3, "run", None, "launch(x)"),
    Frame("/opt/env/lib/python3.12/site-packages/lib/launch.py", 81, "launch", None, "raise TypeError("),
)
OWN = frozenset({"/srv/app/main.py", "/srv/app/run.py"})


def observed(message: str, line: int = 7, frames: tuple[Frame, ...] = ()) -> Diagnosis:
    return Diagnosis(RaisedError("TypeError", message, frames, Observed(line, 1, Role.ROOT)), None)


def test_the_user_s_frame_is_shown_and_the_others_are_folded() -> None:
    explained = Explained((observed("bad", frames=FRAMES),), 0, own=OWN)
    assert plain(explained_text(explained, AROUND)) == (
        "error: TypeError: bad\n"
        "  = read: line 7\n"
        "\n"
        "In your code\n"
        "  at /srv/app/run.py:3 in run\n"
        "     | launch(x)\n"
        "  raised at /opt/env/lib/python3.12/site-packages/lib/launch.py:81 in launch\n"
        "  … 1 more frame\n"
        "  = record: none in the catalog matches this error\n"
    )


def test_a_guard_of_the_user_s_own_is_shown_with_its_call() -> None:
    error = observed("bad", frames=FRAMES[:2]).error
    assert users_frames(error, Explained((), None, own=OWN), None) == FRAMES[:2]
    assert users_frames(observed("bad", frames=FRAMES).error, Explained((), None, own=OWN), None) == FRAMES[1:2]
    assert users_frames(observed("bad", frames=FRAMES).error, Explained((), None), None) == ()


def test_files_that_are_here_come_before_those_that_only_may_be_the_user_s() -> None:
    explained = Explained((), None, local={"/srv/app/main.py": "main.py"}, own=OWN)
    assert users_frames(observed("bad", frames=FRAMES).error, explained, None) == FRAMES[:1]


def test_of_many_other_errors_some_are_named_and_the_rest_are_counted() -> None:
    explained = Explained(tuple(observed(f"number {n}", n + 1) for n in range(MOST_BRIEF + 6)), 0)
    text = plain(explained_text(explained, AROUND))
    assert text.count("TypeError: number") == MOST_BRIEF + 1
    assert "5 more" in text
    assert "5 more" in explained_issue(explained, AROUND)


@pytest.mark.parametrize(
    "message", ["a `b` c", "```\n</details>", "<script>x</script>", "one\n\n# two\n\n- three", "é 🙂 \x1b[31m"]
)
def test_no_message_breaks_out_of_its_place(message: str) -> None:
    explained = Explained((observed(message, frames=FRAMES), observed(message, 9)), 0, own=OWN)
    page = explained_issue(explained, AROUND)
    tokens = MarkdownIt("commonmark").parse(page)
    headings = [after.content for before, after in itertools.pairwise(tokens) if before.type == "heading_open"]
    assert len(headings) == 1
    # What the page itself folds is all that is HTML in it.
    html = [token.content.strip() for token in tokens if token.type == "html_block"]
    html += [child.content for token in tokens for child in token.children or () if child.type == "html_inline"]
    assert [piece for piece in html if "script" in piece] == []
    assert sum(piece.count("</details>") for piece in html) == 2


def test_a_fence_is_longer_than_any_run_of_ticks_inside() -> None:
    assert fence("x", "text").startswith("```text\n")
    assert fence("````", "text").startswith("`````text\n")


def test_no_error_is_a_page_too() -> None:
    assert explained_issue(Explained((), None), AROUND) == "No error found.\n"
