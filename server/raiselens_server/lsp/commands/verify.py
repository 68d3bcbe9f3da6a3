"""`raiselens.verify {uri, position} | {scatter: true}`: run a finding before and after its repair.

The run takes place in a child process, waited for on a thread of its own. Cancelling the request or its progress kills
the child.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams, JsonRpcRequestCancelled

from raiselens_server.lsp.commands.arguments import optional, required
from raiselens_server.lsp.lines import path_of
from raiselens_server.lsp.progress import Progress
from raiselens_server.verify import (
    FailureKind,
    ScatterTarget,
    VerifyFailure,
    VerifyRequest,
    devices_of,
    run_verify,
    target_of,
)

if TYPE_CHECKING:
    from raiselens_server.lsp.server import RaiselensServer
    from raiselens_server.verify import Target, VerifyReport

NAME = "raiselens.verify"
DEFAULT_SECONDS = 600.0


async def run(server: RaiselensServer, argument: dict[str, Any], token: types.ProgressToken | None) -> dict[str, Any]:
    """The verify object; the request fails where nothing could be run."""
    target = await _target(server, argument)
    interpreter, launcher, extra = await _means(server, argument)
    device = optional(argument, "device", str, NAME) or "auto"
    devices = devices_of(device)
    if devices is None:
        raise JsonRpcInvalidParams(f"{NAME}: 'device' is {device!r}: must be auto, cpu, cuda, or cuda:N,cuda:M")
    timeout = optional(argument, "timeout", int, NAME) or DEFAULT_SECONDS
    cancel = threading.Event()
    progress = await Progress.begin(server, token, "Raiselens: verifying", on_cancel=cancel.set)
    request = VerifyRequest(target, devices=devices, extra_paths=extra)

    def verify() -> VerifyReport | VerifyFailure:
        return run_verify(
            request,
            interpreter=interpreter,
            launcher=launcher,
            timeout=float(timeout),
            cancel=cancel,
            progress=progress.report,
        )

    said = "cancelled"
    try:
        result = await server.cancellable(verify, cancel, "raiselens-verify")
        said = result.reason if isinstance(result, VerifyFailure) else result.summary
    finally:
        progress.end(said)
    if isinstance(result, VerifyFailure) and result.kind is FailureKind.CANCELLED:
        raise JsonRpcRequestCancelled(f"{NAME}: cancelled")
    return result.to_json()


async def _target(server: RaiselensServer, argument: dict[str, Any]) -> Target:
    if optional(argument, "scatter", bool, NAME):
        return ScatterTarget()
    uri = required(argument, "uri", str, NAME)
    given = required(argument, "position", dict, NAME)
    line, character = required(given, "line", int, NAME), required(given, "character", int, NAME)
    if line < 0 or character < 0:
        raise JsonRpcInvalidParams(f"{NAME}: 'position' counts from 0")
    position = types.Position(line, character)

    def look() -> Target:
        from raiselens_server.diagnose import finding_at

        snapshot = server.snapshot(uri)
        if snapshot is None:
            raise JsonRpcInvalidParams(f"{NAME}: {uri} is not open")
        found = server.session().findings(snapshot.path, snapshot.text)
        finding = finding_at(found, snapshot.path, snapshot.table.point(position)[0])
        if finding is None:
            raise JsonRpcInvalidParams(f"{NAME}: there is no finding at line {position.line + 1}")
        return target_of(
            server.session().room(Path(snapshot.path)).project, server.session().with_repairs(snapshot.path, finding)
        )

    return await server.worker.ask(look)


async def _means(server: RaiselensServer, argument: dict[str, Any]) -> tuple[str, str | None, tuple[str, ...]]:
    """Interpreter, launcher and extra paths. In an untrusted workspace only what the user named is run."""
    uri = optional(argument, "uri", str, NAME)
    near = Path(path_of(uri, server.root)) if uri is not None else server.root / "main.py"
    python = optional(argument, "python", str, NAME)
    launcher = optional(argument, "launcher", str, NAME)

    def look() -> tuple[str, str | None, tuple[str, ...]]:
        room = server.session().room(near)
        settings = room.settings
        if not server.trusted and python is None and "python" not in settings.named_by_user:
            raise JsonRpcInvalidParams(
                f"{NAME}: this workspace is not trusted; trust it, or name an interpreter in your own settings"
            )
        interpreter = python or room.interpreter.executable or sys.executable
        return interpreter, launcher or settings.launcher, tuple(map(str, settings.extra_path))

    return await server.worker.ask(look)
