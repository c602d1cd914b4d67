"""A share partition is loaded: its log is opened, and what was written of it read.

Where a group begins that has never been there, its option says. A beginning that would
be another one the next time is written before anything is handed out: else what was
handed out and not finished would be passed over after a restart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.config.text.offset_reset import EARLIEST, LATEST
from odradek.broker.coordinator.share.state import NO_START, StateUpdate
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import (
    CoordinatorLoadInProgress,
    KafkaError,
    UnknownTopicOrPartition,
)
from odradek.storage.files.files import ColdRead

if TYPE_CHECKING:
    from odradek.broker.coordinator.share.state import StoredState
    from odradek.broker.replica.partition.partition import Partition
    from odradek.broker.replica.replica_manager import ReplicaManager
    from odradek.broker.runtime.clock import Clock
    from odradek.broker.runtime.disk_threads import DiskThreads

    from .served_partition import ServedPartition, StateStore
    from .settings import ShareSettings

_LOAD_RETRY_MS = 50


class ShareLoader:
    """Loads share partitions, one at a time in its own task."""

    def __init__(
        self,
        *,
        clock: Clock,
        states: StateStore,
        replica_manager: ReplicaManager,
        disk_threads: DiskThreads,
    ) -> None:
        self._clock = clock
        self._states = states
        self._replica_manager = replica_manager
        self._disk_threads = disk_threads

    async def load(self, served: ServedPartition, settings: ShareSettings) -> None:
        """Let it be used, or say in it why it cannot be."""
        try:
            partition = await self._opened(served)
            stored = await self._read(served, partition.leadership.epoch)
            start = stored.start
            if start == NO_START:
                start = await self._beginning(partition, settings)
                if settings.offset_reset.strategy != EARLIEST:
                    await self._write_start(served, stored, start)
        except KafkaError as error:
            served.fail(error)
        else:
            served.use(stored, start)

    async def _opened(self, served: ServedPartition) -> Partition:
        topic_partition = served.topic_partition
        await self._replica_manager.open([topic_partition])
        partition = self._replica_manager.partition(topic_partition)
        if partition.topic_id != served.key.topic_id:
            raise UnknownTopicOrPartition  # another one has its name by now
        partition.leadership.check()
        return partition

    async def _read(self, served: ServedPartition, leader_epoch: int) -> StoredState:
        """What was written, once the coordinator has loaded it."""
        while True:
            answer = self._states.read(served.key, leader_epoch)
            found = await answer if isinstance(answer, Parked) else answer
            if isinstance(found, CoordinatorLoadInProgress):
                await self._clock.sleep(_LOAD_RETRY_MS)
                continue
            if isinstance(found, KafkaError):
                raise found
            return found

    async def _write_start(
        self, served: ServedPartition, stored: StoredState, start: int
    ) -> None:
        update = StateUpdate(stored.state_epoch, stored.leader_epoch, start, (), 0)
        answer = self._states.write(served.key, update)
        error = await answer if isinstance(answer, Parked) else answer
        if error is not None:
            raise error

    async def _beginning(self, partition: Partition, settings: ShareSettings) -> int:
        reset = settings.offset_reset
        if reset.strategy == EARLIEST:
            return partition.view.log_start_offset
        visible_ends = self._replica_manager.visible_ends
        if hidden := visible_ends.hidden([partition.topic_partition]):
            await visible_ends.wait(hidden)
        if reset.strategy == LATEST:
            return partition.view.high_watermark
        return await self._since(partition, self._clock.now_ms() - reset.duration_ms)

    async def _since(self, partition: Partition, timestamp: int) -> int:
        """The first offset that was written since then; the end, if none was."""
        may_block = False
        while True:
            try:
                found = partition.view.find_offset(max(0, timestamp), may_block)
            except ColdRead as cold:
                await self._disk_threads.run(cold.bytes.warm)
                may_block = True
                continue
            high_watermark = partition.view.high_watermark
            return min(found.offset, high_watermark) if found else high_watermark
