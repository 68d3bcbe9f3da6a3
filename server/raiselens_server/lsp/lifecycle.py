"""`initialize`, `initialized`, `shutdown`: what the client says of itself, and what is asked of it in turn."""

from __future__ import annotations

import gc
import logging
from typing import TYPE_CHECKING

from lsprotocol import types

from raiselens_server.lsp.tasks import spawn

if TYPE_CHECKING:
    from raiselens_server.lsp.server import RaiselensServer

logger = logging.getLogger(__name__)

WATCHED = ("**/*.py", "**/pyproject.toml", "**/raiselens.toml", "**/.raiselens/records/*", "**/pyvenv.cfg")


def initialize(server: RaiselensServer, params: types.InitializeParams) -> None:
    """Take trust and settings; without them the workspace is not trusted."""
    options = params.initialization_options
    if isinstance(options, dict):
        server.trusted = options.get("trusted") is True
        settings = options.get("settings")
        server.editor = dict(settings) if isinstance(settings, dict) else {}
        folders = options.get("folders")
        if isinstance(folders, dict):
            server.folder_settings = {uri: dict(own) for uri, own in folders.items() if isinstance(own, dict)}


def initialized(server: RaiselensServer, params: types.InitializedParams) -> None:
    """Ask to be told of changed files, and load what analysis needs while nobody waits."""
    del params
    spawn(_prepare(server))


def shutdown(server: RaiselensServer, params: None) -> None:
    """Stop what runs."""
    del params
    server.sweep.cancel()
    server.stop()


async def _prepare(server: RaiselensServer) -> None:
    workspace = server.client_capabilities.workspace
    watching = workspace.did_change_watched_files if workspace is not None else None
    if watching is not None and watching.dynamic_registration:
        watchers = [types.FileSystemWatcher(glob_pattern=pattern) for pattern in WATCHED]
        registration = types.Registration(
            id="raiselens-files",
            method=types.WORKSPACE_DID_CHANGE_WATCHED_FILES,
            register_options=types.DidChangeWatchedFilesRegistrationOptions(watchers),
        )
        try:
            await server.client_register_capability_async(types.RegistrationParams([registration]))
        except Exception as error:  # noqa: BLE001 - a client may refuse, and all else goes on
            logger.warning("the client does not watch files for us: %s", error)
    await server.worker.ask(lambda: _load(server))
    server.sweep.soon()


def _load(server: RaiselensServer) -> None:
    server.session()
    # What is loaded by now lives as long as the process: no collection needs to look at it again.
    gc.freeze()
