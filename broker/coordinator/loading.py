"""Reads a coordinator's log from its beginning into the state of its shard.

It runs on the loop, some records at a time, so that everybody else is served
meanwhile; the disk is waited for in its threads.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from protocol.control_records import read_marker
from protocol.errors import KafkaError
from protocol.record_batch import scan
from protocol.records import iterate
from storage.files import ColdRead
from storage.log_read import FetchIsolation

from .decision import Place

if TYPE_CHECKING:
    from protocol.record_batch import BatchHeader
    from storage.files import Buffer

    from ..disk_threads import DiskThreads
    from ..replica.partition import Partition
    from .decision import ShardState

# What is replayed before others get their turn: some milliseconds.
_RECORDS_AT_ONCE = 500

_logger = logging.getLogger(__name__)


class Loader:
    """Replays one log; ``record_count`` says how far it got."""

    def __init__(
        self,
        partition: Partition,
        state: ShardState,
        disk_threads: DiskThreads,
        read_size: int,
    ) -> None:
        self.record_count = 0
        self._partition = partition
        self._state = state
        self._disk_threads = disk_threads
        self._read_size = read_size
        self._until_pause = _RECORDS_AT_ONCE

    async def load(self) -> None:
        """Replay everything up to the log end.

        Raises:
            KafkaError: the log cannot be read.
        """
        offset = self._partition.log_start_offset
        while offset < self._partition.log_end_offset:
            data = await self._read(offset)
            next_offset = offset
            for position, header in scan(data):
                next_offset = header.next_offset
                await self._replay(header, data[position : position + header.size])
            if next_offset == offset:  # a hole at the end
                return
            offset = next_offset

    async def _read(self, offset: int) -> memoryview:
        isolation = FetchIsolation.LOG_END
        may_block = False
        while True:
            try:
                read = self._partition.read(
                    offset,
                    self._read_size,
                    isolation,
                    min_one=True,
                    may_block=may_block,
                )
                return memoryview(read.records)
            except ColdRead as cold:
                await self._disk_threads.run(cold.warm)
                may_block = True

    async def _replay(self, header: BatchHeader, batch: memoryview) -> None:
        producer = header.producer_id, header.producer_epoch
        if not header.is_transactional:
            producer = -1, -1
        if header.is_control:
            place = Place(header.base_offset, header.max_timestamp, *producer)
            marker = read_marker(batch)
            if marker is not None:
                self._state.end_transaction(place, marker.is_commit)
            return
        replay, decode = self._replay_one, self._state.decode
        for offset, timestamp, key, value, _ in iterate(batch):
            if key is not None:
                replay(decode, key, value, Place(offset, timestamp, *producer))
            self._until_pause -= 1
            if self._until_pause <= 0:
                self._until_pause = _RECORDS_AT_ONCE
                await asyncio.sleep(0)

    def _replay_one(
        self, decode: Any, key: Buffer, value: Buffer | None, place: Place
    ) -> None:
        self.record_count += 1
        try:
            record = decode(key, value)
        except KafkaError as error:
            _logger.warning(
                "%s: the record at offset %d is passed over: %s",
                self._partition.topic_partition,
                place.offset,
                error,
            )
            return
        if record is not None:
            self._state.replay(record, place)
