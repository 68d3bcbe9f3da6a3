"""Starting and ending the server's process."""

from __future__ import annotations

import gc
import logging
import os
import socket
import sys
import threading
import time
from typing import TYPE_CHECKING

from raiselens_server.lsp import transport
from raiselens_server.lsp.features import create_server

if TYPE_CHECKING:
    from raiselens_server.lsp.server import RaiselensServer

PARENT_CHECK_SECONDS = 3.0
"""How often to look whether the client's process still lives, in case it died without closing the pipe."""


def serve_stdio(log_level: str) -> int:
    """Speak on stdin and stdout; the exit code."""
    _set_up(log_level)
    # Whatever prints by mistake prints to stderr: stdout belongs to the protocol.
    reading, writing = sys.stdin.fileno(), os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    server = create_server()
    _watch_parent(server)
    return transport.run(server, lambda size: os.read(reading, size), lambda data: _write_all(writing, data))


def serve_tcp(host: str, port: int, log_level: str) -> int:
    """Wait for one client on a socket, and serve it. Raises OSError where the address cannot be used."""
    _set_up(log_level)
    with socket.create_server((host, port)) as listening:
        sys.stderr.write(f"listening on {host}:{listening.getsockname()[1]}\n")
        sys.stderr.flush()
        connection, _ = listening.accept()
    with connection:
        server = create_server()
        _watch_parent(server)
        return transport.run(server, connection.recv, connection.sendall)


def _write_all(target: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(target, rest) :]


def _set_up(log_level: str) -> None:
    level = log_level.upper()
    logging.basicConfig(stream=sys.stderr, level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    # pygls tells every message it sends at INFO, body and all.
    logging.getLogger("pygls").setLevel(max(logging.getLevelName(level), logging.WARNING))
    # Syntax trees and IR hold hundreds of thousands of objects; collecting the young ones often finds nothing.
    gc.set_threshold(50_000, 20, 20)


def _watch_parent(server: RaiselensServer) -> None:
    def watch() -> None:
        while True:
            time.sleep(PARENT_CHECK_SECONDS)
            pid = server.process_id
            if pid is not None and not _lives(pid):
                server.end(1)
                return

    threading.Thread(target=watch, name="raiselens-parent-watch", daemon=True).start()


def _lives(pid: int) -> bool:
    if os.name == "nt":
        # `os.kill` would end the process there; the pipe's end is all we have.
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
