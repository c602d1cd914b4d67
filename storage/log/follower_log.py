"""What a follower does to its log with its leader's answers.

It holds what the leader holds, up to some offset. Where the two histories part, the
follower's is cut: the leader says in which epoch they part and where that epoch ends
(KIP-101, KIP-595), and the high watermark has no part in it.

Invariant: an answer is used only when it is for the offset at which the log ends.
Its high watermark and log start are applied behind its records, and not at all when
it says that the histories differ.
"""

import logging
from collections.abc import Callable
from typing import NamedTuple

from odradek.storage.files.files import Buffer
from odradek.storage.local.leader_epochs import UNDEFINED, EpochEndOffset
from odradek.storage.local.watermarks import LogStartReason
from odradek.storage.producers.append_info import AppendInfo
from odradek.storage.validation.batch_analysis import UnexpectedAppendOffset

from .unified_log import UnifiedLog

_log = logging.getLogger(__name__)


class LeaderAnswer(NamedTuple):
    """One partition of a fetch that the leader answered.

    ``diverging`` is the epoch in which the histories part, and where it ends at the
    leader; then there are no records.
    """

    fetch_offset: int
    records: Buffer
    high_watermark: int
    log_start_offset: int
    diverging: EpochEndOffset | None = None


class Truncation(NamedTuple):
    """Where a follower has cut its log. If it is not ``complete``, it asks again."""

    offset: int
    complete: bool


class FollowerLog:
    """The log of a replica that follows a leader."""

    def __init__(self, log: UnifiedLog, checkpoint: Callable[[], None]) -> None:
        """``checkpoint`` makes recovery point and log start durable as they are."""
        self.log = log
        self._checkpoint = checkpoint

    @property
    def fetch_offset(self) -> int:
        """The offset to ask for next."""
        return self.log.log_end_offset

    @property
    def last_fetched_epoch(self) -> int:
        """The epoch of the last record, for the leader to compare; -1 without any."""
        return self.log.latest_epoch

    def begin(self, now_ms: int) -> int:
        """Cut what no epoch vouches for. Returns the offset to ask for first.

        With epochs the leader finds out where the histories part. Without any, all
        that is known to be the leader's too is below the high watermark.
        """
        if self.log.latest_epoch < 0:
            self.log.truncation.truncate_to(
                self.log.high_watermark, now_ms, self._checkpoint
            )
        return self.fetch_offset

    def take(self, answer: LeaderAnswer, now_ms: int) -> AppendInfo | None:
        """Apply an answer. None when it is out of date, or only told of a divergence.

        Raises:
            CorruptMessage: to be fetched again.
            OffsetsOutOfOrder, UnexpectedAppendOffset: the leader contradicts itself.
            KafkaStorageError: the log has failed.
        """
        if answer.fetch_offset != self.log.log_end_offset:
            return None
        if answer.diverging is not None:
            self.truncate_to_divergence(answer.diverging, now_ms)
            return None
        info = self.append(answer.records, now_ms)
        self.log.visibility.follow_leader(answer.high_watermark)
        # A log start above what this replica has would be above its high watermark.
        log_start = min(answer.log_start_offset, self.log.high_watermark)
        self.log.increment_log_start(log_start, LogStartReason.LEADER_OFFSET_INCREMENT)
        return info

    def append(
        self, records: Buffer, now_ms: int, epoch_max: int | None = None
    ) -> AppendInfo:
        """Append what the leader sent, up to the first batch above ``epoch_max``.

        The leader's log may begin inside of a batch, by DeleteRecords. A follower that
        starts there is empty and gets the whole batch, which begins below its log end:
        it then starts where the batch does.

        Raises:
            UnexpectedAppendOffset: in any other case.
        """
        log = self.log
        try:
            return log.replica_appender.append_as_follower(records, now_ms, epoch_max)
        except UnexpectedAppendOffset as error:
            end = log.log_end_offset
            is_empty = end == log.log_start_offset
            if not is_empty or not error.first_offset < end <= error.last_offset:
                raise
            log.lines(_log).info(
                "it is empty and starts at %d instead of %d, like the leader's batch",
                error.first_offset,
                end,
            )
            log.truncation.truncate_fully_and_start_at(
                error.first_offset, now_ms, checkpoint=self._checkpoint
            )
            return log.replica_appender.append_as_follower(records, now_ms, epoch_max)

    def truncate_to_divergence(
        self, leader_end: EpochEndOffset, now_ms: int
    ) -> Truncation:
        """Cut where the leader's history parts from this one.

        ``leader_end`` is an epoch, and its end at the leader. When this log does not
        know that epoch, it is cut to the end of the newest one below, and the leader
        is to be asked again.
        """
        log = self.log
        own = log.epoch_end_offset(leader_end.epoch)
        end = log.log_end_offset
        if own == UNDEFINED:
            offset, is_complete = min(leader_end.end_offset, end), True
        elif own.epoch != leader_end.epoch:
            offset, is_complete = min(own.end_offset, end), False
        else:
            offset = min(own.end_offset, leader_end.end_offset, end)
            is_complete = True
        log.truncation.truncate_to(offset, now_ms, self._checkpoint)
        return Truncation(offset, is_complete)

    def follow_out_of_range(
        self, leader_start: int, leader_end: int, now_ms: int
    ) -> int:
        """Find a place in the leader's log again. Returns the offset to ask for.

        What goes beyond the leader's end is cut. If the leader begins only behind this
        log's end, the log begins anew there.
        """
        log = self.log
        if leader_end < log.log_end_offset:
            log.truncation.truncate_to(leader_end, now_ms, self._checkpoint)
        elif leader_start > log.log_end_offset:
            log.truncation.truncate_fully_and_start_at(
                leader_start, now_ms, checkpoint=self._checkpoint
            )
        return log.log_end_offset
