"""One partition that is copied: where it is, and what an answer does to it.

Invariants: batches are appended as they came, each behind the one before; an answer
is used only for the offset at which the copy ends. Where the two histories part it is
cut, as a follower's log is, but never to nothing: a source that has lost everything
may be why there is a copy.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from odradek.client.errors import error_of
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.storage.local.leader_epochs import EpochEndOffset
from odradek.storage.validation.batch_analysis import (
    OffsetsOutOfOrder,
    UnexpectedAppendOffset,
)

from .source import Wanted

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from odradek.broker.metadata.topics import Topics
    from odradek.broker.replica.following import Following
    from odradek.broker.replica.partition.partition import Partition
    from odradek.broker.runtime.clock import Clock
    from odradek.protocol.messages.fetch import PartitionData
    from odradek.protocol.topic_partition import TopicPartition
    from odradek.storage.log.follower_log import FollowerLog

    FindEnds = Callable[[TopicPartition], Awaitable[tuple[int, int]]]

SIZE_MAX = 4 << 20
RETRY_MS = 1_000
NO_OFFSET = -1
# The answer to these is to look again who leads.
_MOVED = frozenset(
    {
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)

_logger = logging.getLogger(__name__)


class PartitionCopy:
    """A partition of the source, and its copy here.

    ``source_end`` is what the source showed last, -1 before it has answered.
    ``trouble`` is why nothing is copied at the moment, ``stop_reason`` why nothing is
    until somebody has decided what to do. Once it ``is_ended`` it takes nothing.
    """

    def __init__(
        self,
        partition: Partition,
        following: Following,
        topics: Topics,
        clock: Clock,
        find_ends: FindEnds,
    ) -> None:
        self.partition = partition
        self.place = partition.topic_partition
        self.source_end = NO_OFFSET
        self.trouble: str | None = None
        self.stop_reason: str | None = None
        self.is_ended = False
        self.has_moved = False
        self.copied_bytes = 0
        self._following = following
        self._topics = topics
        self._clock = clock
        self._find_ends = find_ends
        self._retry_at_ms = 0

    @property
    def end(self) -> int:
        """Where the copy ends."""
        return self.partition.view.log_end_offset

    @property
    def durable_end(self) -> int:
        """Up to where it can be read."""
        return self.partition.view.high_watermark

    @property
    def lag(self) -> int:
        """How many offsets the source showed that are not to be read here yet."""
        return max(self.source_end - self.durable_end, 0)

    @property
    def is_due(self) -> bool:
        """Whether the source is to be asked."""
        if self.is_ended or self.stop_reason is not None:
            return False
        return self._clock.monotonic_ms() >= self._retry_at_ms

    def wanted(self) -> Wanted:
        """What to ask for next."""
        partition, log = self.partition, self.partition.log
        return Wanted(
            partition.topic_id,
            self.place.partition,
            self.end,
            NO_OFFSET if log is None else log.latest_epoch,
            min(SIZE_MAX, partition.config.segment_bytes),
        )

    async def take(self, wanted: Wanted, answer: PartitionData) -> None:
        """Apply an answer to what was wanted; what cannot be is tried again later."""
        is_over = self.is_ended or self.stop_reason is not None
        if is_over or wanted.offset != self.end:
            return
        try:
            if answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                await self._find_place()
            elif answer.error_code:
                self._refused(answer.error_code)
            elif answer.diverging_epoch.epoch >= 0:
                found = answer.diverging_epoch
                await self._cut(EpochEndOffset(found.epoch, found.end_offset))
            else:
                await self._append(answer)
        except (OffsetsOutOfOrder, UnexpectedAppendOffset) as error:
            self._stop(f"the source contradicts itself: {error}")
        except (KafkaError, OSError, ValueError) as error:
            self.note(str(error) or repr(error))

    async def _append(self, answer: PartitionData) -> None:
        partition = self.partition
        self.source_end = answer.high_watermark
        if answer.records:
            info = self._following.append(partition, answer.records)
            self.copied_bytes += info.size
        self._following.raise_log_start(partition, answer.log_start_offset)
        self._recovered()
        log = partition.log
        if log is not None and log.latest_epoch > partition.leadership.epoch:
            epoch = log.latest_epoch
            await self._topics.set_leader_epochs({self.place: epoch})
            partition.leadership.epoch = max(epoch, partition.leadership.epoch)

    async def _cut(self, source_end: EpochEndOffset) -> None:
        """The histories part: no further than where that epoch ends at the source."""
        if source_end.end_offset <= self.partition.view.log_start_offset < self.end:
            self._stop(
                f"the source has nothing of what is here: its leader epoch "
                f"{source_end.epoch} ends at offset {source_end.end_offset}"
            )
            return

        def cut(log: FollowerLog, now_ms: int) -> None:
            if not self.is_ended:
                log.truncate_to_divergence(source_end, now_ms)

        before = self.end
        await self._following.cut(self.partition, cut)
        self._say(
            f"the source has lost its end: leader epoch {source_end.epoch} ends at "
            f"offset {source_end.end_offset} there; the copy ended at {before}, and "
            f"ends at {self.end} now"
        )

    async def _find_place(self) -> None:
        """Nothing is there at the offset where the copy ends."""
        start, end = await self._find_ends(self.place)
        if self.is_ended:
            return
        if start <= self.end <= end:
            self._stop(
                f"the source knows nothing of leader epoch {self.wanted().last_epoch}, "
                f"in which the copy ends at offset {self.end}"
            )
        elif end <= self.partition.view.log_start_offset < self.end:
            self._stop(
                f"the source has nothing of what is here: it ends at offset {end}"
            )
        else:
            before = self.end
            await self._following.cut(
                self.partition,
                lambda log, now_ms: log.follow_out_of_range(start, end, now_ms),
            )
            self.source_end = end
            if before:
                self._say(
                    f"the source has offsets {start} to {end}; the copy ended at "
                    f"{before}, and goes on at {self.end}"
                )

    def _refused(self, code: int) -> None:
        self.has_moved = code in _MOVED
        self.note(f"the source answers: {error_of(code)}")

    def note(self, trouble: str) -> None:
        """It is tried again in a while; said when it is new."""
        self._retry_at_ms = self._clock.monotonic_ms() + RETRY_MS
        if trouble != self.trouble:
            self.trouble = trouble
            self._say(trouble)

    def _recovered(self) -> None:
        if self.trouble is not None:
            self.trouble = None
            self._say("goes on")

    def _stop(self, reason: str) -> None:
        self.stop_reason = reason
        self._say(f"stopped: {reason}; promote the topic to keep what is here")

    def _say(self, text: str) -> None:
        _logger.warning("mirror of %s: %s", self.place, text)
