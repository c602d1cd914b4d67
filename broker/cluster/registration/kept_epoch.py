"""The epoch of this broker's registration, as its log directories keep it.

Who registers names the one before, if nothing is lost since that others were told of.
Controllers may have it lead at once then, and the others are cut to what it has. So
after a stop that was no clean one its logs are read before it registers. What was torn
at the end of one is no loss: of that nobody was told.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from odradek.protocol.errors import KafkaStorageError
from odradek.storage.directory.log_directory import NO_EPOCH

if TYPE_CHECKING:
    from odradek.broker.metadata.topics import Topics
    from odradek.broker.replica.replica_manager import ReplicaManager
    from odradek.broker.runtime.bugs import Bugs
    from odradek.broker.runtime.disk_threads import DiskThreads
    from odradek.storage.directory.log_manager import LogManager

_NAMED_MAX: Final = 10

_logger = logging.getLogger(__name__)


class KeptEpoch:
    """What the log directories say, and are told."""

    def __init__(
        self,
        log_manager: LogManager,
        disk_threads: DiskThreads,
        *,
        outlives_kills: bool,
    ) -> None:
        """``outlives_kills``: whatever others are told of is durable before."""
        self._log_manager = log_manager
        self._disk_threads = disk_threads
        self._outlives_kills = outlives_kills
        for each in log_manager.directories:
            # Nothing is lost by a start that does not get as far as a registration.
            each.broker_epoch = each.previous_broker_epoch

    @property
    def previous(self) -> int:
        """That of the registration before; -1: nobody knows."""
        directories = self._log_manager.directories
        epochs = {each.previous_broker_epoch for each in directories}
        return epochs.pop() if len(epochs) == 1 else NO_EPOCH

    async def forget_if_lost(
        self, topics: Topics, replica_manager: ReplicaManager, bugs: Bugs
    ) -> bool:
        """Whether something is lost: nobody is told the epoch then, nor the next time.

        Damage inside of a log counts, also if it is older; so do logs that are gone, or
        cannot be opened. All are open now, if the last stop was not a clean one. A copy
        of the catalogue does not know of all that was here.
        """
        found = []
        if topics.is_restored:
            found.append("the catalogue is the copy of one that was lost")
        if not self._log_manager.was_clean:
            try:
                await replica_manager.open_all()
            except Exception as error:  # nobody knows which were not read
                bugs.record("logs after an unclean stop", error)
                found.append("not all logs could be read")
        logs = self._log_manager.logs()
        damaged = [str(each.topic_partition) for each in logs if len(each.damage)]
        if damaged:
            found.append(f"{len(damaged)} logs are damaged: {_some(damaged)}")
        if topics.offline:
            offline = sorted(map(str, topics.offline))
            found.append(
                f"{len(offline)} are gone or cannot be used: {_some(offline)} (no start"
                " tells them, until these are taken from their leaders again, are moved"
                " to other brokers, or deleted)"
            )
        if not found:
            return False
        _logger.warning(
            "controllers are not told that nothing is lost here: %s", "; ".join(found)
        )
        await self.keep(NO_EPOCH)
        return True

    async def keep(self, broker_epoch: int) -> None:
        """Let the next start know it, however this one ends; -1: let it know none."""
        for directory in self._log_manager.directories:
            if directory.broker_epoch == broker_epoch:
                continue
            directory.broker_epoch = broker_epoch
            if self._outlives_kills or broker_epoch == NO_EPOCH:
                # A directory that fails, or is gone, is not the controllers' then.
                with suppress(KafkaStorageError, OSError):
                    await self._disk_threads.run(directory.keep_epoch)


def _some(names: list[str]) -> str:
    more = " and others" if len(names) > _NAMED_MAX else ""
    return ", ".join(names[:_NAMED_MAX]) + more
