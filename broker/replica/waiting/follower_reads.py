"""What a follower reads in a session, so that a fetch looks only at what has changed.

A follower may follow thousands of partitions by one session, and mostly one of them has
something new. Those are noted here when they change; from time to time all are looked
at, so that the leader knows of each that its follower is alive.

Invariant: a partition whose records, high watermark or leadership have changed since
its follower was told of it is ``changed``.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from odradek.protocol.topic_partition import TopicPartition

from .gathering import Gathering
from .purgatory import OPERATION, DelayedOperation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from odradek.broker.replica.partition.fetch_reader import (
        Again,
        FetchParams,
        FetchResult,
        PartitionFetch,
    )
    from odradek.broker.replica.partition.partition import Partition
    from odradek.broker.runtime.clock import Clock

    from .delayed_fetch import Waiter

# All are looked at after so long, or after that share of the time in which a follower
# has to catch up.
LOOK_MS: Final = 500
_LOOKS_IN_LAG: Final = 4
# While a partition is expected to be named, and at most for so long, a fetch waits no
# longer than that: who waits has not heard yet that there is one more to name.
EXPECTED_MS: Final = 1_000
HURRIED_WAIT_MS: Final = 20


class FollowerReads:
    """The partitions of one session, ``wanted``, and which of them have changed."""

    __slots__ = (
        "__weakref__",
        "_expected",
        "_expected_until_ms",
        "_full_until_ms",
        "_gathering",
        "_wanted",
        "changed",
        "waiting",
    )

    def __init__(self, wanted: Mapping[TopicPartition, PartitionFetch]) -> None:
        """``wanted`` is the session's own."""
        self._wanted = wanted
        self._full_until_ms = self._expected_until_ms = 0
        self._expected: set[TopicPartition] = set()
        self.changed: dict[TopicPartition, None] = {}
        self.waiting: DelayedFollowerFetch | None = None
        self._gathering = Gathering()

    def note_change(self, topic_partition: TopicPartition) -> None:
        """There is something to tell, with the next records."""
        self.changed[topic_partition] = None

    def note_append(self, topic_partition: TopicPartition) -> None:
        """There are records, or something else that does not wait."""
        self.changed[topic_partition] = None
        if self._gathering.note_append() and self.waiting is not None:
            self.waiting.wake()

    def gathers(self, acknowledged_count: int, clock: Clock) -> bool:
        """Whether a fetch waits for more, by which so many were acknowledged."""
        return self._gathering.begin(acknowledged_count, clock, self._wake)

    def expect(self, topic_partition: TopicPartition, now_ms: int) -> None:
        """It is to read one more: let it not wait until it has named that."""
        self._expected.add(topic_partition)
        self._expected_until_ms = now_ms + EXPECTED_MS
        self._wake()

    def note_named(self, topic_partition: TopicPartition) -> None:
        """It is expected no longer."""
        self._expected.discard(topic_partition)

    def wait_max_ms(self, now_ms: int, wanted_ms: int) -> int:
        """For how long a fetch may wait that would wait for ``wanted_ms``."""
        if not self._expected:
            return wanted_ms
        if now_ms >= self._expected_until_ms:
            self._expected.clear()
            return wanted_ms
        return min(wanted_ms, HURRIED_WAIT_MS)

    def is_full_due(self, now_ms: int) -> bool:
        """Whether all are to be looked at."""
        return now_ms >= self._full_until_ms

    def look_at_all(self, now_ms: int, lag_max_ms: int) -> None:
        """All are, now; ``lag_max_ms`` is the time in which followers catch up."""
        self._full_until_ms = now_ms + min(LOOK_MS, lag_max_ms // _LOOKS_IN_LAG)
        self.changed.clear()

    def look_at_all_next(self) -> None:
        """All are to be looked at by the next fetch."""
        self._full_until_ms = 0

    def select(self) -> list[PartitionFetch]:
        """Those that have changed: what is found of them is told, or kept."""
        wanted, changed = self._wanted, self.changed
        selected = [wanted[each] for each in changed if each in wanted]
        changed.clear()
        return selected

    def keep_all(self, read: Sequence[PartitionFetch]) -> None:
        """Nothing is told: of these there may be something to tell later."""
        changed = self.changed
        for each in read:
            changed[each.topic_partition] = None

    def keep(
        self,
        read: Sequence[PartitionFetch],
        results: Sequence[FetchResult],
        find: Callable[[TopicPartition], Partition | None],
    ) -> None:
        """They are told, but for those for whose records there was no room."""
        self._gathering.end()
        for each, result in zip(read, results, strict=True):
            if not result.records and not result.error_code:
                partition = find(each.topic_partition)
                if (
                    partition is not None
                    and partition.view.log_end_offset > each.fetch_offset
                ):
                    self.changed[each.topic_partition] = None

    def _wake(self) -> None:
        if self.waiting is not None:
            self.waiting.wake()


class DelayedFollowerFetch(DelayedOperation[TopicPartition]):
    """Reads what has changed, by ``answer(self)``, once there are records.

    What happens in one turn of the loop is one answer.
    """

    __slots__ = (*OPERATION, "_again", "_answer", "_is_due", "params", "waiters")

    def __init__(
        self,
        params: FetchParams,
        again: Again,
        waiter: Waiter,
        answer: Callable[[DelayedFollowerFetch], None],
    ) -> None:
        super().__init__()
        self.params = params
        self.waiters = [waiter]
        self._again = again
        self._answer = answer
        self._is_due = False
        again.reads.waiting = self

    def wake(self) -> None:
        """Answer in the next turn of the loop."""
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._complete)

    @property
    def wanted(self) -> Sequence[PartitionFetch]:
        """What is to be read now."""
        return self._again.select()

    def try_complete(self) -> bool:
        """Who changes something wakes it."""
        return False

    def on_complete(self) -> None:
        """Read whatever is there now, and answer."""
        self._close()
        self._answer(self)

    def on_error(self, error: Exception) -> None:
        """Who asked is told; it is a bug, and recorded there."""
        self._close()
        for parked, _ in self.waiters:
            if not parked.done():
                parked.set_exception(error)

    def _complete(self) -> None:
        try:
            self.force_complete()
        except Exception as error:
            self.on_error(error)

    def _close(self) -> None:
        if self._again.reads.waiting is self:
            self._again.reads.waiting = None
