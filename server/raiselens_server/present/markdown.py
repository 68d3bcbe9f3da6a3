"""Diagnoses as Markdown: the head of a hover, and what foreseeing or the log says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from raiselens_server.error import Foreseen, Observed, Role
from raiselens_server.present.headline import condition_of, headline

if TYPE_CHECKING:
    from raiselens_server.error import Diagnosis

_TICKS = re.compile(r"`+")

# The error that ended its process needs no word for it.
_ROLES = {
    Role.CAUSE: "the cause of another error",
    Role.CONTEXT: "another error came while this one was handled",
    Role.GROUP_MEMBER: "one of a group",
    Role.SUMMARY: "reports errors of other processes",
    Role.WARNING: "a warning",
}


def finding_markdown(diagnosis: Diagnosis) -> str:
    """What will be raised, why, where, and what mends it."""
    error, origin = diagnosis.error, diagnosis.error.origin
    if not isinstance(origin, Foreseen):
        raise TypeError("an observed error is shown by `observed_markdown`")
    parts = [code(headline(error))]
    if origin.callee:
        guard = f", guard {code(origin.condition)}" if origin.condition and error.message else ""
        parts.append(f"raised by {code(origin.callee)}{guard}")
    if origin.when is not None:
        parts.append(f"where {code(origin.when)}")
    if not origin.message_certain:
        parts.append("an earlier check was not decided, so that another message may come first")
    repairs = [f"- {'Fix' if repair.safe else 'Unsafe fix'}: {escape(repair.title)}" for repair in diagnosis.repairs]
    return "  \n".join(parts) + ("\n\n" + "\n".join(repairs) if repairs else "")


def observed_markdown(diagnosis: Diagnosis) -> str:
    """What was raised, in which ranks, and what role it has in the text."""
    error, origin = diagnosis.error, diagnosis.error.origin
    if not isinstance(origin, Observed):
        raise TypeError("a foreseen error is shown by `finding_markdown`")
    parts = [code(headline(error))]
    told = [_ROLES[origin.role]] if origin.role in _ROLES else []
    if origin.ranks:
        told.append(f"in {', '.join(escape(rank) for rank in origin.ranks)}")
    if origin.count > max(1, len(origin.ranks)):
        told.append(f"{origin.count} times")
    if told:
        parts.append("; ".join(told))
    if error.message and (condition := condition_of(error)):
        parts.append(f"guard {code(condition)}")
    return "  \n".join(parts)


def code(text: str) -> str:
    """A code span that holds any text: its fence is longer than any run of backticks inside."""
    text = " ".join(text.split())
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def escape(text: str) -> str:
    """Text in which nothing but code spans is markup."""
    return re.sub(r"[\\*_\[\]<>|#]", r"\\\g<0>", text) if "`" not in text else re.sub(r"[<>\[\]]", r"\\\g<0>", text)
