"""Fetches that wait for ``min_bytes``, or for ``max_wait_ms``.

Many consumers wait for the same: what comes next. Those that ask alike, and whose time
is over together, are one operation of the purgatory: one entry among the watchers, one
deadline, one count, one read, and for each of them only its answer.

Invariants: what is counted of a partition was true when that partition changed last, so
a check counts again only the partition that changed. Who joins an operation has found
each of his offsets where the first has found it. None is answered for want of time
before its own is over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.protocol.errors import KafkaError
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.values.log_read import FetchIsolation

from .purgatory import OPERATION, DelayedOperation, Purgatory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from odradek.broker.replica.partition.fetch_reader import (
        FetchParams,
        FetchReader,
        FetchResult,
        PartitionFetch,
    )
    from odradek.broker.replica.partition.partition import Partition
    from odradek.broker.runtime.clock import Clock
    from odradek.broker.runtime.parked import Parked, T

    Finish = Callable[[Sequence[FetchResult]], T]


class Waiter(NamedTuple):
    """Who waits for a fetch: ``finish`` makes the answer, and ``parked`` gets it."""

    parked: Parked
    finish: Finish[Any]


class WaitingFetches(Purgatory[TopicPartition]):
    """Where fetches wait. Those that one check completes share what they read.

    Nothing is appended while a check runs, so what completes one of those that want the
    same completes the others, and what it has read is what they would.
    """

    def __init__(self, name: str, clock: Clock, purge_interval: int = 1000) -> None:
        super().__init__(name, clock, purge_interval)
        self._is_checking = False
        self._last_read: FetchReader | None = None
        # The one that began to wait last, by the first partition that it wants.
        self._newest: dict[TopicPartition, DelayedFetch] = {}

    def join(self, reader: FetchReader, waiter: Waiter) -> bool:
        """Let ``waiter``, who has read too little, wait with others for the same.

        Returns whether there are any whose time is over with his.
        """
        fetch = self._newest.get(reader.wanted[0].topic_partition)
        if (
            fetch is None
            or not fetch.is_of(reader)
            or self._clock.monotonic_ms() > fetch.open_until_ms
        ):
            return False
        fetch.waiters.append(waiter)
        fetch.joined_count += 1
        self.delayed_count += 1
        return True

    def let_join(self, fetch: DelayedFetch) -> None:
        """Let others join ``fetch``, which has just begun to wait."""
        fetch.open_until_ms = self.recent_until_ms
        self._newest[fetch.wanted[0].topic_partition] = fetch

    def close_to_others(self, fetch: DelayedFetch) -> None:
        """Let nobody join ``fetch`` any more, nor count those who have joined."""
        key = fetch.wanted[0].topic_partition
        if self._newest.get(key) is fetch:
            del self._newest[key]
        self.delayed_count -= fetch.joined_count
        fetch.joined_count = 0

    def check(self, key: TopicPartition) -> int:
        """Let the fetches that watch ``key`` look again. How many completed."""
        self._is_checking = True
        try:
            return super().check(key)
        finally:
            self._is_checking = False
            self._last_read = None

    def read_for(
        self, params: FetchParams, wanted: Sequence[PartitionFetch]
    ) -> FetchReader | None:
        """What this check has read last, if this is the same."""
        last = self._last_read
        if last is not None and last.wanted == wanted and last.params == params:
            return last
        return None

    def note_read(self, reader: FetchReader) -> None:
        """A fetch that completed got what ``reader`` has read."""
        if self._is_checking:
            self._last_read = reader


class DelayedFetch(DelayedOperation[TopicPartition]):
    """Reads again, by ``answer(self)``, when waiting has brought enough.

    ``first_read`` says where each offset was found: bytes are counted from there.
    ``waiters`` get the answer; more may join until ``open_until_ms``, by the monotonic
    clock: the timer's bucket that holds this is then theirs, too.
    """

    __slots__ = (
        *OPERATION,
        "_answer",
        "_counted",
        "_counted_bytes",
        "_find",
        "_others",
        "_places",
        "joined_count",
        "open_until_ms",
        "params",
        "waiters",
        "wanted",
    )

    def __init__(
        self,
        first_read: FetchReader,
        find: Callable[[TopicPartition], Partition],
        waiter: Waiter,
        answer: Callable[[DelayedFetch], None],
        others: WaitingFetches,
    ) -> None:
        super().__init__()
        self.params = first_read.params
        self.wanted = first_read.wanted
        self.waiters = [waiter]
        self.joined_count = self.open_until_ms = 0
        self._find = find
        self._answer = answer
        self._others = others
        self._places = {
            each.topic_partition: (each, result.offset_metadata)
            for each, result in zip(self.wanted, first_read.results, strict=True)
        }
        self._counted: dict[TopicPartition, int] = {}
        self._counted_bytes = 0
        self._watch_log_ends(1)

    @property
    def keys(self) -> list[TopicPartition]:
        """The partitions whose changes matter."""
        return list(self._places)

    def is_of(self, reader: FetchReader) -> bool:
        """Whether ``reader`` wants the same, and has found it at the same places."""
        return (
            self.wanted == reader.wanted
            and self.params == reader.params
            and all(
                place == result.offset_metadata
                for (_, place), result in zip(
                    self._places.values(), reader.results, strict=True
                )
            )
        )

    def try_complete(self) -> bool:
        """Count every partition."""
        for key in self._places:
            if self._count(key):
                return self.force_complete()
        return self._counted_bytes >= self.params.min_bytes and self.force_complete()

    def try_complete_for(self, key: TopicPartition) -> bool:
        """Count the partition that changed, unless that was done for another one."""
        if self._others.read_for(self.params, self.wanted) is not None:
            return self.force_complete()
        must_answer = self._count(key) or self._counted_bytes >= self.params.min_bytes
        return must_answer and self.force_complete()

    def on_complete(self) -> None:
        """Read whatever is there now, and answer."""
        self._watch_log_ends(-1)
        self._others.close_to_others(self)
        self._answer(self)

    def on_error(self, error: Exception) -> None:
        """Those who asked are told; it is a bug, and recorded there."""
        self._others.close_to_others(self)
        for parked, _ in self.waiters:
            if not parked.done():
                parked.set_exception(error)

    def _count(self, key: TopicPartition) -> bool:
        """Count what ``key`` would give. Whether it must be answered at once."""
        wanted, start = self._places[key]
        try:
            partition = self._find(key)
            if self.params.needs_leader:
                partition.leadership.check(wanted.current_leader_epoch)
            else:
                partition.leadership.check_replica(wanted.current_leader_epoch)
            if wanted.last_fetched_epoch >= 0 and partition.view.diverging_epoch(
                wanted.fetch_offset, wanted.last_fetched_epoch
            ):
                return True
        except KafkaError:
            return True  # the answer will say what it is
        if start.is_message_only:
            return False
        end = partition.view.end_offset(self.params.isolation)
        if end.offset == start.offset:
            # Nothing new, though a roll may have put the end into a new segment.
            return False
        if end.offset < start.offset:
            return start.offset > partition.view.log_end_offset  # the log was truncated
        if wanted.refusal:  # held back: what comes is not for this answer
            return False
        if end.segment_base_offset != start.segment_base_offset:
            return True
        size = min(end.position - start.position, wanted.max_bytes)
        self._counted_bytes += size - self._counted.get(key, 0)
        self._counted[key] = size
        return False

    def _watch_log_ends(self, delta: int) -> None:
        """Appends check the fetches of a partition only if some wait for its end."""
        if self.params.isolation is not FetchIsolation.LOG_END:
            return
        for key in self._places:
            try:
                self._find(key).log_end_fetch_count += delta
            except KafkaError:
                continue
