"""Documents opened, changed, saved, closed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raiselens_server.lsp import diagnostics
from raiselens_server.lsp.lines import path_of
from raiselens_server.lsp.tasks import spawn

if TYPE_CHECKING:
    from lsprotocol import types

    from raiselens_server.lsp.server import RaiselensServer


def opened(server: RaiselensServer, params: types.DidOpenTextDocumentParams) -> None:
    """Tell clients that do not ask what the document holds."""
    server.touched.add(params.text_document.uri)
    server.sweep.opened(params.text_document.uri)
    spawn(diagnostics.publish(server, params.text_document.uri))


def changed(server: RaiselensServer, params: types.DidChangeTextDocumentParams) -> None:
    """Tell again, and have the other open files looked at: they may call what was changed."""
    server.touched.add(params.text_document.uri)
    spawn(diagnostics.publish(server, params.text_document.uri))
    diagnostics.refresh_soon(server, but=params.text_document.uri)


def closed(server: RaiselensServer, params: types.DidCloseTextDocumentParams) -> None:
    """Let the file on disk count again, and take back what was told of the document."""
    uri = params.text_document.uri
    path = path_of(uri, server.root)
    spawn(server.worker.ask(lambda: server.session().close(path)))
    diagnostics.withdraw(server, uri)
    diagnostics.refresh_soon(server, but=uri)
