"""The threads that block, so that the loop does not.

A job gets values and returns values; what it returns is applied on the loop.
Jobs of one ``DiskThreads`` start in the order in which they were given.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import queue
import threading
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")
OnDone = Callable[[Any, "BaseException | None"], object]
_Job = tuple[asyncio.AbstractEventLoop, Callable[[], object], OnDone]

_logger = logging.getLogger(__name__)


class DiskThreads:
    """A fixed number of named threads, started when first needed."""

    def __init__(self, count: int = 4, name: str = "disk") -> None:
        self._count = count
        self._name = name
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._unfinished = 0
        self._is_closed = False

    @property
    def is_idle(self) -> bool:
        """Whether everything that was given to them has been applied."""
        return not self._unfinished

    async def run(
        self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """What ``function`` returns, or raises, in a disk thread.

        A job that has begun is not stopped when the waiting task is cancelled.
        """
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        job = functools.partial(function, *args, **kwargs)
        self.submit(job, functools.partial(_resolve, future))
        return await future

    def submit(self, job: Callable[[], object], on_done: OnDone) -> None:
        """Run ``job`` in a thread, then ``on_done(result, error)`` on this loop."""
        if self._is_closed:
            raise RuntimeError(f"the {self._name} threads are closed")
        self._unfinished += 1
        if self._unfinished > len(self._threads) < self._count:
            self._start_thread()
        self._jobs.put((asyncio.get_running_loop(), job, on_done))

    def close(self, *, waits: bool = True) -> None:
        """End the threads after the jobs they have; block until then, or not."""
        self._is_closed = True
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads if waits else ():
            thread.join()

    def _start_thread(self) -> None:
        name = f"{self._name}-{len(self._threads)}"
        thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _work(self) -> None:
        while (entry := self._jobs.get()) is not None:
            loop, job, on_done = entry
            result, error = _outcome(job)
            try:
                loop.call_soon_threadsafe(self._finish, on_done, result, error)
            except RuntimeError:
                # The loop is closed: nobody waits for the result any more.
                _logger.debug("a %s job ended after its loop", self._name)
            del entry, job, on_done, result, error

    def _finish(
        self, on_done: OnDone, result: object, error: BaseException | None
    ) -> None:
        self._unfinished -= 1
        on_done(result, error)


def _outcome(job: Callable[[], object]) -> tuple[object, BaseException | None]:
    try:
        return job(), None
    except BaseException as error:  # belongs to the one who waits
        return None, error


def _resolve(
    future: asyncio.Future[Any], result: object, error: BaseException | None
) -> None:
    if future.done():  # cancelled meanwhile
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
