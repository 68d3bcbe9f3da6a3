"""`textDocument/hover`: what will be raised here, or was, and the page of its record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from raiselens_catalog import hover as record_page
from raiselens_server.error import Foreseen, Observed
from raiselens_server.present.markdown import finding_markdown, observed_markdown

if TYPE_CHECKING:
    from raiselens_server.error import Diagnosis
    from raiselens_server.lsp.server import RaiselensServer, Snapshot


async def hover(server: RaiselensServer, params: types.HoverParams) -> types.Hover | None:
    """The page of what the position speaks of; nothing where it speaks of no error."""

    def look() -> types.Hover | None:
        snapshot = server.snapshot(params.text_document.uri)
        if snapshot is None:
            return None
        found = _found(server, snapshot, snapshot.table.point(params.position))
        if not found:
            return None
        pages = [_page(server, snapshot, diagnosis) for diagnosis in found]
        text = types.MarkupContent(types.MarkupKind.Markdown, "\n\n---\n\n".join(pages))
        return types.Hover(text, _range(snapshot, found[0]))

    return await server.worker.ask(look)


def _found(server: RaiselensServer, snapshot: Snapshot, point: tuple[int, int]) -> list[Diagnosis]:
    from raiselens_server.session import at

    session = server.session()
    if snapshot.is_python:
        found = session.findings(snapshot.path, snapshot.text)
        return [session.with_repairs(snapshot.path, item) for item in found if at(item, *point)]
    if snapshot.is_log:
        return [item for item in session.explain(snapshot.text, snapshot.near).diagnoses if _in_log(item, point[0])]
    return []


def _in_log(diagnosis: Diagnosis, line: int) -> bool:
    """Whether a line of a log belongs to an error: its message's, or one of its frames'."""
    origin = diagnosis.error.origin
    if not isinstance(origin, Observed):
        return False
    frames = [frame.place for frame in diagnosis.error.frames if frame.place is not None]
    last = origin.line + diagnosis.error.message.count("\n")
    return origin.line <= line <= last or any(place.line <= line <= place.end_line for place in frames)


def _page(server: RaiselensServer, snapshot: Snapshot, diagnosis: Diagnosis) -> str:
    head = finding_markdown(diagnosis) if isinstance(diagnosis.error.origin, Foreseen) else observed_markdown(diagnosis)
    entry = server.session().entry(diagnosis, snapshot.near)
    if entry is None or diagnosis.record is None:
        return head
    return f"{head}\n\n{record_page(entry, diagnosis.record.captures)}"


def _range(snapshot: Snapshot, diagnosis: Diagnosis) -> types.Range | None:
    match diagnosis.error.origin:
        case Foreseen(place=place) if place.file == snapshot.path and snapshot.holds(place.span):
            return snapshot.table.range(place.span)
        case Foreseen():
            return None
        case Observed(line=line, column=column):
            return snapshot.table.rest_of_line(line, column)
