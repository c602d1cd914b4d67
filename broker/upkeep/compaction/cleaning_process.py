"""Runs rounds of cleaning, each in a process of its own."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from odradek.storage.cleaner.framing import LENGTH, loaded, send
from odradek.storage.cleaner.plan import CleanedSegment, RoundEnd
from odradek.storage.cleaner.unfinished import remove_unfinished

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from odradek.broker.runtime.disk_threads import DiskThreads
    from odradek.storage.cleaner.plan import CleaningPlan
    from odradek.storage.files.files import Files

    Process: TypeAlias = subprocess.Popen[bytes]
    Take = Callable[[CleanedSegment], Awaitable[object]]

NICENESS = 10
# How often a round is asked whether anybody still wants it.
_LOOK_S = 0.2
_CHUNK_SIZE = 1 << 16
_WORKER = "odradek.storage.cleaner.worker"
_ROOT = Path(__file__).parents[3]  # where `odradek` is


class Cleaner(Protocol):
    """Who runs a round."""

    async def clean(
        self, plan: CleaningPlan, take: Take, is_wanted: Callable[[], bool]
    ) -> RoundEnd | None:
        """Clean; ``take`` is given each segment that is written.

        None when it was given up because ``is_wanted`` said so. Nothing is left of
        what was not taken.
        """


class ProcessCleaner:
    """Rounds in another process, which ends with each."""

    def __init__(self, files: Files, disk_threads: DiskThreads) -> None:
        self._files = files
        self._disk_threads = disk_threads

    async def clean(
        self, plan: CleaningPlan, take: Take, is_wanted: Callable[[], bool]
    ) -> RoundEnd | None:
        """What `Cleaner` says."""
        run = self._disk_threads.run
        process = await run(_begin, plan)
        is_over = False
        try:
            answers = Answers(process)
            try:
                while True:
                    message = await self._next(process, answers.messages, is_wanted)
                    if not (isinstance(message, CleanedSegment) and is_wanted()):
                        break
                    await take(message)
                    _tell(process)
            finally:
                process.kill()  # first: it would complain that nobody reads
                answers.close()
            is_over = isinstance(message, RoundEnd)
        finally:
            process.kill()
            await run(_end, process)
            if not is_over:
                await run(remove_unfinished, self._files, plan)
        if message is None or isinstance(message, CleanedSegment):
            return None
        assert isinstance(message, RoundEnd)
        if message.error is not None:
            raise message.error
        return message

    async def _next(
        self,
        process: Process,
        messages: asyncio.StreamReader,
        is_wanted: Callable[[], bool],
    ) -> Any:
        """The next message; None when nobody wants it any more."""
        reading = asyncio.ensure_future(_receive(messages))
        try:
            while not reading.done():
                await asyncio.wait({reading}, timeout=_LOOK_S)
                if not reading.done() and not is_wanted():
                    return None
            return reading.result()
        except asyncio.IncompleteReadError as error:
            status = await self._disk_threads.run(process.wait)
            raise RuntimeError(f"the cleaning process ended with {status}") from error
        finally:
            reading.cancel()


def _begin(plan: CleaningPlan) -> Process:
    """Start the process, and tell it what to do. For a disk thread.

    Not by the event loop: uvloop forks, and copies the page tables of a large broker
    for that, a hundred milliseconds long. This does not.
    """
    process = subprocess.Popen(
        # Safe of what lies in the folder where the broker was started.
        [sys.executable, "-P", "-m", _WORKER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
    )
    assert process.stdin is not None
    with suppress(OSError):  # it has ended, and why is found later
        # At once: what it loads costs it a tenth of a second of computing.
        niceness = os.getpriority(os.PRIO_PROCESS, 0) + NICENESS
        os.setpriority(os.PRIO_PROCESS, process.pid, niceness)
        send(process.stdin, plan)
    return process


class Answers:
    """What the process writes, as ``messages``.

    The loop only says when there is something to read. Given the pipe, uvloop closes
    its descriptor twice: a file that another thread has opened in between may have the
    number by then. Its sync would fail, or its bytes go into a third one.
    """

    def __init__(self, process: Process) -> None:
        assert process.stdout is not None
        self.messages = asyncio.StreamReader()
        self._pipe = process.stdout
        self._number = process.stdout.fileno()
        self._loop = asyncio.get_running_loop()
        os.set_blocking(self._number, False)
        self._loop.add_reader(self._number, self._read)

    def close(self) -> None:
        """Let go of the pipe."""
        if not self._pipe.closed:
            self._loop.remove_reader(self._number)
            self._pipe.close()

    def _read(self) -> None:
        try:
            data = os.read(self._number, _CHUNK_SIZE)
        except BlockingIOError:
            return
        if data:
            self.messages.feed_data(data)
        else:
            self._loop.remove_reader(self._number)
            self.messages.feed_eof()


async def _receive(messages: asyncio.StreamReader) -> Any:
    (size,) = LENGTH.unpack(await messages.readexactly(LENGTH.size))
    return loaded(await messages.readexactly(size))


def _tell(process: Process) -> None:
    """That it may go on. One byte: a pipe always has room for it."""
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.write(b"+")
        process.stdin.flush()


def _end(process: Process) -> None:
    assert process.stdin is not None
    with suppress(OSError):  # it has not read all of it
        process.stdin.close()
    process.wait()
