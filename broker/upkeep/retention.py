"""Lets go of what is too old or too much: segments, their files, silent producers.

The loop decides and takes segments out of their logs, in which their files only get
another name. The files go in a disk thread, ``file.delete.delay.ms`` later.

Each log is a matter of its own: what nobody expected of one is reported, and counted
among the bugs, and the others have their turn.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from odradek.broker.runtime.settled_time import SettledTime
from odradek.protocol.errors import KafkaStorageError
from odradek.storage.files.files import MISSING, StorageFailure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from odradek.broker.durability.committer import Committer
    from odradek.broker.replica.logs.free_space import FreeSpace
    from odradek.broker.runtime.bugs import Bugs
    from odradek.broker.runtime.clock import Clock
    from odradek.broker.runtime.disk_threads import DiskThreads
    from odradek.storage.directory.log_manager import LogManager
    from odradek.storage.log.unified_log import UnifiedLog

FILE_REMOVAL_INTERVAL_MS = 1_000
# Logs that are looked at before others get their turn: some 10 us each.
_LOGS_AT_ONCE = 50

_logger = logging.getLogger(__name__)


class Retention:
    """What is done to all logs from time to time, by topics' options."""

    def __init__(
        self,
        clock: Clock,
        log_manager: LogManager,
        committer: Committer,
        disk_threads: DiskThreads,
        free_space: FreeSpace,
        bugs: Bugs,
    ) -> None:
        self._log_manager = log_manager
        self._committer = committer
        self._disk_threads = disk_threads
        self._free_space = free_space
        self._bugs = bugs
        self._time = SettledTime(clock)

    async def delete_segments(self) -> None:
        """Let go of the segments that ``retention.*`` lets go. A periodic job."""
        async for log in self._logs_in_turns():
            with self._recorded("retention", log):
                self._delete_segments_of(log)
        await self.remove_files()

    async def remove_files(self) -> None:
        """Remove the files whose delay is over. A periodic job.

        Where room is short they do not wait: who reads them has them open.
        """
        now_ms = self._time.now_ms()
        self._free_space.sample_if_due(now_ms)
        is_short = bool(self._free_space.low_directories)
        job = self._log_manager.removal_job(sys.maxsize if is_short else now_ms)
        if job is not None:
            await self._disk_threads.run(job)

    async def forget_producers(self) -> None:
        """Forget the producers that were silent for too long. A periodic job."""
        now_ms = self._time.now_ms()
        async for log in self._logs_in_turns():
            with self._recorded("expiry of producers", log):
                for _ in log.producers.remove_expired(now_ms):
                    await asyncio.sleep(0)

    @contextmanager
    def _recorded(self, what: str, log: UnifiedLog) -> Iterator[None]:
        """An error that nobody expects in one log keeps no other from its turn."""
        try:
            yield
        except Exception as error:
            self._bugs.record(f"{what} of {log.topic_partition}", error)

    async def _logs_in_turns(self) -> AsyncIterator[UnifiedLog]:
        """All logs; others get their turn between some of them."""
        for number, log in enumerate(self._log_manager.logs(), 1):
            if self._log_manager.get(log.topic_partition) is log:
                yield log
            if number % _LOGS_AT_ONCE == 0:
                await asyncio.sleep(0)

    def _delete_segments_of(self, log: UnifiedLog) -> None:
        try:
            self._log_manager.delete_old_segments(log, self._time.now_ms())
        except StorageFailure as error:
            self._committer.for_directory(log.directory.parent).fail(error)
        except MISSING as error:
            failure = log.fail_without_files(error)
            self._committer.for_directory(log.directory.parent).fail(failure)
        except KafkaStorageError as error:
            log.lines(_logger).warning("it keeps what is old: %s", error)
