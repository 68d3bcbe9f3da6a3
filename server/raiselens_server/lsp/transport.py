"""Reading and writing messages on a pair of streams, without pygls' thread pool.

pygls reads stdin on the pool that runs handlers, a line at a time; here one thread reads whole messages and hands them
to the loop. Header names match in any case.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable

    from raiselens_server.lsp.server import RaiselensServer

logger = logging.getLogger(__name__)

LARGEST_MESSAGE = 1 << 30


class Writer:
    """Writes each message at once. Called on the loop's thread only."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, data: bytes) -> None:
        """Write one message, header and body."""
        self._stream.write(data)
        self._stream.flush()

    def close(self) -> None:
        """Leave the stream open: the process ends it."""


def run(server: RaiselensServer, reading: BinaryIO, writing: BinaryIO) -> int:
    """Serve until `exit`, or until the client is gone; the exit code of the process."""
    return asyncio.run(_serve(server, reading, writing))


async def _serve(server: RaiselensServer, reading: BinaryIO, writing: BinaryIO) -> int:
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()

    def end(code: int) -> None:
        if not ended.done():
            ended.set_result(code)

    def receive(data: Any) -> None:
        try:
            server.protocol.receive(data)
        except BrokenPipeError:
            end(1)
        except Exception:
            # One message that goes wrong must not end the session.
            logger.exception("a message could not be handled")

    server.protocol.set_writer(Writer(writing))
    server.protocol.on_exit = end

    def on_loop(action: Callable[[], None]) -> None:
        loop.call_soon_threadsafe(action)

    server.on_loop = on_loop
    server.end = lambda code: on_loop(lambda: end(code))

    def read_all() -> None:
        try:
            while (body := _read_body(reading)) is not None:
                try:
                    data = json.loads(body)
                except ValueError as error:
                    loop.call_soon_threadsafe(server.protocol.refuse_json, str(error))
                else:
                    loop.call_soon_threadsafe(receive, data)
            # The client is gone without `exit`.
            loop.call_soon_threadsafe(end, 1)
        except (OSError, RuntimeError, ValueError):
            # The stream or the loop was closed: the process is ending.
            pass

    threading.Thread(target=read_all, name="raiselens-reader", daemon=True).start()
    code = await ended
    server.stop()
    return code


def _read_body(stream: BinaryIO) -> bytes | None:
    """The body of the next message; `None` where the stream has ended."""
    length = None
    while True:
        line = stream.readline()
        if not line:
            return None
        name, colon, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and colon and value.strip().isdigit():
            length = int(value)
        if not line.strip():
            if length is None:
                continue
            break
    if length > LARGEST_MESSAGE:
        raise ValueError("a message of more than a gigabyte")
    body = stream.read(length)
    return body if len(body) == length else None
