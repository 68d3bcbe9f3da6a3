"""Threads of our own: one that analyses, one for each long run. The protocol's loop never waits for either."""

from __future__ import annotations

import asyncio
import queue
import threading
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")


class Worker:
    """One thread that answers questions in the order they were asked.

    A question reads the documents when it is its turn, so that of several about one file only the first has work to
    do, and its answer is of the newest text. Questions that were cancelled meanwhile are not worked on.
    """

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="raiselens-analysis", daemon=True).start()

    async def ask(self, question: Callable[[], Result]) -> Result:
        """The answer to `question`, worked out on the thread."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Result] = loop.create_future()
        self._jobs.put(lambda: _answer(loop, answer, question))
        return await answer

    def end(self) -> None:
        """Let the thread end, after the questions that were asked so far."""
        self._jobs.put(None)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            # What the last question held must not live until the next one.
            del job


async def in_thread(task: Callable[[], Result], name: str) -> Result:
    """Run a long task on a thread of its own, which does not keep the process alive."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Result] = loop.create_future()
    threading.Thread(target=_answer, args=(loop, answer, task), name=name, daemon=True).start()
    return await answer


def _answer(loop: asyncio.AbstractEventLoop, answer: asyncio.Future[Any], question: Callable[[], Any]) -> None:
    if answer.cancelled():
        return
    try:
        result = question()
    except Exception as error:  # noqa: BLE001 - it is raised again where the answer is awaited
        _call(loop, _set_error, answer, error)
    else:
        _call(loop, _set_result, answer, result)


def _call(loop: asyncio.AbstractEventLoop, function: Callable[..., None], *arguments: Any) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(function, *arguments)


def _set_result(answer: asyncio.Future[Any], result: Any) -> None:
    if not answer.done():
        answer.set_result(result)


def _set_error(answer: asyncio.Future[Any], error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)
