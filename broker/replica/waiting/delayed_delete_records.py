"""A DeleteRecords answer that waits until no replica holds the records any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.errors import ErrorCode, KafkaError

from .delayed_answer import DelayedAnswer

if TYPE_CHECKING:
    from odradek.broker.replica.partition.partition import Partition
    from odradek.protocol.topic_partition import TopicPartition


class DeleteRecordsResult(NamedTuple):
    """Where a partition begins now on every replica; -1 beside an error."""

    error_code: int
    low_watermark: int = -1


class PendingDeletion(NamedTuple):
    """A partition whose low watermark has yet to reach ``offset``."""

    partition: Partition
    offset: int


class DelayedDeleteRecords(DelayedAnswer[DeleteRecordsResult, PendingDeletion]):
    """Answers ``parked`` once no deletion is pending, or when the time is over.

    What is pending then is answered REQUEST_TIMED_OUT: the records cannot be read
    any more, but some replica may still hold them.
    """

    __slots__ = ()

    def _look_at(self, key: TopicPartition) -> None:
        partition, offset = self._pending[key]
        try:
            partition.leadership.check()
            low_watermark = partition.low_watermark
            if low_watermark < offset:
                partition.durable_log_start.check(partition.log)
                return
            result = DeleteRecordsResult(ErrorCode.NONE, low_watermark)
        except KafkaError as error:
            result = DeleteRecordsResult(error.code)
        del self._pending[key]
        self._results[key] = result
