"""An acks=all answer that waits until every partition has made its batch durable.

Most requests have one batch for one partition: `DelayedAppend` is for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from protocol.errors import ErrorCode
from protocol.topic_partition import TopicPartition

from .delayed_answer import DelayedAnswer
from .purgatory import DelayedOperation

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..parked import Parked
    from .partition import Partition


class AppendResult(NamedTuple):
    """What became of the batch for one partition; -1 for what is not known.

    ``next_offset`` is the offset behind the batch.
    """

    error_code: int
    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    next_offset: int = -1
    record_errors: list[tuple[int, str]] | None = None
    message: str | None = None


class PendingAppend(NamedTuple):
    """An append whose partition has not yet passed ``next_offset``.

    ``must_be_durable``: it waits for the sync itself, as ``flush.messages`` asks,
    not for the high watermark.
    """

    partition: Partition
    next_offset: int
    must_be_durable: bool


class DelayedProduce(DelayedAnswer[AppendResult, PendingAppend]):
    """Answers ``parked`` once no append is pending, or when the time is over.

    What is pending then is answered REQUEST_TIMED_OUT, with its base offset:
    the record is in the log, and may still become durable.
    """

    __slots__ = ()

    def _look_at(self, key: TopicPartition) -> None:
        partition, next_offset, must_be_durable = self._pending[key]
        error_code = partition.acknowledgement(next_offset, must_be_durable)
        if error_code is None:
            return
        del self._pending[key]
        if error_code != ErrorCode.NONE:
            self._results[key] = self._results[key]._replace(error_code=error_code)


class DelayedAppend(DelayedOperation[TopicPartition]):
    """The same for one append, whose result ``finish`` makes the answer of."""

    __slots__ = ("_append", "_error_code", "_finish", "_parked", "_result")

    def __init__(
        self,
        append: PendingAppend,
        result: AppendResult,
        parked: Parked,
        finish: Callable[[AppendResult], Any],
    ) -> None:
        super().__init__()
        self._append = append
        self._result = result
        self._parked = parked
        self._finish = finish
        self._error_code: int = ErrorCode.REQUEST_TIMED_OUT  # until it is known

    def try_complete(self) -> bool:
        """Look at the partition."""
        return self.try_complete_for(self._append.partition.topic_partition)

    def try_complete_for(self, key: TopicPartition) -> bool:
        """The same, when it has changed."""
        partition, next_offset, must_be_durable = self._append
        error_code = partition.acknowledgement(next_offset, must_be_durable)
        if error_code is None:
            return False
        self._error_code = error_code
        return self.force_complete()

    def on_complete(self) -> None:
        """Answer."""
        result = self._result
        if self._error_code:
            result = result._replace(error_code=self._error_code)
        self._parked.set_result(self._finish(result))

    def on_error(self, error: Exception) -> None:
        """The one who asked is told; it is a bug, and recorded there."""
        if not self._parked.done():
            self._parked.set_exception(error)
