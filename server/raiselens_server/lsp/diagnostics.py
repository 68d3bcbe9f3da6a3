"""`textDocument/diagnostic`, and versioned `publishDiagnostics` for clients that do not ask."""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import TYPE_CHECKING

from lsprotocol import types

from raiselens_server.error import Foreseen
from raiselens_server.lsp.convert import finding_diagnostic, observed_diagnostic
from raiselens_server.lsp.tasks import spawn

if TYPE_CHECKING:
    from raiselens_server.error import Diagnosis
    from raiselens_server.lsp.server import RaiselensServer, Snapshot

REFRESH_SECONDS = 0.4
"""Quiet time after which the other open files are looked at again."""


async def pull(
    server: RaiselensServer, params: types.DocumentDiagnosticParams
) -> types.RelatedFullDocumentDiagnosticReport | types.RelatedUnchangedDocumentDiagnosticReport:
    """The diagnostics of one document."""
    found = await _diagnostics(server, params.text_document.uri)
    items = found[1] if found is not None else []
    result = _digest(server, items)
    if result == params.previous_result_id:
        return types.RelatedUnchangedDocumentDiagnosticReport(result_id=result)
    return types.RelatedFullDocumentDiagnosticReport(items=items, result_id=result)


async def publish(server: RaiselensServer, uri: str) -> None:
    """Push the diagnostics of one document to a client that does not pull."""
    if _pulls(server):
        return
    found = await _diagnostics(server, uri)
    now = server.snapshot(uri)
    # What was found in an older text is dropped: its newer version is being looked at.
    if found is None or now is None or now.version != found[0].version:
        return
    server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found[1], found[0].version))


def withdraw(server: RaiselensServer, uri: str) -> None:
    """Take back the diagnostics of a document that was closed."""
    if not _pulls(server):
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))


def refresh_soon(server: RaiselensServer, but: str | None = None) -> None:
    """Have all open documents looked at again after a quiet moment; `but` is left out, its answer is on its way."""
    server.sweep.soon()
    if server.refresh is not None:
        server.refresh.cancel()
    server.refresh = asyncio.get_running_loop().call_later(REFRESH_SECONDS, _refresh, server, but)


def _refresh(server: RaiselensServer, but: str | None) -> None:
    uris = [document.uri for document in server.workspace.text_documents.values() if document.uri != but]
    if not uris:
        return
    workspace = server.client_capabilities.workspace
    if not _pulls(server):
        for uri in uris:
            spawn(publish(server, uri))
    elif workspace is not None and workspace.diagnostics is not None and workspace.diagnostics.refresh_support:
        spawn(server.workspace_diagnostic_refresh_async(None))


def _pulls(server: RaiselensServer) -> bool:
    document = server.client_capabilities.text_document
    return document is not None and document.diagnostic is not None


async def _diagnostics(server: RaiselensServer, uri: str) -> tuple[Snapshot, list[types.Diagnostic]] | None:
    """What the newest text of a document holds, once the worker comes to it; `None` for what is not open."""

    def look() -> tuple[Snapshot, list[types.Diagnostic]] | None:
        snapshot = server.snapshot(uri)
        return None if snapshot is None else (snapshot, _looked_at(server, snapshot))

    return await server.worker.ask(look)


def _looked_at(server: RaiselensServer, snapshot: Snapshot) -> list[types.Diagnostic]:
    session = server.session()
    locate = server.locator(snapshot)
    if snapshot.is_python:
        found = session.findings(snapshot.path, snapshot.text)
        return [
            finding_diagnostic(diagnosis, origin, locate, session.link(diagnosis, snapshot.near))
            for diagnosis, origin in _foreseen(found)
            if snapshot.holds(origin.place.span)
        ]
    if snapshot.is_log:
        explained = session.explain(snapshot.text, snapshot.near)
        shown = (
            observed_diagnostic(
                diagnosis,
                snapshot.table,
                session.link(diagnosis, snapshot.near),
                explained.local,
                primary=number == explained.primary,
            )
            for number, diagnosis in enumerate(explained.diagnoses)
        )
        return [item for item in shown if item is not None]
    return []


def _foreseen(found: tuple[Diagnosis, ...]) -> list[tuple[Diagnosis, Foreseen]]:
    return [(item, item.error.origin) for item in found if isinstance(item.error.origin, Foreseen)]


def _digest(server: RaiselensServer, items: list[types.Diagnostic]) -> str:
    plain = server.protocol._converter.unstructure(items)  # noqa: SLF001 - pygls offers no other way to its converter
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]
