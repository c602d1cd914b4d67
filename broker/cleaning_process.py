"""Runs rounds of cleaning, each in a process of its own."""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from storage.cleaner.framing import LENGTH, framed
from storage.cleaner.plan import CleanedSegment, RoundEnd
from storage.cleaner.unfinished import remove_unfinished

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from storage.cleaner.plan import CleaningPlan
    from storage.files import Files

    from .disk_threads import DiskThreads

    Take = Callable[[CleanedSegment], Awaitable[object]]

# How often a round is asked whether anybody still wants it.
_LOOK_S = 0.2
_WORKER = "storage.cleaner.worker"
_ROOT = Path(__file__).parents[1]


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
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            _WORKER,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(_ROOT)},
        )
        is_over = False
        try:
            assert process.stdin is not None
            process.stdin.write(framed(plan))
            while True:
                message = await self._next(process, is_wanted)
                if isinstance(message, CleanedSegment) and is_wanted():
                    await take(message)
                    process.stdin.write(b"+")
                    continue
                is_over = isinstance(message, RoundEnd)
                break
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
            if not is_over:
                await self._disk_threads.run(remove_unfinished, self._files, plan)
        if message is None or isinstance(message, CleanedSegment):
            return None
        assert isinstance(message, RoundEnd)
        if message.error is not None:
            raise message.error
        return message

    async def _next(
        self, process: asyncio.subprocess.Process, is_wanted: Callable[[], bool]
    ) -> Any:
        """The next message; None when nobody wants it any more."""
        reading = asyncio.ensure_future(_receive(process))
        try:
            while not reading.done():
                await asyncio.wait({reading}, timeout=_LOOK_S)
                if not reading.done() and not is_wanted():
                    return None
            return reading.result()
        finally:
            reading.cancel()


async def _receive(process: asyncio.subprocess.Process) -> Any:
    assert process.stdout is not None
    try:
        (size,) = LENGTH.unpack(await process.stdout.readexactly(LENGTH.size))
        return pickle.loads(await process.stdout.readexactly(size))
    except asyncio.IncompleteReadError as error:
        status = await process.wait()
        raise RuntimeError(f"the cleaning process ended with {status}") from error
