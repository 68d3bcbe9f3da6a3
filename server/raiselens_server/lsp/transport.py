"""Reading and writing messages on a pair of streams, without pygls' thread pool.

pygls reads stdin on the pool that runs handlers, a line at a time; here one thread reads whole messages and hands them
to the loop. Header names match in any case.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from raiselens_server.lsp.server import RaiselensServer

logger = logging.getLogger(__name__)

LAST_WAIT_SECONDS = 5.0
"""How long the process waits, at its end, for the child processes that it kills."""

LARGEST_MESSAGE = 1 << 30
CHUNK = 1 << 16


class Writer:
    """Writes each message at once, by `send`, which takes all of it. Called on the loop's thread only."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send

    def write(self, data: bytes) -> None:
        """Write one message, header and body."""
        self._send(data)

    def close(self) -> None:
        """Leave the stream open: the process ends it."""


def run(server: RaiselensServer, receive: Callable[[int], bytes], send: Callable[[bytes], None]) -> int:
    """Serve until `exit`, or until the client is gone; the exit code of the process."""
    return asyncio.run(_serve(server, receive, send))


async def _serve(server: RaiselensServer, receive: Callable[[int], bytes], send: Callable[[bytes], None]) -> int:
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()

    def end(code: int) -> None:
        if not ended.done():
            ended.set_result(code)

    def handle(data: Any) -> None:
        try:
            server.protocol.receive(data)
        except BrokenPipeError:
            end(1)
        except Exception:
            # One message that goes wrong must not end the session.
            logger.exception("a message could not be handled")

    server.protocol.set_writer(Writer(send))
    server.protocol.on_exit = end

    def on_loop(action: Callable[[], None]) -> None:
        loop.call_soon_threadsafe(action)

    server.on_loop = on_loop
    server.end = lambda code: on_loop(lambda: end(code))

    def read_all() -> None:
        incoming = Incoming(receive)
        try:
            while (body := incoming.body()) is not None:
                try:
                    data = json.loads(body)
                except ValueError as error:
                    loop.call_soon_threadsafe(server.protocol.refuse_json, str(error))
                else:
                    loop.call_soon_threadsafe(handle, data)
        except (OSError, ValueError) as error:
            logger.warning("the client cannot be read from: %s", error)
        # The client is gone without `exit`; or it said so, and the loop is closed.
        if not loop.is_closed():
            loop.call_soon_threadsafe(end, 1)

    threading.Thread(target=read_all, name="raiselens-reader", daemon=True).start()
    code = await ended
    server.stop()
    end_of_wait = loop.time() + LAST_WAIT_SECONDS
    while server.running and loop.time() < end_of_wait:  # noqa: ASYNC110 - what is waited for are threads
        await asyncio.sleep(0.02)
    return code


class Incoming:
    """Messages out of a stream of bytes.

    `receive` gives at most so many bytes, none at the end. It is a plain system call rather than a buffered file: a
    thread that waits in one of those holds its lock, and the process could not end.
    """

    def __init__(self, receive: Callable[[int], bytes]) -> None:
        self._receive = receive
        self._held = bytearray()

    def body(self) -> bytes | None:
        """The body of the next message; `None` where the stream has ended. Raises ValueError where it is absurd."""
        length = None
        while (header := self._line()) is not None:
            name, colon, value = header.partition(b":")
            if colon and name.strip().lower() == b"content-length" and value.strip().isdigit():
                length = int(value)
            if not header.strip() and length is not None:
                break
        if length is None:
            return None
        if length > LARGEST_MESSAGE:
            raise ValueError(f"a message of {length} bytes")
        return self._exactly(length)

    def _line(self) -> bytes | None:
        seen = 0
        while (at := self._held.find(b"\n", seen)) < 0:
            seen = len(self._held)
            if not self._more():
                return None
        return self._take(at + 1)

    def _exactly(self, length: int) -> bytes | None:
        while len(self._held) < length:
            if not self._more():
                return None
        return self._take(length)

    def _more(self) -> bool:
        data = self._receive(CHUNK)
        self._held += data
        return bool(data)

    def _take(self, length: int) -> bytes:
        taken = bytes(self._held[:length])
        del self._held[:length]
        return taken
