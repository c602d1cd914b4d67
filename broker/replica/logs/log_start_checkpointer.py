"""Makes log starts durable, for the DeleteRecords that wait for it.

One write of a log directory's checkpoint at a time; what is asked for meanwhile shares
the next one. A disk without room is first given that of the segments that nobody can
read any more.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from odradek.protocol.errors import KafkaError, KafkaStorageError
from odradek.storage.files.files import DiskFull, StorageFailure

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from odradek.broker.durability.committer import Committer
    from odradek.broker.replica.partition.partition import Partition
    from odradek.broker.runtime.clock import Clock
    from odradek.broker.runtime.disk_threads import DiskThreads
    from odradek.storage.directory.log_manager import LogManager

_logger = logging.getLogger(__name__)


class LogStartCheckpointer:
    """Writes the log starts of partitions, and tells them when that is done."""

    def __init__(
        self,
        log_manager: LogManager,
        committer: Committer,
        disk_threads: DiskThreads,
        clock: Clock,
    ) -> None:
        self._log_manager = log_manager
        self._committer = committer
        self._disk_threads = disk_threads
        self._clock = clock
        self._waiting: dict[Path, dict[Partition, None]] = {}
        self._tasks: dict[Path, asyncio.Task[None]] = {}
        self._held: dict[Partition, bool] = {}  # whether it is to be written then

    def hold(self, partition: Partition) -> None:
        """Write nothing of ``partition`` until `release`: it changes directories."""
        # One that is being written now was taken before; what waits is not.
        waits = [each.pop(partition, True) is None for each in self._waiting.values()]
        self._held[partition] = any(waits)

    def release(self, partition: Partition) -> None:
        """Write what is to be written, where it is now."""
        if self._held.pop(partition, False):
            self.write(partition)

    def write(self, partition: Partition) -> None:
        """Write the log start as it is now, or a later one.

        Then call ``on_log_start_durable`` of the partition, or
        ``on_log_start_unwritten`` when the disk has no room. When it fails, so does the
        directory.
        """
        if partition in self._held:
            self._held[partition] = True
            return
        assert partition.committer is not None
        directory = partition.committer.directory
        self._waiting.setdefault(directory, {})[partition] = None
        if directory not in self._tasks:
            self._tasks[directory] = asyncio.get_running_loop().create_task(
                self._write_all(directory), name=f"log starts of {directory.name}"
            )

    async def close(self) -> None:
        """Return when nothing is being written."""
        while self._tasks:
            await asyncio.wait(list(self._tasks.values()))

    async def _write_all(self, directory: Path) -> None:
        try:
            while partitions := self._waiting.pop(directory, None):
                await self._write(directory, partitions)
        finally:
            del self._tasks[directory]

    async def _write(self, directory: Path, partitions: Iterable[Partition]) -> None:
        taken = [(each, each.view.log_start_offset) for each in partitions]
        try:
            try:
                await self._run_job(directory)
            except DiskFull:
                await self._make_room(partitions)
                await self._run_job(directory)
        except StorageFailure as error:
            self._committer.for_directory(directory).fail(error)
        except OSError as error:
            failure = StorageFailure(f"{directory}: {error}")
            self._committer.for_directory(directory).fail(failure)
        except KafkaStorageError as error:
            _logger.error("log starts in %s are not written: %s", directory, error)
            for partition, _ in taken:
                partition.on_log_start_unwritten(error)
        else:
            for partition, log_start_offset in taken:
                partition.on_log_start_durable(log_start_offset)

    async def _run_job(self, directory: Path) -> None:
        await self._disk_threads.run(self._log_manager.log_starts_job([directory]))

    async def _make_room(self, partitions: Iterable[Partition]) -> None:
        """Remove the segments below the log starts, without the usual delay."""
        now_ms = self._clock.now_ms()
        delay_ms = 0
        for partition in partitions:
            log = partition.log
            if log is not None and partition.leadership.refusal is None:
                with suppress(KafkaError):
                    self._log_manager.delete_old_segments(log, now_ms)
                    delay_ms = max(delay_ms, log.config.file_delete_delay_ms)
        job = self._log_manager.removal_job(now_ms + delay_ms)
        if job is not None:
            await self._disk_threads.run(job)
