"""Settings, files and folders that change while the server runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types

from raiselens_server.lsp import diagnostics
from raiselens_server.lsp.tasks import spawn

if TYPE_CHECKING:
    from raiselens_server.lsp.server import RaiselensServer

SECTION = "raiselens"


def changed(server: RaiselensServer, params: types.DidChangeConfigurationParams) -> None:
    """Take the settings that came along, or ask for them."""
    settings = params.settings
    if isinstance(settings, dict) and settings:
        own, folders = settings.get(SECTION, settings), settings.get("folders")
        _apply(server, own if isinstance(own, dict) else {}, folders if isinstance(folders, dict) else {})
        return
    workspace = server.client_capabilities.workspace
    if workspace is not None and workspace.configuration:
        spawn(_ask(server))


def files_changed(server: RaiselensServer, params: types.DidChangeWatchedFilesParams) -> None:
    """Forget what was read from disk; open documents are not on it."""
    changed = [change.uri for change in params.changes if server.snapshot(change.uri) is None]
    if changed:
        spawn(_forget(server, settings=any(not uri.endswith(".py") for uri in changed)))


def folders_changed(server: RaiselensServer, params: types.DidChangeWorkspaceFoldersParams) -> None:
    """Look at everything again with the new folders."""
    del params
    _apply(server, server.editor, server.folder_settings)


async def _ask(server: RaiselensServer) -> None:
    items = [types.ConfigurationItem(section=SECTION)]
    answer = await server.workspace_configuration_async(types.ConfigurationParams(items))
    own = next(iter(answer), None)
    _apply(server, own if isinstance(own, dict) else {}, {})


def _apply(server: RaiselensServer, editor: dict[str, Any], folders: dict[str, Any]) -> None:
    spawn(server.worker.ask(server.configure(editor, folders)))
    diagnostics.refresh_soon(server)
    workspace = server.client_capabilities.workspace
    if workspace is not None and workspace.inlay_hint is not None and workspace.inlay_hint.refresh_support:
        spawn(server.workspace_inlay_hint_refresh_async(None))


async def _forget(server: RaiselensServer, *, settings: bool) -> None:
    def forget() -> None:
        session = server.session()
        if settings:
            session.forget()
        else:
            session.forget_disk()

    await server.worker.ask(forget)
    diagnostics.refresh_soon(server)
