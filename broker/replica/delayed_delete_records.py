"""A DeleteRecords answer that waits until no replica holds the records any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from protocol.errors import ErrorCode, KafkaError
from protocol.topic_partition import TopicPartition

from .purgatory import DelayedOperation

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..parked import Parked
    from .partition import Partition


class DeleteRecordsResult(NamedTuple):
    """Where a partition begins now on every replica; -1 beside an error."""

    error_code: int
    low_watermark: int = -1


class PendingDeletion(NamedTuple):
    """A partition whose low watermark has yet to reach ``offset``."""

    partition: Partition
    offset: int


class DelayedDeleteRecords(DelayedOperation[TopicPartition]):
    """Answers ``parked`` once no deletion is pending, or when the time is over.

    What is pending then is answered REQUEST_TIMED_OUT: the records cannot be read
    any more, but some replica may still hold them.
    """

    __slots__ = ("_finish", "_parked", "_pending", "_results")

    def __init__(
        self,
        results: dict[TopicPartition, DeleteRecordsResult],
        pending: dict[TopicPartition, PendingDeletion],
        parked: Parked,
        finish: Callable[[dict[TopicPartition, DeleteRecordsResult]], Any],
    ) -> None:
        super().__init__()
        self._results = results
        self._pending = pending
        self._parked = parked
        self._finish = finish

    def try_complete(self) -> bool:
        """Look at every pending deletion."""
        for key in list(self._pending):
            self._look_at(key)
        return not self._pending and self.force_complete()

    def try_complete_for(self, key: TopicPartition) -> bool:
        """Look at the deletion from ``key``."""
        if key in self._pending:
            self._look_at(key)
        return not self._pending and self.force_complete()

    def on_complete(self) -> None:
        """Answer."""
        for key in self._pending:
            self._results[key] = self._results[key]._replace(
                error_code=ErrorCode.REQUEST_TIMED_OUT
            )
        self._parked.set_result(self._finish(self._results))

    def on_error(self, error: Exception) -> None:
        """The one who asked is told; it is a bug, and recorded there."""
        if not self._parked.done():
            self._parked.set_exception(error)

    def _look_at(self, key: TopicPartition) -> None:
        partition, offset = self._pending[key]
        try:
            partition.check_leader()
            low_watermark = partition.low_watermark
            if low_watermark < offset:
                partition.check_log_start()
                return
            result = DeleteRecordsResult(ErrorCode.NONE, low_watermark)
        except KafkaError as error:
            result = DeleteRecordsResult(error.code)
        del self._pending[key]
        self._results[key] = result
