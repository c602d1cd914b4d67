"""DeleteRecords: lets partitions begin later, and answers when that is certain.

The records cannot be read from the moment of the request on. The answer waits, as a
`DelayedDeleteRecords` in the purgatory, until the log starts are durable: no crash
brings back what somebody was told is deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.metadata.topic_names import INTERNAL_TOPICS
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import (
    ErrorCode,
    InvalidTopic,
    KafkaError,
    OffsetOutOfRange,
    PolicyViolation,
)

from .waiting.delayed_delete_records import (
    DelayedDeleteRecords,
    DeleteRecordsResult,
    PendingDeletion,
)
from .waiting.patience import DISK_TIMEOUT_MS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from odradek.broker.runtime.parked import T
    from odradek.protocol.topic_partition import TopicPartition

    from .logs.log_start_checkpointer import LogStartCheckpointer
    from .partition.partition import Partition
    from .waiting.purgatory import Purgatory

    Results = dict[TopicPartition, DeleteRecordsResult]

HIGH_WATERMARK = -1


class RecordDeletion:
    """Deletes records of ``partitions``, which makes those not there yet."""

    def __init__(
        self,
        partitions: Mapping[TopicPartition, Partition],
        waiting: Purgatory[TopicPartition],
        log_starts: LogStartCheckpointer,
    ) -> None:
        self._partitions = partitions
        self._waiting = waiting
        self._log_starts = log_starts

    def delete(
        self,
        offsets: Mapping[TopicPartition, int],
        timeout_ms: int,
        finish: Callable[[Results], T],
    ) -> T | Parked[T]:
        """What `ReplicaManager.delete_records` says."""
        results: Results = {}
        pending: dict[TopicPartition, PendingDeletion] = {}
        for key, offset in offsets.items():
            try:
                if key.topic in INTERNAL_TOPICS:
                    raise InvalidTopic("the broker's own topics are not cut by clients")
                partition = self._partitions[key]
                first_kept = _delete(partition, offset)
            except KafkaError as error:
                results[key] = DeleteRecordsResult(error.code)
                continue
            low_watermark = partition.low_watermark
            results[key] = DeleteRecordsResult(ErrorCode.NONE, low_watermark)
            if low_watermark < first_kept:
                pending[key] = PendingDeletion(partition, first_kept)
        if not pending:
            return finish(results)
        parked: Parked[T] = Parked()
        delayed = DelayedDeleteRecords(results, pending, parked, finish)
        self._waiting.watch(delayed, pending, max(timeout_ms, DISK_TIMEOUT_MS))
        for partition, first_kept in pending.values():
            if partition.durable_log_start.offset < first_kept:
                self._log_starts.write(partition)
        return parked


def _delete(partition: Partition, offset: int) -> int:
    """Let the partition begin at ``offset`` or where it does. Returns ``offset``.

    `HIGH_WATERMARK` gives up everything that is replicated.
    """
    partition.leadership.check_writable()
    if "delete" not in partition.config.cleanup_policy:
        raise PolicyViolation("the topic's cleanup.policy is not delete")
    if offset == HIGH_WATERMARK:
        offset = partition.view.high_watermark
    if not 0 <= offset <= partition.view.high_watermark:
        raise OffsetOutOfRange
    if partition.log is not None:
        partition.log.increment_log_start(offset)
    return offset
