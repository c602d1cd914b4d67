"""What a follower does to its log with its leader's answers.

It holds what the leader holds, up to some offset. Where the two histories part, the
follower's is cut: the leader says in which epoch they part and where that epoch ends
(KIP-101, KIP-595), and the high watermark has no part in it.

Who calls this uses an answer only when it is for the offset at which the log ends.
"""

import logging
from collections.abc import Callable

from odradek.storage.files.files import Buffer
from odradek.storage.local.leader_epochs import UNDEFINED, EpochEndOffset
from odradek.storage.producers.append_info import AppendInfo
from odradek.storage.validation.batch_analysis import UnexpectedAppendOffset

from .unified_log import UnifiedLog

_log = logging.getLogger(__name__)


class FollowerLog:
    """The log of a replica that follows a leader."""

    def __init__(self, log: UnifiedLog, checkpoint: Callable[[], None]) -> None:
        """``checkpoint`` makes recovery point and log start durable as they are."""
        self.log = log
        self._checkpoint = checkpoint

    def begin(self, now_ms: int) -> None:
        """Cut what no epoch vouches for, before the leader is asked first.

        With epochs the leader finds out where the histories part. Without any, all
        that is known to be the leader's too is below the high watermark.
        """
        if self.log.latest_epoch < 0:
            self.log.truncation.truncate_to(
                self.log.high_watermark, now_ms, self._checkpoint
            )

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

    def truncate_to_divergence(self, leader_end: EpochEndOffset, now_ms: int) -> None:
        """Cut where the leader's history parts from this one.

        ``leader_end`` is an epoch, and its end at the leader. When this log does not
        know that epoch, it is cut to the end of the newest one below, and the leader
        is to be asked again.
        """
        log = self.log
        own = log.epoch_end_offset(leader_end.epoch)
        if own == UNDEFINED:
            offset = leader_end.end_offset
        elif own.epoch != leader_end.epoch:
            offset = own.end_offset
        else:
            offset = min(own.end_offset, leader_end.end_offset)
        offset = min(offset, log.log_end_offset)
        log.truncation.truncate_to(offset, now_ms, self._checkpoint)

    def follow_out_of_range(
        self, leader_start: int, leader_end: int, now_ms: int
    ) -> None:
        """Find a place in the leader's log again: that at which this one ends then.

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
