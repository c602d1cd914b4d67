"""An acks=all answer that waits until every partition has made its batch durable.

Most requests have one batch for one partition: `DelayedAppend` is for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from protocol.errors import ErrorCode
from protocol.topic_partition import TopicPartition

from ..parked import Parked
from .delayed_answer import DelayedAnswer
from .purgatory import OPERATION, DelayedOperation

if TYPE_CHECKING:
    from collections.abc import Callable

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


class DelayedAppend(Parked, DelayedOperation[TopicPartition]):
    """The same for one append, whose result ``finish`` makes the answer of.

    It is the parked answer itself: one object and few calls for each of the thousands
    that a group commit answers.
    """

    __slots__ = (*OPERATION, "_append", "_finish", "_result")

    def __init__(
        self,
        append: PendingAppend,
        result: AppendResult,
        finish: Callable[[AppendResult], Any],
    ) -> None:
        self.error = self.response = self.listener = None
        self._purgatory = self._bucket = None
        self.is_done = self.is_completed = False
        self._watch_count = 0
        self._append = append
        self._result = result
        self._finish = finish

    def try_complete(self) -> bool:
        """Look at the partition."""
        return self.try_complete_for(self._append[0].topic_partition)

    def try_complete_for(self, key: TopicPartition) -> bool:
        """The same, when it has changed."""
        partition, next_offset, must_be_durable = self._append
        error_code = partition.acknowledgement(next_offset, must_be_durable)
        if error_code is None:
            return False
        if self.is_completed:
            return False
        self.is_completed = True
        if self._purgatory is not None:
            self._purgatory.forget(self)
        self._answer(error_code)
        return True

    def on_complete(self) -> None:
        """Answer: the time is over."""
        self._answer(ErrorCode.REQUEST_TIMED_OUT)

    def on_error(self, error: Exception) -> None:
        """The one who asked is told; it is a bug, and recorded there."""
        if not self.is_done:
            self.set_exception(error)

    def _answer(self, error_code: int) -> None:
        result = self._result
        if error_code:
            result = result._replace(error_code=error_code)
        self.set_result(self._finish(result))
