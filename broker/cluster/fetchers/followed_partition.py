"""One partition that follows its leader in one epoch: what to ask, what an answer does.

Where the two histories part the log is cut: the leader says in which epoch they do.
An answer is used only for the offset that was asked for, if that is still the end, and
for the epoch that is still followed.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from odradek.broker.replica.partition.followed import Followed
from odradek.client.errors import error_of
from odradek.protocol.errors import ErrorCode, KafkaError, NotLeaderOrFollower
from odradek.storage.local.leader_epochs import EpochEndOffset
from odradek.storage.validation.batch_analysis import (
    OffsetsOutOfOrder,
    UnexpectedAppendOffset,
)

from .leader_requests import Asked

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from odradek.broker.replica.follower_replicas import FollowerReplicas
    from odradek.broker.replica.partition.partition import Partition
    from odradek.broker.runtime.clock import Clock
    from odradek.protocol.messages.fetch import PartitionData
    from odradek.storage.log.follower_log import FollowerLog

    from .fetch_session_handler import Place
    from .fetch_settings import FetchSettings

    FindEnds = Callable[[Asked], Awaitable[tuple[int, int]]]

NO_EPOCH: Final = -1
# NamedTuple's own constructor costs three times as much as the tuple.
_new = tuple.__new__
# The same again and again is not worth a megabyte each second.
_BACKOFF_MS_MAX: Final = 10_000

# What a leader says that does not know yet what we know, or the other way round: mostly
# a matter of milliseconds.
_SOON_MS: Final = 20
_PASSING = frozenset(
    {
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)

_logger = logging.getLogger(__name__)


class FollowedPartition:
    """A partition, and the leader epoch it follows.

    ``trouble`` is why it does not move at the moment. Once it ``is_ended`` another
    leader, or another epoch, is followed, or nobody.
    """

    def __init__(
        self,
        partition: Partition,
        leader: int,
        replicas: FollowerReplicas,
        clock: Clock,
        settings: FetchSettings,
    ) -> None:
        self.partition = partition
        self.place: Place = (
            partition.topic_id,
            partition.topic_partition.partition,
        )
        self.leader = leader
        self.leader_epoch = partition.leadership.epoch
        self.trouble: str | None = None
        self.is_open = self.is_ended = False
        self._replicas = replicas
        self._clock = clock
        self._settings = settings
        self._backoff_ms = settings.backoff_ms
        self._retry_at_ms = 0

    @property
    def is_due(self) -> bool:
        """Whether the leader is to be asked."""
        return not self.is_ended and self._clock.monotonic_ms() >= self._retry_at_ms

    @property
    def is_at_ease(self) -> bool:
        """Whether it can be asked for without a look at anything else."""
        return (
            self.is_open
            and self.trouble is None
            and not self.is_ended
            and not self.partition.has_flush_options
        )

    @property
    def is_on_disk(self) -> bool:
        """Whether its log must be read from there first, which may take a while."""
        return self._replicas.is_unopened(self.partition)

    @property
    def is_behind(self) -> bool:
        """Whether the leader has said that others in sync have more."""
        replication = self.partition.replication
        return isinstance(replication, Followed) and (
            replication.high_watermark > self.partition.view.log_end_offset
        )

    async def open(self) -> None:
        """Have its log ready: it ``is_open`` then."""
        try:
            await self._replicas.open(self.partition)
        except (KafkaError, OSError) as error:
            self.note(str(error) or repr(error))
        else:
            self.is_open = True

    def asked(self) -> Asked | None:
        """What to ask for next; None: what is here is not durable yet."""
        partition, log = self.partition, self.partition.view.log
        if not self._replicas.may_be_told(partition):
            if log is None or not log.syncing.is_held:  # as in the end of a move
                self.note("what it has of its leader cannot be made durable")
            return None
        end, epoch, start = 0, NO_EPOCH, 0
        if log is not None:
            end, epoch = log.local.end.offset, log.epochs.latest_epoch
            start = log.log_start_offset
        topic, index = partition.topic_partition
        size_max = min(self._settings.size_max, partition.config.segment_bytes)
        fields = topic, partition.topic_id, index, self.leader_epoch
        return _new(Asked, (*fields, end, epoch, start, size_max))

    def take_usual(
        self,
        asked: Asked,
        batches: memoryview | None,
        high_watermark: int,
        log_start_offset: int,
    ) -> bool:
        """What `take` does with most answers; False: it is for `take`."""
        partition = self.partition
        if (
            self.trouble is not None
            or self.is_ended
            or asked.leader_epoch != self.leader_epoch
            or asked.offset != partition.view.log_end_offset
        ):
            return False
        try:
            return self._replicas.take_usual(
                partition, batches, high_watermark, log_start_offset
            )
        except (KafkaError, OSError, ValueError) as error:
            self.note(str(error) or repr(error), is_dear=batches is not None)
            return True

    async def take(
        self, asked: Asked, answer: PartitionData, find_ends: FindEnds
    ) -> None:
        """Apply an answer; what cannot be is asked for again in a while."""
        if (
            self.is_ended
            or asked.leader_epoch != self.leader_epoch
            or asked.offset != self.partition.view.log_end_offset
        ):
            return
        try:
            if answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                await self._find_place(asked, *await find_ends(asked))
            elif answer.error_code:
                self._refused(answer.error_code)
            elif answer.diverging_epoch.epoch >= 0:
                found = answer.diverging_epoch
                there = EpochEndOffset(found.epoch, found.end_offset)
                await self._cut(
                    asked,
                    lambda log, now_ms: log.truncate_to_divergence(there, now_ms),
                )
            else:
                self._append(answer)
        except NotLeaderOrFollower:
            return  # it follows somebody else by now
        except (
            OffsetsOutOfOrder,
            UnexpectedAppendOffset,
            KafkaError,
            OSError,
            ValueError,
        ) as error:
            # Of an answer with records, many bytes came in vain.
            self.note(str(error) or repr(error), is_dear=bool(answer.records))

    def _append(self, answer: PartitionData) -> None:
        partition, replicas = self.partition, self._replicas
        batches, high_watermark = answer.records, answer.high_watermark
        if self.trouble is None and replicas.take_usual(
            partition,
            memoryview(batches) if batches else None,
            high_watermark,
            answer.log_start_offset,
        ):
            return
        replicas.check(partition)
        if batches:
            replicas.append(partition, batches)
        replicas.follow_high_watermark(partition, high_watermark)
        replicas.raise_log_start(partition, answer.log_start_offset)
        if self.trouble is not None:
            self.trouble = None
            self._say(logging.INFO, "goes on")

    async def _find_place(self, asked: Asked, start: int, end: int) -> None:
        if start <= asked.offset <= end:
            self.note(f"the leader has {start} to {end}, and not {asked.offset}")
            return
        await self._cut(
            asked, lambda log, now_ms: log.follow_out_of_range(start, end, now_ms)
        )

    async def _cut(
        self, asked: Asked, act: Callable[[FollowerLog, int], object]
    ) -> None:
        view = self.partition.view

        def cut(log: FollowerLog, now_ms: int) -> None:
            # Another one may follow it by now, and have appended.
            if not self.is_ended and view.log_end_offset == asked.offset:
                act(log, now_ms)

        before = view.log_end_offset
        await self._replicas.cut(self.partition, cut)
        after = view.log_end_offset
        if after != before:
            self._say(logging.INFO, f"ended at {before}, and goes on at {after}")

    def _refused(self, code: int) -> None:
        trouble = f"the leader answers: {error_of(code)}"
        if code not in _PASSING:
            self.note(trouble)
            return
        again_ms = _SOON_MS if self.trouble is None else 2 * self._backoff_ms
        self._note(trouble, logging.INFO, min(again_ms, self._settings.backoff_ms))

    def note(self, trouble: str, *, is_dear: bool = False) -> None:
        """It is tried again in a while, ever later if that is dear; said when new."""
        backoff_ms = self._settings.backoff_ms
        if is_dear and trouble == self.trouble:
            backoff_ms = min(2 * self._backoff_ms, _BACKOFF_MS_MAX)
        self._note(trouble, logging.WARNING, backoff_ms)

    def _note(self, trouble: str, level: int, backoff_ms: int) -> None:
        if trouble != self.trouble:
            self.trouble = trouble
            self._say(level, trouble)
        self._backoff_ms = backoff_ms
        self._retry_at_ms = self._clock.monotonic_ms() + backoff_ms

    def _say(self, level: int, text: str) -> None:
        place = self.partition.topic_partition
        _logger.log(level, "%s, led by broker %d: %s", place, self.leader, text)
