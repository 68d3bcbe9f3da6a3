"""Errors quoted in another error's message: what a worker raised, printed into what its parent raises.

Ray, torch's DataLoader, multiprocessing's RemoteTraceback and torchrun's table all do it. The quoted text stays part
of the message that holds it, and is an error of its own beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raiselens_server.error import Role
from raiselens_server.read.draft import Draft
from raiselens_server.read.formats.python import Chain
from raiselens_server.read.kinds import FrameLine, Header, Link, classify
from raiselens_server.read.names import is_exception_class, split_class

if TYPE_CHECKING:
    from raiselens_server.read.lines import Line

# Each depth reads its lines once more, so that depth times length is linear only while the depth is bounded.
_MAX_DEPTH = 6


def quoted_in(draft: Draft, depth: int = 0) -> list[Draft]:
    """The errors quoted in the message, outermost first."""
    if depth >= _MAX_DEPTH or not draft.body:
        return []
    found: list[Draft] = []
    chain: Chain | None = None
    above: list[Line] = []
    for line in draft.body:
        kind = classify(line.text)
        if line.text.strip() == '"""':
            _collect(chain, found, depth)
            chain, above = None, []
            continue
        if chain is not None and not chain.feed(line, kind):
            _collect(chain, found, depth)
            chain = None
        if chain is None and (isinstance(kind, Header) or (isinstance(kind, FrameLine) and not kind.dumped)):
            chain = Chain(quoted=True)
            chain.feed(line, kind)
        elif chain is None and isinstance(kind, Link):
            unraised = unraised_above([*above, line])
            chain = Chain.linked(*unraised, quoted=True) if unraised is not None else None
        elif chain is None:
            above.append(line)
    _collect(chain, found, depth)
    return found


def unraised_above(lines: list[Line]) -> tuple[Draft, Link] | None:
    """The error that the lines tell of and the sentence that links it to the next, if they end with that sentence.

    An exception that was never raised has no header and no frames.
    """
    while lines and not lines[-1].text.strip():
        lines = lines[:-1]
    link = classify(lines[-1].text) if lines else None
    named = split_class(lines[0].text) if lines else None
    if not isinstance(link, Link) or named is None or not is_exception_class(named[0]):
        return None
    name, text = named
    head = lines[0]
    return Draft(name, head, len(head.text) - len(text) if text else len(head.text), body=lines[1:-1]), link


def _collect(chain: Chain | None, found: list[Draft], depth: int) -> None:
    if chain is None:
        return
    for draft in chain.close():
        draft.embedded = True
        if draft.role is Role.ROOT:
            draft.role = Role.CONTEXT
        found.append(draft)
        found.extend(quoted_in(draft, depth + 1))


def with_quoted(errors: list[Draft]) -> list[Draft]:
    """The errors of a unit, each followed by those that its message quotes."""
    result: list[Draft] = []
    for draft in errors:
        result.append(draft)
        result.extend(quoted_in(draft))
    return result
