"""Text inside of JSON, or escaped as JSON and `repr` do, as the lines that it once was.

Three shapes occur: a whole record on a line (`{"log": "…"}`, `{"message": …, "exc_info": "…"}`), one string of a
pretty-printed record on a line, and an escaped traceback inside of any other line.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from raiselens_server.read.lines import Line, Mark, Places

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
_ESCAPES = re.compile(
    r"\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|.)", re.DOTALL
)
_SHORT = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_ONE_UNIT = 5
_MOST_MARKS = 4_096
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
    payloads = list(_payloads(record, 0))
    if not payloads:
        return None
    strings = _Strings(line, start)
    texts = [[each for part in parts for each in strings.lines(part)] for parts in payloads]
    block = len(texts) > 1 or any(len(lines) > 1 for lines in texts)
    return Unwrapped([each for lines in texts for each in lines], block, level)


def _payloads(value: object, depth: int) -> list[list[str]]:
    """The texts of a record that may hold what was printed, each as the strings that it is made of."""
    if depth > _MAX_DEPTH:
        return []
    match value:
        case str():
            return [[value]]
        case list():
            strings = [item for item in value if isinstance(item, str)]
            return [strings] if strings else []
        case dict():
            found: list[list[str]] = []
            for key in _PAYLOAD:
                if key in value:
                    found.extend(_payloads(value[key], depth + 1))
            return found
        case _:
            return []


class _Strings:
    """The strings of a record, each at its place in the line."""

    def __init__(self, line: Line, start: int) -> None:
        self._line = line
        self._start = start
        self._places: dict[str, list[tuple[int, int]]] = {}
        for found in _STRING.finditer(line.text, start):
            body = found.group()[1:-1]
            text = _ESCAPES.sub(_unescape, body) if "\\" in body else body
            self._places.setdefault(text, []).append((found.start() + 1, found.end() - 1))
        for places in self._places.values():
            places.reverse()

    def lines(self, text: str) -> list[Line]:
        """The lines of the string that holds this text: of several equal ones, the next that was not asked for yet."""
        places = self._places.get(text)
        if not places:
            return [_virtual(self._line, piece, self._start) for piece in text.removesuffix("\n").split("\n")]
        return _spread(self._line, *(places.pop() if len(places) > 1 else places[0]))


def _spread(line: Line, start: int, end: int) -> list[Line]:
    """The lines that the escaped text in `line.text[start:end]` stands for, each character still knowing its place."""
    lines: list[Line] = []
    pieces: list[str] = []
    marks: list[Mark] = []
    places = Places(line)
    length, at = 0, start
    for found in _ESCAPES.finditer(line.text, start, end):
        if len(marks) < _MOST_MARKS:
            marks += places.copied(at, found.start(), length)
        character = _unescape(found)
        pieces += line.text[at : found.start()], character
        length += found.start() - at + len(character)
        at = found.end()
        if character == "\n":
            lines.append(Line("".join(pieces)[:-1], line.raw, tuple(marks)))
            pieces, marks, length = [], [], 0
    marks += places.copied(at, end, length)
    if at < end or pieces or not lines:
        lines.append(Line("".join(pieces) + line.text[at:end], line.raw, tuple(marks)))
    return lines


def _element(line: Line) -> Unwrapped | None:
    """`"key": "text",` or `"text",` on a line of its own."""
    opening = _ELEMENT.match(line.text[:200])
    if opening is None:
        return None
    string = _STRING.match(line.text, opening.end())
    if string is None or line.text[string.end() :].strip() not in {"", ","}:
        return None
    lines = _spread(line, string.start() + 1, string.end() - 1)
    return Unwrapped(lines, ":" in opening.group() and len(lines) > 1)


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
    return Unwrapped([*lines, *_spread(line, start, end)], block=True)


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
    """What an escape stands for, in JSON and in a `repr`."""
    escape = match.group()[1:]
    if len(escape) == 1:
        return _SHORT.get(escape, escape)
    high = int(escape[1:5], 16)
    if len(escape) > _ONE_UNIT:
        return chr(0x10000 + ((high - 0xD800) << 10) + int(escape[7:11], 16) - 0xDC00)
    return chr(high)


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
