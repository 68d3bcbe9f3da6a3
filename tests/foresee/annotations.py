"""What the comments of a case claim, compared with what was found; README.md describes them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from raiselens_server.error import Foreseen, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from raiselens_server.error import RaisedError

_MARK = re.compile(r"#\s+(?=(?:error|warning|bug|related): )")
_CLAIM = re.compile(
    r"(?P<kind>error|warning|bug: false|bug: missing)(?:: | )(?:\[(?P<rule>[\w-]+)\] )?(?P<cls>[\w.]+) "
    r'"(?P<message>(?:[^"\\]|\\.)*)"(?P<more>.*)'
)
_MORE = re.compile(r'\s+(?:(?P<word>hedged|warning)|(?P<key>\w+)="(?P<value>(?:[^"\\]|\\.)*)")')
_KEYS = ("callee", "param", "condition", "starts", "ends", "through")


@dataclass(frozen=True, slots=True)
class Claim:
    """A finding that a comment speaks of; `expected` is whether it must be there."""

    line: int
    facts: dict[str, str]
    expected: bool


@dataclass(frozen=True, slots=True)
class Claims:
    """All claims of one file, by line."""

    findings: tuple[Claim, ...]
    related: tuple[tuple[int, str], ...]


def read_claims(text: str) -> Claims:
    """The claims of a file. Lines that hold nothing but claims speak of the next other line."""
    findings: list[Claim] = []
    related: list[tuple[int, str]] = []
    waiting: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        code, *claims = _MARK.split(line)
        waiting += [claim.strip() for claim in claims]
        if claims and not code.strip():
            continue
        for claim in waiting:
            if claim.startswith("related: "):
                related.append((number, claim.removeprefix("related: ")))
            else:
                findings.append(_claim(number, claim))
        waiting = []
    assert not waiting, f"claims at the end of the file speak of no line: {waiting}"
    return Claims(tuple(findings), tuple(related))


def _claim(line: int, text: str) -> Claim:
    match = _CLAIM.fullmatch(text)
    assert match is not None, f"this claim is not understood: {text}"
    warning = match["kind"] == "warning"
    facts = {"class": match["cls"], "message": _unescaped(match["message"]), "when": "", "hedged": ""}
    if match["rule"]:
        facts["rule"] = match["rule"]
    end = 0
    for more in _MORE.finditer(match["more"]):
        assert more.start() == end, f"this claim is not understood: {text}"
        end = more.end()
        if more["word"] == "warning":
            warning = True
        elif more["word"]:
            facts["hedged"] = "hedged"
        else:
            assert more["key"] in {*_KEYS, "when"}, f"unknown key in a claim: {text}"
            facts[more["key"]] = _unescaped(more["value"])
    assert not match["more"][end:].strip(), f"this claim is not understood: {text}"
    facts["severity"] = (Severity.WARNING if warning else Severity.ERROR).value
    return Claim(line, facts, match["kind"] != "bug: missing")


def _unescaped(text: str) -> str:
    return text.replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\")


def facts_of(error: RaisedError, text: str) -> dict[str, str]:
    """All that a claim may say of a finding; `text` is the file's."""
    origin = error.origin
    assert isinstance(origin, Foreseen)
    lines, span = text.split("\n"), origin.place.span
    return {
        "severity": origin.severity.value,
        "rule": origin.rule,
        "class": error.class_name,
        "message": message_with_holes(error),
        "when": origin.when or "",
        "hedged": "" if origin.message_certain else "hedged",
        "callee": origin.callee,
        "param": origin.param or "",
        "condition": origin.condition,
        "starts": lines[span.line - 1][span.column - 1 :],
        "ends": lines[span.end_line - 1][: span.end_column - 1],
        "through": " ".join(frame.function for frame in error.frames),
    }


def message_with_holes(error: RaisedError) -> str:
    """The message with its holes in braces, and real braces doubled."""
    origin = error.origin
    assert isinstance(origin, Foreseen)
    shown, at = "", 0
    for hole in origin.holes:
        assert error.message[hole.start : hole.end] == f"{{{hole.expr}}}", "a hole is not where it is said to be"
        shown += _doubled(error.message[at : hole.start]) + f"{{{hole.expr}}}"
        at = hole.end
    return shown + _doubled(error.message[at:])


def _doubled(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def holds(claim: dict[str, str], found: dict[str, str]) -> bool:
    """Whether a finding is the claimed one."""
    for key, value in claim.items():
        if key == "starts":
            fits = found[key].startswith(value)
        elif key == "ends":
            fits = found[key].endswith(value)
        else:
            fits = found[key] == value
        if not fits:
            return False
    return True


def compare(text: str, errors: Iterable[RaisedError]) -> list[tuple[int, str]]:
    """What the claims of a file and the findings in it disagree about: lines, and what to say of each."""
    claims = read_claims(text)
    open_claims = list(claims.findings)
    wrong: list[tuple[int, str]] = []
    related: set[tuple[int, str]] = set()
    for error in errors:
        assert isinstance(error.origin, Foreseen)
        line = error.origin.place.span.line
        related |= {(item.place.span.line, item.message) for item in error.origin.related}
        found = facts_of(error, text)
        claim = next((c for c in open_claims if c.line == line and holds(c.facts, found)), None)
        if claim is not None:
            open_claims.remove(claim)
        if claim is None:
            near = next((c.facts for c in claims.findings if c.line == line and c.expected), {})
            wrong.append((line, f"+ {shown(found, near)}"))
        elif not claim.expected:
            wrong.append((line, f"found at last, so claim it as an error: {shown(found, claim.facts)}"))
    wrong += [(claim.line, f"- {shown(claim.facts, claim.facts)}") for claim in open_claims if claim.expected]
    if claims.related:
        wrong += [(line, f"+ related: {message}") for line, message in related - set(claims.related)]
        wrong += [(line, f"- related: {message}") for line, message in set(claims.related) - related]
    return sorted(wrong)


def shown(facts: dict[str, str], like: dict[str, str]) -> str:
    """A finding as a claim would write it, with the facts that `like` mentions."""
    rule = f"[{facts['rule']}] " if "rule" in like or not like else ""
    written = f"{facts['severity']}: {rule}{facts['class']} {_quoted(facts['message'])}"
    if facts["when"]:
        written += f" when={_quoted(facts['when'])}"
    if facts["hedged"]:
        written += " hedged"
    return written + "".join(f" {key}={_quoted(facts[key])}" for key in _KEYS if key in like)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
