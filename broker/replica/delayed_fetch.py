"""A fetch that waits for ``min_bytes``, or for ``max_wait_ms`` (``spec`` B12.3).

Invariant: what is counted of a partition was true when that partition changed
last, so a check counts again only the partition that changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol.errors import KafkaError
from protocol.topic_partition import TopicPartition
from storage.log_read import FetchIsolation

from .purgatory import OPERATION, DelayedOperation, Purgatory

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..parked import Parked
    from .fetch_reader import FetchReader
    from .partition import Partition


class WaitingFetches(Purgatory[TopicPartition]):
    """Where fetches wait. Those that one check completes share what they read.

    Many consumers wait for the same: what comes next. Nothing is appended while a
    check runs, so what completes one of them completes the others, and what it has
    read is what they would.
    """

    _is_checking = False
    _last_read: FetchReader | None = None

    def check(self, key: TopicPartition) -> int:
        """Let the fetches that watch ``key`` look again. How many completed."""
        self._is_checking = True
        try:
            return super().check(key)
        finally:
            self._is_checking = False
            self._last_read = None

    def read_for(self, fetch: DelayedFetch) -> FetchReader | None:
        """What this check has read last, if ``fetch`` wants the same."""
        last = self._last_read
        if (
            last is not None
            and last.wanted == fetch.wanted
            and last.params == fetch.params
        ):
            return last
        return None

    def note_read(self, reader: FetchReader) -> None:
        """A fetch that completed got what ``reader`` has read."""
        if self._is_checking:
            self._last_read = reader


class DelayedFetch(DelayedOperation[TopicPartition]):
    """Reads again, by ``answer(self)``, when waiting has brought enough.

    ``first_read`` says where each offset was found: bytes are counted from there.
    """

    __slots__ = (
        *OPERATION,
        "_answer",
        "_counted",
        "_counted_bytes",
        "_find",
        "_others",
        "_places",
        "params",
        "parked",
        "wanted",
    )

    def __init__(
        self,
        first_read: FetchReader,
        find: Callable[[TopicPartition], Partition],
        parked: Parked,
        answer: Callable[[DelayedFetch], None],
        others: WaitingFetches,
    ) -> None:
        super().__init__()
        self.params = first_read.params
        self.wanted = first_read.wanted
        self.parked = parked
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

    def try_complete(self) -> bool:
        """Count every partition."""
        for key in self._places:
            if self._count(key):
                return self.force_complete()
        return self._counted_bytes >= self.params.min_bytes and self.force_complete()

    def try_complete_for(self, key: TopicPartition) -> bool:
        """Count the partition that changed, unless that was done for another one."""
        if self._others.read_for(self) is not None:
            return self.force_complete()
        must_answer = self._count(key) or self._counted_bytes >= self.params.min_bytes
        return must_answer and self.force_complete()

    def on_complete(self) -> None:
        """Read whatever is there now, and answer."""
        self._watch_log_ends(-1)
        self._answer(self)

    def on_error(self, error: Exception) -> None:
        """The one who asked is told; it is a bug, and recorded there."""
        if not self.parked.done():
            self.parked.set_exception(error)

    def _count(self, key: TopicPartition) -> bool:
        """Count what ``key`` would give. Whether it must be answered at once."""
        wanted, start = self._places[key]
        try:
            partition = self._find(key)
            if self.params.needs_leader:
                partition.check_leader(wanted.current_leader_epoch)
            else:
                partition.check_replica(wanted.current_leader_epoch)
            if wanted.last_fetched_epoch >= 0 and partition.diverging_epoch(
                wanted.fetch_offset, wanted.last_fetched_epoch
            ):
                return True
        except KafkaError:
            return True  # the answer will say what it is
        if start.is_message_only:
            return False
        end = partition.end_offset(self.params.isolation)
        if end.offset == start.offset:
            # Nothing new, though a roll may have put the end into a new segment.
            return False
        if end.offset < start.offset:
            return start.offset > partition.log_end_offset  # the log was truncated
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
