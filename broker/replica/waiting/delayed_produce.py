"""An acks=all answer that waits until every partition has made its batch durable.

Most requests have one batch for one partition: `awaited_appends` is for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.errors import ErrorCode

from .delayed_answer import DelayedAnswer

if TYPE_CHECKING:
    from odradek.broker.replica.partition.partition import Partition
    from odradek.broker.replica.partition.view import Until
    from odradek.protocol.topic_partition import TopicPartition


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
    """An append whose partition has not yet passed ``next_offset``."""

    partition: Partition
    next_offset: int
    until: Until


class DelayedProduce(DelayedAnswer[AppendResult, PendingAppend]):
    """Answers ``parked`` once no append is pending, or when the time is over.

    What is pending then is answered REQUEST_TIMED_OUT, with its base offset:
    the record is in the log, and may still become durable.
    """

    __slots__ = ()

    def _look_at(self, key: TopicPartition) -> None:
        partition, next_offset, until = self._pending[key]
        error_code = partition.view.acknowledgement(next_offset, until)
        if error_code is None:
            return
        del self._pending[key]
        if error_code != ErrorCode.NONE:
            self._results[key] = self._results[key]._replace(error_code=error_code)
