"""Reads a coordinator's log from its beginning into the state of its shard.

It runs on the loop, some records at a time, so that everybody else is served
meanwhile; the disk is waited for in its threads.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

from odradek.broker.runtime.logs import counted
from odradek.protocol.control_records import read_marker
from odradek.protocol.errors import KafkaError
from odradek.protocol.record_batch import scan
from odradek.protocol.records import iterate, uncompressed
from odradek.storage.files.files import ColdRead
from odradek.storage.values.log_read import FetchIsolation

from .decision import NO_PRODUCER, BatchTaker, Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from odradek.broker.replica.partition.partition import Partition
    from odradek.broker.runtime.clock import Clock
    from odradek.broker.runtime.disk_threads import DiskThreads
    from odradek.protocol.record_batch import BatchHeader
    from odradek.protocol.records import Record

    from .decision import ShardState, TakenBatches

# What is replayed before others get their turn: about a millisecond. So many records
# that are taken together cost what one costs by itself.
_RECORDS_AT_ONCE = 200
_TAKEN_AS_ONE = 16
# The pages of more would be new to the process each time, and dear.
_READ_SIZE_MAX = 256 << 10

_new = tuple.__new__
_logger = logging.getLogger(__name__)


class LoadedShards:
    """Counts what came of the logs of one coordinator, for one line about all."""

    def __init__(self, topic: str, clock: Clock) -> None:
        self._topic = topic
        self._clock = clock
        self._began_ms = clock.monotonic_ms()
        self._log_count = self._record_count = 0
        self._counts: Counter[str] = Counter()

    def note(self, record_count: int, counts: dict[str, int]) -> None:
        """One was loaded; `ShardState.summary` says what it came to."""
        self._log_count += 1
        self._record_count += record_count
        self._counts.update(counts)

    def report(self, logger: logging.Logger) -> None:
        """Say what was loaded, if there was anything."""
        if self._log_count:
            logger.info(
                "%s: %s loaded in %.3f s from %s in %s",
                self._topic,
                ", ".join(counted(count, what) for what, count in self._counts.items()),
                (self._clock.monotonic_ms() - self._began_ms) / 1000,
                counted(self._record_count, "record"),
                counted(self._log_count, "partition"),
            )


class Loader:
    """Replays one log; ``record_count`` says how far it got."""

    def __init__(
        self,
        partition: Partition,
        state: ShardState,
        disk_threads: DiskThreads,
        read_size: int,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        """It ends early when ``is_wanted`` says that nobody wants the state."""
        self.record_count = 0
        self._partition = partition
        self._state = state
        self._is_wanted = is_wanted
        self._taker = state if isinstance(state, BatchTaker) else None
        self._disk_threads = disk_threads
        self._read_size = min(read_size, _READ_SIZE_MAX)
        self._until_pause = _RECORDS_AT_ONCE
        # The first record of each transaction whose marker was not read yet.
        self._open: dict[int, Place] = {}
        self._has_hole = False

    async def load(self) -> None:
        """Replay everything up to the log end.

        Raises:
            KafkaError: the log cannot be read.
        """
        offset = self._partition.view.log_start_offset
        while offset < self._partition.view.log_end_offset and self._is_wanted():
            next_offset = await self._replay_read(await self._read(offset), offset)
            if next_offset == offset:  # a hole at the end
                break
            offset = next_offset
        for place in list(self._open.values()):
            if not self._is_open(place.producer_id):
                self._end_unseen(place)

    async def _replay_read(self, data: memoryview, offset: int) -> int:
        """Replay the whole batches in what was read; the offset behind them."""
        position, content = 0, b"" if self._taker is None else bytes(data)
        while True:
            if self._taker is not None:
                taken = self._taker.take_batches(content, position)
                if taken is not None:
                    await self._go_through(taken)
                    position, offset = taken.position, taken.next_offset
                    continue
            found = next(scan(data[position:]), None)
            if found is None:
                return offset
            _, header = found
            batch = data[position : position + header.size]
            if header.is_control:
                self._end_transaction(header, batch)
            elif not header.records_count:  # in the place of a damaged batch
                self._has_hole = True
            elif (taken := self._take_opened(header, batch)) is not None:
                await self._go_through(taken)
            else:
                await self._replay_in_turns(header, batch)
            position, offset = position + header.size, header.next_offset

    def _take_opened(
        self, header: BatchHeader, batch: memoryview
    ) -> TakenBatches | None:
        """A compressed batch as if it were none: Apache Kafka may have written it."""
        if self._taker is None or not header.compression or header.is_transactional:
            return None
        return self._taker.take_batches(bytes(uncompressed(batch, header)), 0)

    async def _go_through(self, taken: TakenBatches) -> None:
        for step, _ in enumerate(taken.steps):
            if step:
                await asyncio.sleep(0)
        self.record_count += taken.record_count
        self._until_pause -= 1 + taken.record_count // _TAKEN_AS_ONE
        if self._until_pause <= 0:
            self._until_pause = _RECORDS_AT_ONCE
            await asyncio.sleep(0)

    async def _read(self, offset: int) -> memoryview:
        isolation = FetchIsolation.LOG_END
        may_block = False
        while True:
            try:
                read = self._partition.view.read(
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

    def _end_transaction(self, header: BatchHeader, batch: memoryview) -> None:
        place = Place(header.base_offset, header.max_timestamp, *_producer(header))
        marker = read_marker(batch)
        if marker is not None:
            self._open.pop(place.producer_id, None)
            self._state.end_transaction(place, marker.is_commit)

    # Markers that were damaged

    def _note_transaction(self, header: BatchHeader) -> None:
        place = Place(header.base_offset, header.max_timestamp, *_producer(header))
        known = self._open.setdefault(place.producer_id, place)
        if self._has_hole and known.producer_epoch != place.producer_epoch:
            self._end_unseen(known)
            self._open[place.producer_id] = place

    def _is_open(self, producer_id: int) -> bool:
        log = self._partition.log
        known = None if log is None else log.producers.get(producer_id)
        return known is not None and known.has_transaction

    def _end_unseen(self, place: Place) -> None:
        """End a transaction whose marker is lost, and which the log knows to be over.

        An abort is in the transaction index too. One without its marker that the log
        has open is for the coordinator of transactions.
        """
        log = self._partition.log
        is_aborted = log is None or log.aborts.has_aborted(
            place.producer_id, place.offset
        )
        _logger.warning(
            "%s: the marker of producer %d is lost; its transaction from offset %d on"
            " was %s",
            self._partition.topic_partition,
            place.producer_id,
            place.offset,
            "aborted" if is_aborted else "committed",
        )
        self._open.pop(place.producer_id, None)
        self._state.end_transaction(place, is_commit=not is_aborted)

    async def _replay_in_turns(self, header: BatchHeader, batch: memoryview) -> None:
        if header.is_transactional:
            self._note_transaction(header)
        records = iterate(batch)
        while True:
            if not self._replay(header, records):
                return
            await asyncio.sleep(0)

    def _replay(self, header: BatchHeader, records: Iterator[Record]) -> bool:
        """Replay records of a batch; whether others shall have their turn now."""
        replay, decode = self._state.replay, self._state.decode
        producer = _producer(header)
        limit = self._until_pause
        count = 0
        for offset, timestamp, key, value, _ in islice(records, limit):
            count += 1
            try:
                record = None if key is None else decode(key, value)
            except KafkaError as error:
                self._warn(offset, error)
                continue
            if record is not None:
                replay(record, _new(Place, (offset, timestamp, *producer)))
        self.record_count += count
        if count < limit:
            self._until_pause = limit - count
            return False
        self._until_pause = _RECORDS_AT_ONCE
        return True

    def _warn(self, offset: int, error: KafkaError) -> None:
        _logger.warning(
            "%s: the record at offset %d is passed over: %s",
            self._partition.topic_partition,
            offset,
            error,
        )


def _producer(header: BatchHeader) -> tuple[int, int]:
    if header.is_transactional:
        return header.producer_id, header.producer_epoch
    return NO_PRODUCER, -1
