"""The one line that says what an error is."""

from __future__ import annotations

import pytest

from raiselens_server.error import Foreseen, Hole, Place, RaisedError, Severity, Span
from raiselens_server.present.headline import headline

CONDITION = "target.dtype in (int64, uint8)"


def foreseen(message: str, *holes: Hole, condition: str = CONDITION) -> RaisedError:
    place = Place("main.py", Span(1, 1, 1, 5))
    origin = Foreseen(place, Severity.ERROR, "rule", condition, callee="", param=None, holes=holes)
    return RaisedError("RuntimeError", message, (), origin)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (foreseen("expected Long"), "RuntimeError: expected Long"),
        (foreseen("expected {want}", Hole(9, 15, "want")), "RuntimeError: expected {want}"),
        (foreseen(""), f"RuntimeError: {CONDITION}"),
        (foreseen("", condition=""), "RuntimeError"),
        (foreseen("{message}", Hole(0, 9, "message")), f"RuntimeError (guard: {CONDITION})"),
        (foreseen("{message}", Hole(0, 9, "message"), condition=""), "RuntimeError: {message}"),
        # Real braces are no hole.
        (foreseen("{message}"), "RuntimeError: {message}"),
    ],
)
def test_a_message_that_is_not_known_gives_way_to_the_guard(error: RaisedError, said: str) -> None:
    assert headline(error) == said
