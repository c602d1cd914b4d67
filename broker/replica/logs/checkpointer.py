"""Bounds what a recovery has to read: syncs the logs and writes where that got to.

Every few seconds, and whenever so many bytes were appended, all logs are synced, those
that have grown much with a producer snapshot at their ends. Then the checkpoints of
their directories are written. A broker that is killed reads what came after that, and
of each log what is behind its last snapshot.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from odradek.protocol.errors import KafkaStorageError
from odradek.storage.directory.checkpoints import DirectoryFailure

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.durability.committer import Committer
    from odradek.broker.runtime.disk_threads import DiskThreads
    from odradek.storage.directory.log_manager import LogManager

_logger = logging.getLogger(__name__)


class Checkpointer:
    """Writes checkpoints, one round at a time."""

    def __init__(
        self,
        committer: Committer,
        log_manager: LogManager,
        disk_threads: DiskThreads,
        appended_bytes_max: int,
    ) -> None:
        self._committer = committer
        self._log_manager = log_manager
        self._disk_threads = disk_threads
        self._appended_bytes_max = appended_bytes_max
        self._appended_bytes = 0
        self._round: asyncio.Task[None] | None = None

    def note_append(self, size: int) -> None:
        """Count appended bytes; enough of them begin a round."""
        self._appended_bytes += size
        if self._appended_bytes >= self._appended_bytes_max and self._round is None:
            self._start()

    async def write(self) -> None:
        """A round of checkpoints; the one that is under way, if there is one."""
        await asyncio.shield(self._round or self._start())

    async def write_log_starts(self) -> None:
        """Write where the logs begin, and sync nothing else."""
        usable = [
            directory.path
            for directory in self._log_manager.directories
            if directory.failure is None
        ]
        await self._run(self._log_manager.log_starts_job(usable))

    async def close(self) -> None:
        """Return when no round is under way."""
        while self._round is not None:
            await asyncio.shield(self._round)

    def _start(self) -> asyncio.Task[None]:
        self._appended_bytes = 0
        self._round = asyncio.get_running_loop().create_task(
            self._write(), name="checkpoints"
        )
        return self._round

    async def _write(self) -> None:
        try:
            await self._committer.checkpoint()
            await self._run(self._log_manager.checkpoint_job())
        finally:
            self._round = None

    async def _run(self, job: Callable[[], None]) -> None:
        try:
            await self._disk_threads.run(job)
        except DirectoryFailure as error:
            self._committer.for_directory(error.directory).fail(error)
        except KafkaStorageError as error:
            _logger.error("checkpoints are not written: %s", error)
