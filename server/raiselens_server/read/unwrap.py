"""Text inside of JSON, or escaped as JSON and `repr` do, as the lines that it once was.

Three shapes occur: a whole record on a line (`{"log": "…"}`, `{"message": …, "exc_info": "…"}`), one string of a
pretty-printed record on a line, and an escaped traceback inside of any other line.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from raiselens_server.read.lines import Line, Mark

# The keys under which loggers and collectors put what was printed, in the order in which they are read.
_PAYLOAD = (
    "log", "message", "msg", "text", "line", "MESSAGE", "textPayload", "event", "body", "content", "output", "stderr",
    "exc_info", "exception", "exc_text", "stack_info", "stack", "stacktrace", "stack_trace", "traceback", "error",
    "err", "detail",
)  # fmt: skip
_LEVELS = ("level", "levelname", "severity", "log_level")
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')
_ELEMENT = re.compile(r'\s*(?:"[\w. -]{1,60}"\s*:\s*)?(?=")')
_ESCAPED_HEADER = re.compile(r"(?: {0,8}\+ Exception Group )?Traceback \(most recent call last\):\\n")
_ESCAPED_LINK = re.compile(
    r"exception(?: was the direct cause of the following exception|, another exception occurred):\\n\\n$"
)
_LONGEST_UNRAISED = 4_000
_ESCAPES = re.compile(r"\\(.)", re.DOTALL)
_MARKS = re.compile(r"\\.|([\"'])", re.DOTALL)
_MAX_DEPTH = 4


class Unwrapped(NamedTuple):
    """Lines out of one physical line.

    `block`: they are one text, complete in itself. `stream`: lines of the record that the physical lines around go on
    with.
    """

    lines: list[Line]
    block: bool
    level: str = ""


def unwrap(line: Line) -> Unwrapped | None:
    """What the line wraps; None where it wraps nothing."""
    text = line.text
    first = text[:200].lstrip()[:1]
    if first == "{" and '"' in text:
        return _record(line)
    if "\\n" in text and _ESCAPED_HEADER.search(text):
        return _escaped(line)
    if first == '"' and text[:1] in {" ", "\t", '"'}:
        return _element(line)
    return None


def _record(line: Line) -> Unwrapped | None:
    start = line.text.index("{")
    try:
        record = json.loads(line.text[start:])
    except (ValueError, RecursionError):
        return _escaped(line) if "\\n" in line.text and _ESCAPED_HEADER.search(line.text) else None
    if not isinstance(record, dict):
        return None
    level = next((str(record[key]).upper() for key in _LEVELS if isinstance(record.get(key), str)), "")
    texts = list(_payloads(record, 0))
    if not texts:
        return None
    lines: list[Line] = []
    block = False
    for text in texts:
        at = _find(line.text, text, start)
        pieces = text.removesuffix("\n").split("\n")
        block = block or len(pieces) > 1 or len(texts) > 1
        lines.extend(_virtual(line, piece, at) for piece in pieces)
    return Unwrapped(lines, block, level)


def _payloads(value: object, depth: int) -> list[str]:
    """The texts of a record that may hold what was printed."""
    if depth > _MAX_DEPTH:
        return []
    match value:
        case str():
            return [value]
        case list():
            strings = [item for item in value if isinstance(item, str)]
            return ["\n".join(item.rstrip("\n") for item in strings)] if strings else []
        case dict():
            found: list[str] = []
            for key in _PAYLOAD:
                if key in value:
                    found.extend(_payloads(value[key], depth + 1))
            return found
        case _:
            return []


def _find(raw: str, text: str, start: int) -> int:
    """Where the payload stands in the raw text, so that its place can be shown; `start` where it cannot be told."""
    head = json.dumps(text.split("\n", 1)[0][:40], ensure_ascii=False)[1:-1]
    at = raw.find(head, start) if head else -1
    return at if at >= 0 else start


def _element(line: Line) -> Unwrapped | None:
    """`"key": "text",` or `"text",` on a line of its own."""
    opening = _ELEMENT.match(line.text[:200])
    if opening is None:
        return None
    string = _STRING.match(line.text, opening.end())
    if string is None or line.text[string.end() :].strip() not in {"", ","}:
        return None
    try:
        text = json.loads(string.group())
    except ValueError:
        return None
    pieces = str(text).removesuffix("\n").split("\n")
    keyed = ":" in opening.group()
    return Unwrapped([_virtual(line, piece, string.start() + 1) for piece in pieces], keyed and len(pieces) > 1)


def _escaped(line: Line) -> Unwrapped | None:
    """A traceback whose line ends were written as backslash and n."""
    found = _ESCAPED_HEADER.search(line.text)
    if found is None:
        return None
    start = _first_link(line.text, found.start())
    quote = _quote_around(line.text, start)
    end = _closing(line.text, start, quote) if quote else len(line.text)
    lines: list[Line] = []
    if line.text[:start].rstrip("\"' "):
        lines.append(line.keep(start - (quote == line.text[start - 1])))
    at = start
    for stop, behind in [*_line_ends(line.text, start, end), (end, end)]:
        if behind == end and stop == at:
            break
        virtual = line.drop(at).keep(0)
        lines.append(Line(_ESCAPES.sub(_unescape, line.text[at:stop]), virtual.raw, virtual.marks))
        at = behind
    return Unwrapped(lines, block=True)


def _line_ends(text: str, start: int, end: int) -> list[tuple[int, int]]:
    r"""Where each `\n` begins and ends; the n behind an escaped backslash is one of the text's own."""
    return [(found.start(), found.end()) for found in _ESCAPES.finditer(text, start, end) if found.group(1) == "n"]


def _quote_around(text: str, start: int) -> str:
    """The mark of the quotation that is open at `start`; empty where none is."""
    floor = max(0, start - _LONGEST_UNRAISED)
    marks = [found.group(1) for found in _MARKS.finditer(text, floor, start) if found.group(1)]
    if not marks or (marks.count(marks[-1]) % 2 == 0 and text[start - 1] != marks[-1]):
        return ""
    return marks[-1]


def _first_link(text: str, start: int) -> int:
    """Where the text begins that the header at `start` is in: an exception that was never raised is printed without."""
    if not _ESCAPED_LINK.search(text[max(0, start - 100) : start]):
        return start
    for at in range(start - 1, max(0, start - _LONGEST_UNRAISED), -1):
        if text[at] in "\"'" and text[at - 1] != "\\":
            return at + 1
    return start


def _unescape(match: re.Match[str]) -> str:
    return {"t": "\t", "r": "\r"}.get(match.group(1), match.group(1))


def _closing(text: str, start: int, quote: str) -> int:
    at = start
    while True:
        at = text.find(quote, at)
        if at < 0:
            return len(text)
        slashes = at
        while slashes > start and text[slashes - 1] == "\\":
            slashes -= 1
        if (at - slashes) % 2 == 0:
            return at
        at += 1


def _virtual(line: Line, text: str, at: int) -> Line:
    """A line of text that stood, escaped, from `at` on."""
    number, column = line.at(min(at, len(line.text)))
    return Line(text, line.raw, (Mark(0, number, column),))
